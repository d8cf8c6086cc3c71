//! The loop: ask the strategy for the next step, carry it out with the backends,
//! save the round, and again, until the strategy has had enough or the plan is
//! used up. A failed round is a round: the next goes on from the best so far.

mod event;
mod gather;
mod passages;
mod quality;
mod recorder;

use std::time::Instant;

pub use event::{Event, EventSink, progress_of};
pub use recorder::{Recorder, to_json};

use crate::config::resolved::ToolBackends;
use crate::plugins::contract::{
    Decision, ErrorKind, Finding, Level, Plan, PluginError, Quality, Question, Round, Situation,
    Source, Step, StopReason, Usage,
};
use crate::plugins::{CallError, Plugins};
use gather::Gatherer;

/// A bound on rounds that no strategy can lift.
const MOST_ROUNDS: u32 = 50;

/// The name in a question's `extra` for how many hits the asker wants to see.
pub const RESULTS: &str = "results";

/// What a run needs.
pub struct Run<'a> {
    pub plugins: &'a Plugins,
    pub backends: &'a ToolBackends,
    pub recorder: &'a Recorder,
    pub events: &'a EventSink,
}

/// What a run came to. Also the state it is in when it is cut short: the caller
/// holds it, so that what was done is never lost.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub plan: Option<Plan>,
    pub rounds: Vec<Round>,
    pub stop_reason: Option<StopReason>,
    pub note: Option<String>,
    pub model: Option<String>,
    /// Why the last failed round failed.
    failure: Option<CallError>,
}

impl Progress {
    /// What is known of a run from its saved rounds.
    pub fn of_rounds(rounds: Vec<Round>) -> Self {
        Self { rounds, ..Self::default() }
    }

    /// The round whose answer stands: the best, and of equals the latest.
    fn best(&self) -> Option<&Round> {
        self.rounds
            .iter()
            .filter(|round| round.error.is_none())
            .max_by(|one, other| score(&one.quality).total_cmp(&score(&other.quality)))
    }

    pub fn answer(&self) -> String {
        self.best().and_then(|round| round.answer.clone()).unwrap_or_default()
    }

    pub fn findings(&self) -> Vec<Finding> {
        self.best().map(|round| round.findings.clone()).unwrap_or_default()
    }

    /// What the findings cite, in their order, then what else was looked at.
    pub fn sources(&self) -> Vec<Source> {
        let cited = self.findings().into_iter().map(|finding| finding.source);
        let seen = self.rounds.iter().flat_map(|round| round.sources.iter().cloned());
        let mut known = std::collections::HashSet::new();
        cited.chain(seen).filter(|source| known.insert(source.reference())).collect()
    }

    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for round in &self.rounds {
            usage.add(&round.usage);
        }
        usage
    }
}

fn score(quality: &Quality) -> f64 {
    quality.relevance + quality.coverage + quality.confidence
}

/// Researches a question to its end.
pub async fn run(
    run: &Run<'_>,
    question: &Question,
    progress: &mut Progress,
) -> Result<(), CallError> {
    let strategy = run.plugins.strategy().await?;
    let mut plan = strategy.make_plan(question).await?;
    plan.rounds = plan.rounds.min(question.max_rounds.unwrap_or(MOST_ROUNDS)).min(MOST_ROUNDS);
    if let Some(results) = wanted_results(question) {
        plan.results = results;
    }
    run.recorder.save_plan(&plan).await;
    (run.events)(Event::Planned { plan: plan.clone() });
    progress.plan = Some(plan.clone());

    let mut gatherer = Gatherer::new(run, question);
    let mut memo = String::new();
    loop {
        let situation = Situation {
            question: question.clone(),
            plan: plan.clone(),
            rounds: progress.rounds.clone(),
            memo,
            spent: progress.usage(),
        };
        let decision = strategy.next_step(&situation).await?;
        let number = progress.rounds.len() as u32 + 1;
        if let Step::Finish { reason, note } = decision.step {
            finish(progress, reason, note);
            return succeeded(progress);
        }
        if number > plan.rounds || plan.level == Level::None {
            finish(progress, StopReason::Limit, None);
            return succeeded(progress);
        }
        memo = decision.memo.clone();
        (run.events)(Event::RoundStarted {
            number,
            of: plan.rounds,
            step: decision.step.name().to_owned(),
            reason: decision.reason.clone(),
        });
        let round = carry_out(&mut gatherer, number, decision, progress).await?;
        run.recorder.save_round(&round, &memo).await;
        (run.events)(Event::RoundEnded { round: Box::new(round.clone()), of: plan.rounds });
        progress.rounds.push(round);
    }
}

