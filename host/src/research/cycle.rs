//! Answer, correct, retry: an agent is asked for JSON, and what it returns is read
//! with the extractor. What cannot be read is handed back to be corrected; what
//! cannot be corrected is asked for again, after a wait. An error that asking
//! again cannot mend is returned at once, and never taken for bad JSON.

use std::path::Path;
use std::time::Duration;

use super::answer::Answer;
use super::event::{Event, EventSink, progress_of};
use super::invalid_output::InvalidOutput;
use super::recorder::{Call, Recorder, to_json};
use crate::gates::secrets::Mask;
use crate::plugins::CallError;
use crate::plugins::contract::{
    Agent, AgentReply, AgentRequest, ErrorKind, Extractor, Masked as _, PluginError, Purpose, Usage,
};
use crate::prompts::{Prompt, Prompts, Values};

/// A limit on requests that passes later than this is not waited for.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// How long one is waited for that does not say when it passes.
const UNKNOWN_WAIT: Duration = Duration::from_secs(5);

/// What one question to an agent needs.
pub struct Cycle<'a> {
    pub agent: &'a dyn Agent,
    pub agent_name: &'a str,
    /// What the agent must not tell, for what is decoded out of its answer.
    pub mask: &'a Mask,
    pub extractor: &'a dyn Extractor,
    pub recorder: &'a Recorder,
    pub events: &'a EventSink,
    pub prompts: &'a Prompts,
    /// Where text that is to be corrected may be laid down.
    pub configuration: &'a Path,
    /// How often it may be asked in all.
    pub cycles: u32,
    /// Whether asking may cost something.
    pub may_cost: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Answered {
    pub answer: Answer,
    /// What the agent did to find it.
    pub reply: AgentReply,
}

/// Why a cycle gave nothing, and whether the next may.
enum Failure {
    Lasting(CallError),
    Passing {
        error: CallError,
        wait: Duration,
    },
    /// Neither the answer nor its correction could be read.
    Unreadable(String),
}

