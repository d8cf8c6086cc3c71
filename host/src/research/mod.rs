//! The loop: ask the strategy for the next step, carry it out with the backends,
//! save the round, and again, until the strategy has had enough or the plan is
//! used up. A failed round is a round: the next goes on from the best so far.

mod answer;
mod ask;
mod billed;
mod budget;
mod cycle;
mod delegate;
mod event;
mod gather;
pub mod invalid_output;
mod job;
mod passages;
mod progress;
mod quality;
mod recorder;
mod unwritten;

use std::path::Path;
use std::time::{Duration, Instant};

pub use billed::{Billed, MODEL, bill};
pub use budget::{Allowance, start_of_day, start_of_today};
pub use event::{Event, EventSink, progress_of};
pub use job::{has_open_start, is_lost};
pub use progress::Progress;
pub use recorder::{Recorder, to_json};

use crate::config::resolved::ToolBackends;
use crate::plugins::contract::{
    Decision, ErrorKind, Level, Plan, PluginError, Question, Round, Situation, Step, StopReason,
    Strategy, Usage,
};
use crate::plugins::{CallError, LoadError, Plugins};
use crate::prompts::Prompts;
use ask::Asker;
use delegate::Delegator;
use gather::Gatherer;

/// A bound on rounds that no strategy can lift.
const MOST_ROUNDS: u32 = 50;

/// The name in a question's `extra` for how many hits the asker wants to see.
pub const RESULTS: &str = "results";

/// The name for how many rounds a deep search has where the asker does not say.
pub const MAX_ITERATIONS: &str = "max_iterations";

/// The name for which steps the tool's backends can carry out: `ask`, `gather`
/// or both, with a comma between.
pub const STEPS: &str = "steps";

/// What a run needs.
pub struct Run<'a> {
    pub plugins: &'a Plugins,
    pub backends: &'a ToolBackends,
    pub prompts: &'a Prompts,
    pub recorder: &'a Recorder,
    pub events: &'a EventSink,
    /// The directory of the user's configuration.
    pub configuration: &'a Path,
    /// When the question was asked, such as `2026-11-15`: for the prompts. Not
    /// today, so that a task taken up tomorrow asks what it would have asked.
    pub date: String,
    /// Between two looks at a job, at the most.
    pub poll: Duration,
    /// When a job is ended, whatever it has come to.
    pub deadline: Option<jiff::Timestamp>,
}

impl Run<'_> {
    fn may_cost(&self, plugin: &str) -> bool {
        let config = self.plugins.config().plugins.get(plugin);
        config.is_some_and(|config| config.grants.reach_out())
    }
}

/// The backend of a kind, or what to do where none is configured.
fn named<'a>(kind: &str, name: Option<&'a String>) -> Result<&'a str, LoadError> {
    name.map(String::as_str).ok_or_else(|| {
        LoadError::new(kind, "no backend of this kind serves the tool")
            .with_hint(format!("name one as `{kind}` in [tools] of plugins.toml"))
    })
}

/// The steps that these backends can carry out, as [`STEPS`] tells them.
pub fn steps(backends: &ToolBackends) -> String {
    let mut steps = Vec::new();
    if backends.agent.is_some() {
        steps.push("ask");
    }
    if backends.agent.is_some() && backends.search.is_some() {
        steps.push("gather");
    }
    if backends.research.is_some() {
        steps.push("delegate");
    }
    steps.join(",")
}

/// Researches a question to its end, from wherever `progress` stands.
pub async fn run(
    run: &Run<'_>,
    question: &Question,
    progress: &mut Progress,
) -> Result<(), CallError> {
    let strategy = run.plugins.strategy().await?;
    let plan = match &progress.plan {
        Some(plan) => plan.clone(),
        None => make_plan(run, &*strategy, question).await?,
    };
    (run.events)(Event::Planned { plan: plan.clone() });
    progress.plan = Some(plan.clone());

    let mut steps = Steps {
        run,
        gatherer: Gatherer::new(run, question, progress.next_number() - 1),
        asker: Asker::new(run, question),
        delegator: Delegator { run, question },
    };
    loop {
        let rounds = progress.counted();
        let number = progress.next_number();
        let counted = rounds.len() as u32 + 1;
        let planned = plan.rounds + number - counted;
        let situation = Situation {
            question: question.clone(),
            plan: plan.clone(),
            rounds,
            memo: progress.memo.clone(),
            spent: progress.usage(),
        };
        let decision = strategy.next_step(&situation).await?;
        if let Step::Finish { reason, note } = decision.step {
            return finish(run, progress, reason, note);
        }
        if number > planned || plan.level == Level::None {
            return finish(run, progress, StopReason::Limit, None);
        }
        progress.memo.clone_from(&decision.memo);
        (run.events)(Event::RoundStarted {
            number,
            of: planned,
            step: decision.step.name().to_owned(),
            reason: decision.reason.clone(),
        });
        let round = steps.carry_out(number, planned, decision, progress).await?;
        run.recorder.save_round(&round, &progress.memo).await;
        (run.events)(Event::RoundEnded { round: Box::new(round.clone()), of: planned });
        progress.rounds.push(round);
    }
}