/// How many hits the asker wants to see, where they said so.
fn wanted_results(question: &Question) -> Option<u32> {
    let (_, wanted) = question.extra.iter().find(|(name, _)| name == RESULTS)?;
    wanted.parse().ok()
}

/// Does what the strategy wants. An error of a backend becomes the round's own;
/// only a plugin that could not be loaded at all ends the run.
async fn carry_out(
    gatherer: &mut Gatherer<'_>,
    number: u32,
    decision: Decision,
    progress: &mut Progress,
) -> Result<Round, CallError> {
    let started = Instant::now();
    let mut round = Round {
        number,
        step: decision.step.name().to_owned(),
        reason: decision.reason,
        queries: Vec::new(),
        sources: Vec::new(),
        new_sources: 0,
        findings: Vec::new(),
        new_findings: 0,
        answer: None,
        verified: None,
        quality: progress.best().map(|round| round.quality).unwrap_or_default(),
        follow_ups: Vec::new(),
        usage: Usage::default(),
        error: None,
        duration_ms: 0,
        extra: Vec::new(),
    };
    let carried_out = match decision.step {
        Step::Gather { queries, results, pages, depth } => {
            round.queries.clone_from(&queries);
            gatherer.gather(&mut round, progress, results, pages, depth).await
        }
        step => Err(CallError::Failed {
            plugin: gatherer.strategy_name().to_owned(),
            error: PluginError::new(
                ErrorKind::InvalidInput,
                format!(
                    "it wants the step `{}`, which no configured backend carries out",
                    step.name()
                ),
            )
            .hint("choose a strategy that gathers, such as strategy-adaptive"),
        }),
    };
    match carried_out {
        Ok(()) => {}
        Err(error @ CallError::Load(_)) => return Err(error),
        Err(error) => {
            tracing::warn!("round {number} failed: {error}");
            round.error = Some(as_plugin_error(&error));
            progress.failure = Some(error);
        }
    }
    round.duration_ms = started.elapsed().as_millis() as u64;
    Ok(round)
}

fn finish(progress: &mut Progress, reason: StopReason, note: Option<String>) {
    progress.stop_reason = Some(reason);
    if note.is_some() {
        progress.note = note;
    }
}

/// A run whose every round failed has failed as the last of them did.
fn succeeded(progress: &Progress) -> Result<(), CallError> {
    match &progress.failure {
        Some(error) if progress.rounds.iter().all(|round| round.error.is_some()) => {
            Err(error.clone())
        }
        _ => Ok(()),
    }
}

/// An error of a call as it is kept with a round.
fn as_plugin_error(error: &CallError) -> PluginError {
    match error {
        CallError::Failed { plugin, error } => {
            PluginError { message: format!("{plugin}: {}", error.message), ..error.clone() }
        }
        other => PluginError {
            kind: ErrorKind::Other(
                match other {
                    CallError::Limit { .. } => "limit",
                    CallError::Crashed { .. } => "crashed",
                    CallError::Failed { .. } | CallError::Load(_) => "load",
                }
                .to_owned(),
            ),
            message: other.to_string(),
            hint: other.hint(),
        },
    }
}
