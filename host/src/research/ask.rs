//! An ask step: the question, and what is known so far, go into a prompt; an agent
//! that searches by itself answers it, or checks the answer so far.

use std::sync::Arc;

use super::answer::Answer;
pub use super::billed::MODEL;
use super::cycle::{Answered, Cycle};
use super::{Progress, Run, named};
use crate::gates::secrets::Mask;
use crate::plugins::CallError;
use crate::plugins::contract::{
    Agent, AgentReply, AgentRequest, ErrorKind, Extractor, PluginError, Purpose, Question, Round,
    SUMMARY, Source,
};
use crate::prompts::{Prompt, Values};

/// A report of this many bytes or more is not replaced by one that is less than a
/// tenth as long: asked to check a report, models at times return a verdict in its
/// place, and nobody can tell here which verdict.
const LONG_REPORT: usize = 2000;

/// Sources that a prompt names: some addresses are long, and each round pays for
/// them.
const MOST_SOURCES: usize = 40;

pub struct Asker<'a> {
    run: &'a Run<'a>,
    question: &'a Question,
    parts: Option<Parts>,
}

struct Parts {
    agent: Arc<dyn Agent>,
    extractor: Arc<dyn Extractor>,
    mask: Mask,
}

impl<'a> Asker<'a> {
    pub fn new(run: &'a Run<'a>, question: &'a Question) -> Self {
        Self { run, question, parts: None }
    }

    pub async fn ask(
        &mut self,
        round: &mut Round,
        progress: &mut Progress,
        prompt: &str,
        rounds: u32,
    ) -> Result<(), CallError> {
        let prompt = self.prompt(prompt)?;
        let name = named("agent", self.run.backends.agent.as_ref())?;
        let request = self.request(prompt, round.number, rounds, progress)?;
        let run = self.run;
        let parts = self.parts(name).await?;
        let cycle = Cycle {
            agent: &*parts.agent,
            agent_name: name,
            mask: &parts.mask,
            extractor: &*parts.extractor,
            recorder: run.recorder,
            events: run.events,
            prompts: run.prompts,
            configuration: run.configuration,
            cycles: run.plugins.config().research.cycles,
            may_cost: run.may_cost(name),
        };
        let Answered { answer, reply } =
            cycle.run(round.number, prompt, &request, &mut round.usage).await?;
        if let Some(model) = &reply.model {
            progress.model = Some(model.clone());
            round.extra.push((MODEL.to_owned(), model.clone()));
        }
        accept(round, progress, prompt, answer, reply)
            .map_err(|error| CallError::Failed { plugin: name.to_owned(), error })
    }

    async fn parts(&mut self, agent: &str) -> Result<&Parts, CallError> {
        if self.parts.is_none() {
            let mask = self.run.plugins.mask(agent).await?;
            let agent = self.run.plugins.agent(agent).await?;
            let extractor = self.run.plugins.extractor().await?;
            self.parts = Some(Parts { agent, extractor, mask });
        }
        Ok(self.parts.as_ref().expect("made above"))
    }

    fn prompt(&self, name: &str) -> Result<Prompt, CallError> {
        Prompt::named(name).ok_or_else(|| {
            let known: Vec<_> = Prompt::ALL.iter().map(|prompt| prompt.name()).collect();
            CallError::Failed {
                plugin: self.run.plugins.config().strategy.clone(),
                error: PluginError::new(
                    ErrorKind::InvalidInput,
                    format!("it wants the prompt `{name}`; there are: {}", known.join(", ")),
                ),
            }
        })
    }