async fn make_plan(
    run: &Run<'_>,
    strategy: &dyn Strategy,
    question: &Question,
) -> Result<Plan, CallError> {
    let plan = plan(strategy, question).await?;
    run.recorder.save_plan(&plan).await;
    Ok(plan)
}

/// How a question would be researched. Costs nothing.
pub async fn plan(strategy: &dyn Strategy, question: &Question) -> Result<Plan, CallError> {
    let mut plan = strategy.make_plan(question).await?;
    // Rounds may cost: a strategy takes no more than it was given, whatever its
    // settings say.
    let most = question.max_rounds.or(extra_number(question, MAX_ITERATIONS));
    plan.rounds = plan.rounds.min(most.unwrap_or(MOST_ROUNDS)).min(MOST_ROUNDS);
    if let Some(results) = extra_number(question, RESULTS) {
        plan.results = results;
    }
    Ok(plan)
}

fn extra<'a>(question: &'a Question, wanted: &str) -> Option<&'a str> {
    question.extra.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

fn extra_number(question: &Question, wanted: &str) -> Option<u32> {
    extra(question, wanted)?.parse().ok()
}

/// Who carries out which step.
struct Steps<'a> {
    run: &'a Run<'a>,
    gatherer: Gatherer<'a>,
    asker: Asker<'a>,
    delegator: Delegator<'a>,
}

impl Steps<'_> {
    /// Does what the strategy wants. An error of a backend becomes the round's own;
    /// only a plugin that could not be loaded at all ends the run.
    async fn carry_out(
        &mut self,
        number: u32,
        planned: u32,
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
            citations: Vec::new(),
            verified: None,
            quality: progress.quality(),
            follow_ups: Vec::new(),
            usage: Usage::default(),
            error: None,
            duration_ms: 0,
            extra: Vec::new(),
        };
        let carried_out = match decision.step {
            Step::Ask { prompt } => self.asker.ask(&mut round, progress, &prompt, planned).await,
            Step::Gather { queries, results, pages, depth } => {
                round.queries = queries;
                self.gatherer.gather(&mut round, progress, results, pages, depth).await
            }
            Step::Delegate { input } => self.delegator.delegate(&mut round, progress, input).await,
            step => Err(CallError::Failed {
                plugin: self.run.plugins.config().strategy.clone(),
                error: PluginError::new(
                    ErrorKind::InvalidInput,
                    format!(
                        "it wants the step `{}`, which no configured backend carries out",
                        step.name()
                    ),
                )
                .hint("choose a strategy that asks or gathers, such as strategy-adaptive"),
            }),
        };
        match carried_out {
            Ok(()) => {}
            Err(error @ CallError::Load(_)) => return Err(error),
            // There is no round to speak of: what is known is in the database.
            Err(error) if progress.parked.is_some() || progress.lost => return Err(error),
            Err(error) => {
                tracing::debug!("round {number} failed: {error}");
                round.error = Some(as_plugin_error(&error));
                progress.failure = Some(error);
            }
        }
        round.duration_ms = started.elapsed().as_millis() as u64;
        Ok(round)
    }
}

/// A run whose every round failed has failed as the last of them did.
fn finish(
    run: &Run<'_>,
    progress: &mut Progress,
    reason: StopReason,
    note: Option<String>,
) -> Result<(), CallError> {
    progress.stop_reason = Some(reason);
    if note.is_some() {
        progress.note = note;
    }
    if let Some(error) = progress.outright_failure() {
        // Why it failed says why it stopped.
        progress.stop_reason = None;
        return Err(error);
    }
    (run.events)(Event::Completed {
        rounds: progress.rounds.len() as u32,
        verified: progress.verified(),
    });
    Ok(())
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
