//! An ask step: the question, and what is known so far, go into a prompt; an agent
//! that searches by itself answers it, or checks the answer so far.

use std::sync::Arc;

use super::answer::Answer;
use super::cycle::{Answered, Cycle};
use super::{Progress, Run, named};
use crate::plugins::CallError;
use crate::plugins::contract::{
    Agent, AgentReply, AgentRequest, ErrorKind, Extractor, PluginError, Purpose, Question, Round,
    Source,
};
use crate::prompts::{Prompt, Values};

/// The name in a round's `extra` for what it came to, in a sentence or two.
pub const SUMMARY: &str = "summary";

/// The name for the model that answered it.
pub const MODEL: &str = "model";

/// A report of this many bytes or more is not replaced by one that is a tenth as
/// long: asked to check a report, models at times return "it is right" as the
/// report.
const LONG_REPORT: usize = 2000;

pub struct Asker<'a> {
    run: &'a Run<'a>,
    question: &'a Question,
    parts: Option<Parts>,
}

struct Parts {
    agent: Arc<dyn Agent>,
    extractor: Arc<dyn Extractor>,
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
            let agent = self.run.plugins.agent(agent).await?;
            let extractor = self.run.plugins.extractor().await?;
            self.parts = Some(Parts { agent, extractor });
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
            progress.sources().iter().map(|source| source.url.clone()).collect();
        let values = Values {
            query: &self.question.text,
            context: self.question.context.as_deref(),
            result: (!result.is_empty()).then_some(result.as_str()),
            sources: &sources,
            round: number,
            max_rounds: rounds,
            date: &self.run.date,
            example: prompt.example(),
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
    round.extra.push((SUMMARY.to_owned(), summary));
    round.verified = answer.verified;
    let only_confirms = prompt == Prompt::Verify
        && current.len() >= LONG_REPORT
        && answer.report.len() * 10 < current.len();
    round.answer = Some(if only_confirms { current } else { answer.report });
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