    fn request(
        &self,
        prompt: Prompt,
        number: u32,
        rounds: u32,
        progress: &Progress,
    ) -> Result<AgentRequest, CallError> {
        let result = progress.answer();
        let sources: Vec<String> =
            progress.sources().into_iter().map(|source| source.url).take(MOST_SOURCES).collect();
        let values = Values {
            query: &self.question.text,
            context: self.question.context.as_deref(),
            result: &result,
            sources: &sources,
            round: number,
            max_rounds: rounds,
            date: &self.run.date,
            example: Some(prompt.example()),
            ..Values::default()
        };
        let rendered =
            self.run.prompts.render(prompt, &values).map_err(|error| CallError::Failed {
                plugin: "prompts".to_owned(),
                error: PluginError::new(ErrorKind::InvalidInput, error.to_string()),
            })?;
        Ok(AgentRequest {
            purpose: Purpose::Answer,
            prompt: rendered,
            question: self.question.text.clone(),
            passages: Vec::new(),
            schema: Some(prompt.schema().to_owned()),
            model: None,
            files: Vec::new(),
            extra: Vec::new(),
        })
    }
}

/// Takes an answer into the round.
fn accept(
    round: &mut Round,
    progress: &mut Progress,
    prompt: Prompt,
    answer: Answer,
    reply: AgentReply,
) -> Result<(), PluginError> {
    round.queries = distinct(reply.queries.into_iter().chain(answer.queries));
    // What the agent was seen to open goes before what it only names.
    round.sources = distinct_sources(reply.sources.into_iter().chain(answer.sources));
    round.follow_ups = reply.follow_ups;
    let known: Vec<String> = progress.sources().into_iter().map(|source| source.url).collect();
    round.new_sources =
        round.sources.iter().filter(|source| !known.contains(&source.url)).count() as u32;

    let summary = answer.summary.unwrap_or_else(|| beginning(&answer.report));
    let current = progress.answer();
    if !answer.success && !current.is_empty() {
        return Err(PluginError::other(
            "unsuccessful",
            format!("the agent says that it did not succeed: {summary}"),
        ));
    }
    progress.note =
        (!answer.success).then(|| "the agent says that it did not fully succeed".to_owned());
    let too_short = prompt == Prompt::Verify
        && current.len() >= LONG_REPORT
        && answer.report.len() * 10 < current.len();
    if too_short {
        return Err(PluginError::other(
            "no-report",
            format!("the agent returned a remark in place of the report: {summary}"),
        ));
    }
    round.extra.push((SUMMARY.to_owned(), summary));
    round.verified = match prompt {
        // Only a round that checks can tell, and only one that could check.
        Prompt::Verify => Some(answer.success && answer.verified == Some(true)),
        Prompt::DeepSearch => Some(false),
        Prompt::Search | Prompt::DeepResearch | Prompt::Correction => None,
    };
    round.answer = Some(answer.report);
    Ok(())
}

fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = std::collections::HashSet::new();
    values.filter(|value| known.insert(value.clone())).collect()
}

fn distinct_sources(sources: impl Iterator<Item = Source>) -> Vec<Source> {
    let mut known = std::collections::HashSet::new();
    sources.filter(|source| known.insert(source.url.clone())).collect()
}

