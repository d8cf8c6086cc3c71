//! What was counted becomes what it cost: an answer that names its model is priced
//! by the price list, unless the backend knows better.

use crate::plugins::contract::{AgentReply, Job, Page, SearchResults, Usage};
use crate::prices::Prices;

/// The name in `extra` for the model that did the work.
pub const MODEL: &str = "model";

/// An answer that may have cost something.
pub trait Billed {
    fn usage(&self) -> &Usage;
    fn usage_mut(&mut self) -> &mut Usage;
    /// By which it is priced.
    fn model(&self) -> Option<&str> {
        None
    }
}

impl Billed for AgentReply {
    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

impl Billed for SearchResults {
    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }
}

impl Billed for Page {
    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }
}

impl Billed for Job {
    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn usage_mut(&mut self) -> &mut Usage {
        &mut self.usage
    }

    fn model(&self) -> Option<&str> {
        self.extra.iter().find(|(name, _)| name == MODEL).map(|(_, model)| model.as_str())
    }
}

/// Fills in what it cost, where that is not known and the model is. What a plugin
/// says that it cost is believed only if it can be: less than nothing would make
/// room in a budget.
pub fn bill(prices: &Prices, answer: &mut impl Billed) {
    let believed = answer.usage().cost_usd.filter(|dollars| dollars.is_finite() && *dollars >= 0.0);
    let dollars = believed.or_else(|| prices.price(answer.model()?, answer.usage()));
    answer.usage_mut().cost_usd = dollars;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::contract::JobStatus;

    fn reply(model: Option<&str>, cost_usd: Option<f64>) -> AgentReply {
        AgentReply {
            model: model.map(str::to_owned),
            usage: Usage { input_tokens: 1_000_000, cost_usd, ..Usage::default() },
            ..AgentReply::default()
        }
    }

    fn billed(mut reply: AgentReply) -> Option<f64> {
        bill(&Prices::built_in(), &mut reply);
        reply.usage.cost_usd
    }

    #[test]
    fn a_known_model_has_a_price_and_another_has_none() {
        assert_eq!(billed(reply(Some("gemini-2.5-pro"), None)), Some(1.25));
        assert_eq!(billed(reply(Some("gpt-7"), None)), None);
        assert_eq!(billed(reply(None, None)), None);
    }

    #[test]
    fn what_the_backend_knows_holds_if_it_can_be_true() {
        assert_eq!(billed(reply(Some("gemini-2.5-pro"), Some(0.0))), Some(0.0));
        assert_eq!(billed(reply(Some("gemini-2.5-pro"), Some(9.5))), Some(9.5));
        assert_eq!(billed(reply(None, Some(9.5))), Some(9.5));
        for lie in [-1000.0, f64::NAN, f64::INFINITY] {
            assert_eq!(billed(reply(Some("gemini-2.5-pro"), Some(lie))), Some(1.25), "{lie}");
            assert_eq!(billed(reply(None, Some(lie))), None, "{lie}");
        }
    }

    #[test]
    fn a_job_names_its_model_among_what_it_adds() {
        let mut job = Job {
            id: "job".to_owned(),
            status: JobStatus::Completed,
            progress: Vec::new(),
            report: None,
            citations: Vec::new(),
            sources: Vec::new(),
            usage: Usage { output_tokens: 1_000_000, ..Usage::default() },
            error: None,
            extra: vec![(MODEL.to_owned(), "deep-research-preview-04-2026".to_owned())],
        };
        bill(&Prices::built_in(), &mut job);
        assert_eq!(job.usage.cost_usd, Some(12.0));
    }
}
