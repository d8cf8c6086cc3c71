//! What a question would take, before it is asked: the strategy plans it, the
//! estimator holds the plan against past runs. Nothing is sent, and nothing spent.

use schemars::JsonSchema;
use serde::Serialize;

use super::{DEEP_SEARCH, ErrorReport, RESEARCH, START_DEEP_RESEARCH, Tasks, question};
use crate::config::ToolBackends;
use crate::plugins::CallError;
use crate::plugins::contract::{Forecast, Level, PastRun, Plan, Question, SearchDepth, Usage};
use crate::research::{self, MAX_ITERATIONS, MODEL, STEPS};
use crate::store::{Claim, NewForecast, PastTask};

/// What a research backend uses where neither the asker nor the settings say.
const USUAL_AGENT: &str = "deep-research-preview-04-2026";

/// Runs of the same tool that the estimator is shown, the newest.
const PAST_RUNS: u32 = 200;

/// What `estimate_research_cost` returns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// `simple`, `medium` or `complex`.
    pub query_complexity: String,
    pub estimated_duration: EstimatedDuration,
    pub estimated_cost: EstimatedCost,
    /// Whether the start is likely to return before the result is there.
    pub will_likely_go_async: bool,
    pub recommendation: String,
    /// How many past runs it rests on; 0 for a rule of thumb.
    pub based_on_runs: u32,
    /// How often such a range would have held what past runs took, as in
    /// `17 of 20`; absent while there are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_intervals_held: Option<String>,
    /// How it was arrived at, in words.
    pub reason: String,
    /// The day of the price list.
    pub prices_dated: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EstimatedDuration {
    pub min_minutes: f64,
    pub max_minutes: f64,
    pub likely_minutes: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EstimatedCost {
    pub min_usd: f64,
    pub max_usd: f64,
    pub likely_usd: f64,
}

impl Estimate {
    fn new(forecast: &Forecast, prices_dated: &str) -> Self {
        let said = |wanted: &str| {
            forecast.extra.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        // Another estimator need not say what is likely: the middle, then.
        let likely = |name: &str, (low, high): (f64, f64)| {
            let told = said(name).and_then(|value| value.parse::<f64>().ok());
            told.filter(|value| (low..=high).contains(value))
                .unwrap_or_else(|| f64::midpoint(low, high))
        };
        let minutes = |seconds: f64| rounded(seconds / 60.0, 10.0);
        let dollars = |amount: f64| rounded(amount, 100.0);
        let likely_seconds = likely("likely_seconds", forecast.seconds);
        Self {
            query_complexity: forecast.complexity.clone(),
            estimated_duration: EstimatedDuration {
                min_minutes: minutes(forecast.seconds.0),
                max_minutes: minutes(forecast.seconds.1),
                likely_minutes: minutes(likely_seconds),
            },
            estimated_cost: EstimatedCost {
                min_usd: dollars(forecast.cost_usd.0),
                max_usd: dollars(forecast.cost_usd.1),
                likely_usd: dollars(likely("likely_cost_usd", forecast.cost_usd)),
            },
            will_likely_go_async: said("will_likely_go_async") == Some("true"),
            recommendation: said("recommendation").unwrap_or(&forecast.reason).to_owned(),
            based_on_runs: forecast.runs,
            past_intervals_held: said("coverage")
                .filter(|coverage| !coverage.ends_with("of 0"))
                .map(str::to_owned),
            reason: forecast.reason.clone(),
            prices_dated: prices_dated.to_owned(),
        }
    }
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

impl Tasks {
    /// What this question would take by this tool.
    pub async fn estimate(&self, tool: &str, question: &Question) -> Result<Estimate, ErrorReport> {
        let forecast = self.forecast(tool, question).await?;
        Ok(Estimate::new(&forecast, self.prices.date()))
    }

    /// The same as the estimator says it.
    pub async fn forecast(&self, tool: &str, question: &Question) -> Result<Forecast, ErrorReport> {
        question::check(&question.text)?;
        let backends = self.plugins.config().tools.get(tool).cloned().unwrap_or_default();
        let question = self.as_asked(tool, question, &backends);
        let history = self.past_runs(tool, &backends).await;
        let forecast = async {
            let strategy = self.plugins.strategy().await?;
            let plan = research::plan(&*strategy, &question).await?;
            match self.plugins.estimator().await? {
                Some(estimator) => estimator.estimate(&question, &plan, &history).await.map(Some),
                None => Ok(None),
            }
        };
        let forecast = forecast.await.map_err(|error: CallError| ErrorReport::from(&error))?;
        forecast.map(sound).ok_or_else(|| ErrorReport {
            code: "NOT_CONFIGURED".to_owned(),
            message: "no plugin estimates what a question takes".to_owned(),
            hint: Some("name one as `estimator` in [use] of plugins.toml".to_owned()),
        })
    }

    /// Writes down what is expected of a task that begins, to be held against what
    /// it takes. A task without a forecast is a task all the same.
    pub(super) async fn remember_forecast(&self, claim: &Claim, forecast: Forecast) {
        let forecast = NewForecast {
            complexity: forecast.complexity,
            seconds: forecast.seconds,
            cost_usd: forecast.cost_usd,
            runs: forecast.runs,
        };
        if let Err(error) = self.store.save_forecast(claim, forecast).await {
            tracing::debug!("the estimate of task {} is not saved: {error}", claim.id);
        }
    }

    /// The question as a task would have it, and what the estimator should know.
    fn as_asked(&self, tool: &str, question: &Question, backends: &ToolBackends) -> Question {
        let config = self.plugins.config();
        let mut question = question.clone();
        let mut say = |name: &str, value: String| {
            if !question.extra.iter().any(|(known, _)| known == name) {
                question.extra.push((name.to_owned(), value));
            }
        };
        say("tool", tool.to_owned());
        say(STEPS, research::steps(backends));
        say("wait_seconds", config.research.handoff.as_secs_f64().to_string());
        if [DEEP_SEARCH, RESEARCH].contains(&tool) {
            say(MAX_ITERATIONS, config.research.max_iterations.to_string());
        }
        if let Some(model) = self.usual_model(tool, backends) {
            say(MODEL, model);
        }
        if let Some(cost) = model_of(&question).and_then(|model| self.prices.typical(model)) {
            question.extra.push(("typical_cost_usd".to_owned(), cost.to_string()));
        }
        question
    }

    /// The model where the asker names none.
    fn usual_model(&self, tool: &str, backends: &ToolBackends) -> Option<String> {
        if tool != START_DEEP_RESEARCH && backends.research.is_none() {
            return self.configured_model(backends);
        }
        let research = backends.research.as_ref();
        let plugin = research.and_then(|name| self.plugins.config().plugins.get(name));
        let setting = |name: &str| plugin?.settings.get(name)?.as_str();
        let said = ["agent", MODEL].into_iter().find_map(setting).filter(|name| !name.is_empty());
        Some(said.unwrap_or(USUAL_AGENT).to_owned())
    }

    /// Completed runs of the tool. Where they cannot be read there is still the rule
    /// of thumb.
    async fn past_runs(&self, tool: &str, backends: &ToolBackends) -> Vec<PastRun> {
        let past = self.store.past_tasks(tool, PAST_RUNS).await.unwrap_or_else(|error| {
            tracing::warn!("past runs are not counted in: {error}");
            Vec::new()
        });
        let usual = self.usual_model(tool, backends);
        past.into_iter().map(|task| past_run(task, usual.as_deref())).collect()
    }
}

fn model_of(question: &Question) -> Option<&str> {
    question.extra.iter().find(|(name, _)| name == MODEL).map(|(_, model)| model.as_str())
}

fn past_run(task: PastTask, usual_model: Option<&str>) -> PastRun {
    let question: Option<Question> = serde_json::from_str(&task.question).ok();
    let mut plan =
        task.plan.as_deref().and_then(|plan| serde_json::from_str(plan).ok()).unwrap_or(Plan {
            level: Level::Medium,
            rounds: task.rounds,
            results: 0,
            pages: 0,
            depth: SearchDepth::Basic,
            reason: String::new(),
            extra: Vec::new(),
        });
    if let Some(model) = question.as_ref().and_then(model_of).or(usual_model) {
        plan.extra.push((MODEL.to_owned(), model.to_owned()));
    }
    let spent = task.spent;
    PastRun {
        question: task.text,
        plan,
        rounds: task.rounds,
        seconds: task.seconds,
        usage: Usage {
            input_tokens: spent.input_tokens,
            output_tokens: spent.output_tokens,
            searches: u32::try_from(spent.searches).unwrap_or(u32::MAX),
            pages: u32::try_from(spent.pages).unwrap_or(u32::MAX),
            // A part of it is not what it cost.
            cost_usd: (spent.unpriced == 0).then_some(spent.cost_usd),
            extra: Vec::new(),
        },
    }
}

/// Any plugin may estimate: what it says is put in order.
fn sound(mut forecast: Forecast) -> Forecast {
    for range in [&mut forecast.seconds, &mut forecast.cost_usd] {
        let positive = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
        let (low, high) = (positive(range.0), positive(range.1));
        *range = (low.min(high), low.max(high));
    }
    forecast
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Spent;

    fn forecast(extra: &[(&str, &str)]) -> Forecast {
        Forecast {
            complexity: "medium".to_owned(),
            seconds: (300.0, 1800.0),
            cost_usd: (1.0349, 3.105),
            runs: 20,
            reason: "because".to_owned(),
            extra: extra
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn the_shape_is_what_the_tool_promises() {
        let estimate = Estimate::new(
            &forecast(&[
                ("likely_seconds", "733"),
                ("likely_cost_usd", "2.07"),
                ("coverage", "17 of 20"),
                ("will_likely_go_async", "true"),
                ("recommendation", "Wait."),
            ]),
            "2026-10-31",
        );
        assert_eq!(
            serde_json::to_value(&estimate).unwrap(),
            serde_json::json!({
                "query_complexity": "medium",
                "estimated_duration":
                    { "min_minutes": 5.0, "max_minutes": 30.0, "likely_minutes": 12.2 },
                "estimated_cost": { "min_usd": 1.03, "max_usd": 3.11, "likely_usd": 2.07 },
                "will_likely_go_async": true,
                "recommendation": "Wait.",
                "based_on_runs": 20,
                "past_intervals_held": "17 of 20",
                "reason": "because",
                "prices_dated": "2026-10-31",
            })
        );
    }

    #[test]
    fn an_estimator_that_says_little_is_enough() {
        let estimate = Estimate::new(&forecast(&[("coverage", "0 of 0")]), "");
        assert!((estimate.estimated_duration.likely_minutes - 17.5).abs() < 1e-9);
        assert_eq!(estimate.recommendation, "because");
        assert_eq!(estimate.past_intervals_held, None);
        let outside = Estimate::new(&forecast(&[("likely_cost_usd", "99")]), "");
        assert!((outside.estimated_cost.likely_usd - 2.07).abs() < 1e-9);
    }

    #[test]
    fn an_estimator_that_lies_is_put_in_order() {
        let odd =
            Forecast { seconds: (f64::NAN, -5.0), cost_usd: (9.0, f64::INFINITY), ..forecast(&[]) };
        let sound = sound(odd);
        assert_eq!((sound.seconds, sound.cost_usd), ((0.0, 0.0), (0.0, 9.0)));
    }

    #[test]
    fn a_past_run_names_its_model_and_a_cost_only_if_all_of_it_is_known() {
        let task = |question: &str, unpriced| PastTask {
            id: "id".to_owned(),
            question: question.to_owned(),
            text: "why?".to_owned(),
            plan: None,
            rounds: 2,
            seconds: 60.0,
            spent: Spent { calls: 2, unpriced, cost_usd: 0.5, ..Spent::default() },
        };
        let named = past_run(task(r#"{"extra":[["model","max"]]}"#, 0), Some("usual"));
        assert_eq!(named.plan.extra, [(MODEL.to_owned(), "max".to_owned())]);
        assert_eq!(named.usage.cost_usd, Some(0.5));
        let unnamed = past_run(task("not JSON", 1), Some("usual"));
        assert_eq!(unnamed.plan.extra, [(MODEL.to_owned(), "usual".to_owned())]);
        assert_eq!(unnamed.usage.cost_usd, None);
        assert_eq!(unnamed.plan.rounds, 2);
    }
}