/// What a report begins with, where the agent gave no summary.
fn beginning(report: &str) -> String {
    const CHARACTERS: usize = 200;
    let line = report
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(['#', '`', '|', '-', '>']))
        .or_else(|| report.lines().map(str::trim).find(|line| !line.is_empty()))
        .unwrap_or_default();
    match line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests as outcomes;

    fn answer(report: &str, verified: bool) -> Answer {
        Answer {
            report: report.to_owned(),
            success: true,
            verified: Some(verified),
            sources: Vec::new(),
            queries: Vec::new(),
            summary: None,
        }
    }

    fn source(url: &str, title: &str) -> Source {
        Source { location: None, ..outcomes::source(url, (1, 1), title, "") }
    }

    /// A run that has this answer.
    fn answered(report: &str) -> Progress {
        let mut round = outcomes::round(1, &[], 0, 0);
        round.answer = Some(report.to_owned());
        round.verified = Some(false);
        round.sources = vec![source("https://a.example", "A")];
        Progress::of_rounds(vec![round])
    }

    #[test]
    fn what_was_seen_goes_before_what_is_only_named_and_each_counts_once() {
        let mut round = outcomes::round(2, &[], 0, 0);
        let mut progress = answered("first");
        let mut given = answer("second", true);
        given.sources = ["https://a.example", "https://b.example", "https://c.example"]
            .map(|url| source(url, "named"))
            .to_vec();
        given.queries = vec!["tides".to_owned(), "neap".to_owned()];
        let reply = AgentReply {
            sources: vec![source("https://b.example", "seen")],
            queries: vec!["neap".to_owned()],
            ..AgentReply::default()
        };
        accept(&mut round, &mut progress, Prompt::Verify, given, reply).unwrap();
        let sources: Vec<_> =
            round.sources.iter().map(|source| (&*source.url, &*source.title)).collect();
        assert_eq!(
            sources,
            [
                ("https://b.example", "seen"),
                ("https://a.example", "named"),
                ("https://c.example", "named")
            ]
        );
        assert_eq!(round.new_sources, 2);
        assert_eq!(round.queries, ["neap", "tides"]);
        assert_eq!((round.answer.as_deref(), round.verified), (Some("second"), Some(true)));
    }

    #[test]
    fn a_verdict_does_not_take_the_place_of_the_report() {
        let long = "All of it. ".repeat(300);
        let verdict = || answer("It is wrong throughout.", true);
        let mut round = outcomes::round(2, &[], 0, 0);
        let mut progress = answered(&long);
        let accepted =
            accept(&mut round, &mut progress, Prompt::Verify, verdict(), AgentReply::default());
        assert!(accepted.unwrap_err().message.contains("It is wrong throughout."));
        assert_eq!((round.answer.as_ref(), round.verified), (None, None));
        assert_eq!(progress.answer(), long);

        let mut progress = answered("a short report");
        accept(&mut round, &mut progress, Prompt::Verify, verdict(), AgentReply::default())
            .unwrap();
        assert_eq!(round.answer.as_deref(), Some("It is wrong throughout."));
    }

    #[test]
    fn only_a_round_that_checks_can_verify() {
        for (prompt, success, expected) in [
            (Prompt::Verify, true, Some(true)),
            (Prompt::Verify, false, Some(false)),
            (Prompt::DeepSearch, true, Some(false)),
            (Prompt::Search, true, None),
            (Prompt::DeepResearch, true, None),
        ] {
            let mut round = outcomes::round(1, &[], 0, 0);
            let given = Answer { success, ..answer("x", true) };
            let mut progress = Progress::default();
            accept(&mut round, &mut progress, prompt, given, AgentReply::default()).unwrap();
            assert_eq!(round.verified, expected, "{prompt:?}");
        }
    }

    #[test]
    fn an_agent_that_did_not_succeed_replaces_nothing() {
        let failed = || Answer { success: false, ..answer("I found no page that opens.", false) };
        let mut round = outcomes::round(2, &[], 0, 0);
        let mut progress = answered("first");
        let error =
            accept(&mut round, &mut progress, Prompt::Verify, failed(), AgentReply::default());
        assert!(error.unwrap_err().message.contains("I found no page that opens."));
        assert_eq!(round.answer, None);

        let mut progress = Progress::default();
        accept(&mut round, &mut progress, Prompt::DeepSearch, failed(), AgentReply::default())
            .unwrap();
        assert_eq!(round.answer.as_deref(), Some("I found no page that opens."));
        assert!(progress.note.unwrap().contains("did not fully succeed"));
    }

    #[test]
    fn a_report_without_a_summary_begins_with_its_first_words() {
        assert_eq!(beginning("# Tides\n\n```sh\nx\n```\n\nThey rise.\n"), "x");
        assert_eq!(beginning("# Tides\n\nThey rise.\nThey fall."), "They rise.");
        assert_eq!(beginning("# Only a title"), "# Only a title");
        assert_eq!(beginning(&"é".repeat(300)), format!("{}…", "é".repeat(200)));
    }
}