impl Cycle<'_> {
    /// Asks until there is an answer that can be read. `usage` counts what was
    /// spent, whatever came of it.
    pub async fn run(
        &self,
        round: u32,
        prompt: Prompt,
        request: &AgentRequest,
        usage: &mut Usage,
    ) -> Result<Answered, CallError> {
        let mut cycle = 1;
        loop {
            let failure = match self.attempt(round, prompt, request, usage).await {
                Ok(answered) => return Ok(answered),
                Err(failure) => failure,
            };
            let (wait, why) = match &failure {
                Failure::Lasting(_) => return Err(self.error(failure)),
                Failure::Passing { error, wait } => (*wait, error.to_string()),
                Failure::Unreadable(problem) => (Duration::ZERO, problem.clone()),
            };
            if cycle >= self.cycles {
                return Err(self.error(failure));
            }
            let wait = wait.max(wait_before(cycle + 1));
            tracing::warn!(
                "attempt {cycle} of {} failed, the next follows in {} s: {why}",
                self.cycles,
                wait.as_secs()
            );
            cycle += 1;
            (self.events)(Event::Progress {
                message: format!(
                    "asking again in {} s (attempt {cycle} of {})",
                    wait.as_secs(),
                    self.cycles
                ),
                done: 0,
                total: None,
            });
            tokio::time::sleep(wait).await;
        }
    }

    /// One cycle: the answer, and a correction if it cannot be read.
    async fn attempt(
        &self,
        round: u32,
        prompt: Prompt,
        request: &AgentRequest,
        usage: &mut Usage,
    ) -> Result<Answered, Failure> {
        let reply = self.ask(round, request, &to_json(request)).await.map_err(classify)?;
        usage.add(&reply.usage);
        let problem = match self.read(&reply.text, prompt).await? {
            Ok(answer) => return Ok(Answered { answer, reply }),
            Err(problem) => problem,
        };
        tracing::warn!("the answer of {} cannot be read: {problem}", self.agent_name);
        match self.correct(round, prompt, request, &reply.text, &problem, usage).await {
            Ok(answer) => Ok(Answered { answer, reply }),
            Err(failure) => {
                match &failure {
                    Failure::Lasting(error) | Failure::Passing { error, .. } => {
                        tracing::error!("JSON correction failed: {error}");
                    }
                    Failure::Unreadable(problem) => {
                        tracing::error!("JSON correction failed: {problem}");
                    }
                }
                Err(failure)
            }
        }
    }

    async fn correct(
        &self,
        round: u32,
        prompt: Prompt,
        request: &AgentRequest,
        text: &str,
        problem: &str,
        usage: &mut Usage,
    ) -> Result<Answer, Failure> {
        (self.events)(Event::Progress {
            message: "the answer cannot be read; having it corrected".to_owned(),
            done: 0,
            total: None,
        });
        let file = InvalidOutput::write(self.configuration, text).map_err(|error| {
            Failure::Lasting(self.failed(PluginError::other(
                "correction-file",
                format!(
                    "the answer could not be laid down for correction in {}: {error}",
                    self.configuration.display()
                ),
            )))
        })?;
        let path = file.path().display().to_string();
        let values =
            Values { file: &path, problem, example: Some(prompt.example()), ..Values::default() };
        let correction = AgentRequest {
            purpose: Purpose::Correct,
            prompt: self.prompts.render(Prompt::Correction, &values).map_err(|error| {
                Failure::Lasting(self.failed(PluginError::other("prompt", error.to_string())))
            })?,
            files: vec![(path, text.as_bytes().to_vec())],
            ..request.clone()
        };
        // The file's name is another each time; the request is still the same.
        let same = to_json(&("correct", text, prompt.schema()));
        let reply = self.ask(round, &correction, &same).await.map_err(classify)?;
        usage.add(&reply.usage);
        match self.read(&reply.text, prompt).await? {
            Ok(answer) if answer.success => Ok(answer),
            Ok(_) => Err(Failure::Unreadable("the text holds nothing to correct".to_owned())),
            Err(problem) => Err(Failure::Unreadable(problem)),
        }
    }

    async fn ask(
        &self,
        round: u32,
        request: &AgentRequest,
        same: &str,
    ) -> Result<AgentReply, CallError> {
        let call = Call {
            round,
            plugin: self.agent_name,
            function: "answer",
            request: same,
            may_cost: self.may_cost,
        };
        let answer = self.agent.answer(request, progress_of(self.events));
        self.recorder.call(call, answer).await
    }

    /// Reads the answer out of the text; the inner error says why there is none.
    async fn read(&self, text: &str, prompt: Prompt) -> Result<Result<Answer, String>, Failure> {
        let extraction = match self.extractor.extract(text, prompt.schema()).await {
            Ok(extraction) => extraction,
            Err(error @ CallError::Load(_)) => return Err(Failure::Lasting(error)),
            Err(error) => return Ok(Err(error.to_string().masked(self.mask))),
        };
        for note in &extraction.notes {
            tracing::debug!("reading the answer: {}", self.mask.text(note));
        }
        let answer = Answer::read(&extraction.json);
        Ok(answer
            .map(|answer| answer.masked(self.mask))
            .map_err(|problem| problem.masked(self.mask)))
    }

    /// What is left when there are no more cycles.
    fn error(&self, failure: Failure) -> CallError {
        match failure {
            Failure::Lasting(error) | Failure::Passing { error, .. } => error,
            Failure::Unreadable(problem) => self.failed(
                PluginError::other(
                    "unreadable-answer",
                    format!("all retry and correction attempts were exhausted ({problem})"),
                )
                .hint(
                    "the agent does not keep to the format it is asked for; another model may, \
                     or raise `cycles` in [research] of plugins.toml",
                ),
            ),
        }
    }

    fn failed(&self, error: PluginError) -> CallError {
        CallError::Failed { plugin: self.agent_name.to_owned(), error }
    }
}

/// 1 s before the second cycle, 2 s before the third, 5 s before every later one.
fn wait_before(cycle: u32) -> Duration {
    Duration::from_secs(match cycle {
        0..=2 => 1,
        3 => 2,
        _ => 5,
    })
}

/// Whether the same call may succeed when it is made again.
fn classify(error: CallError) -> Failure {
    let wait = match &error {
        CallError::Failed { error, .. } => match &error.kind {
            ErrorKind::Unavailable => Some(Duration::ZERO),
            ErrorKind::RateLimited(seconds) => {
                let wait = seconds.map_or(UNKNOWN_WAIT, |it| Duration::from_secs(it.into()));
                (wait <= LONGEST_WAIT).then_some(wait)
            }
            ErrorKind::Other(name) if matches!(name.as_str(), "empty-answer" | "not-sent") => {
                Some(Duration::ZERO)
            }
            _ => None,
        },
        _ => None,
    };
    match wait {
        Some(wait) => Failure::Passing { error, wait },
        None => Failure::Lasting(error),
    }
}

#[cfg(test)]
mod tests;
