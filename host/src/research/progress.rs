//! What a run has come to so far. The caller holds it, so that what was done is
//! never lost when the run is cut short.

use super::ask::MODEL;
use crate::plugins::CallError;
use crate::plugins::contract::{
    Citation, Finding, Plan, Quality, Round, Source, StopReason, Usage,
};

#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub plan: Option<Plan>,
    pub rounds: Vec<Round>,
    /// What the strategy wants to be handed back.
    pub memo: String,
    pub stop_reason: Option<StopReason>,
    pub note: Option<String>,
    pub model: Option<String>,
    /// Something was sent whose fate is unknown, and why: nothing more is done until
    /// the user has said what.
    pub parked: Option<String>,
    /// Another process has the task now: nothing more is written.
    pub lost: bool,
    /// The vendor is to be told that its job is not wanted any more.
    pub cancel_job: bool,
    /// Why the last failed round failed.
    pub(super) failure: Option<CallError>,
    /// Rounds up to this number were made before the run was taken up again.
    resumed_after: u32,
}

impl Progress {
    /// What is known of a run from its saved rounds.
    pub fn of_rounds(rounds: Vec<Round>) -> Self {
        let model = rounds.iter().rev().flat_map(|round| &round.extra);
        let model = model.filter(|(name, _)| name == MODEL).map(|(_, model)| model.clone()).next();
        Self { rounds, model, ..Self::default() }
    }

    /// A run that goes on where an earlier one was cut short.
    pub fn resumed(plan: Option<Plan>, rounds: Vec<Round>, memo: String) -> Self {
        let progress = Self { plan, memo, ..Self::of_rounds(rounds) };
        Self { resumed_after: progress.next_number() - 1, ..progress }
    }

    /// The number of the round that comes next. Not how many there are: one that
    /// could not be saved leaves a gap.
    pub(super) fn next_number(&self) -> u32 {
        self.rounds.last().map_or(1, |round| round.number + 1)
    }

    /// The rounds that count against the plan: all but those that had failed when
    /// the run was taken up again, because taking it up means to try again.
    pub(super) fn counted(&self) -> Vec<Round> {
        let counts = |round: &&Round| round.error.is_none() || round.number > self.resumed_after;
        self.rounds.iter().filter(counts).cloned().collect()
    }

    /// The round whose answer stands: the best, and of equals the latest.
    fn best(&self) -> Option<&Round> {
        self.rounds
            .iter()
            .filter(|round| round.error.is_none())
            .max_by(|one, other| score(&one.quality).total_cmp(&score(&other.quality)))
    }

    pub(super) fn quality(&self) -> Quality {
        self.best().map(|round| round.quality).unwrap_or_default()
    }

    /// The answer that stands, or else what a round had that failed: a part of a
    /// report is better than none.
    pub fn answer(&self) -> String {
        self.standing().and_then(|round| round.answer.clone()).unwrap_or_default()
    }

    fn standing(&self) -> Option<&Round> {
        let partial = || self.rounds.iter().rev().find(|round| round.answer.is_some());
        self.best().or_else(partial)
    }

    pub fn findings(&self) -> Vec<Finding> {
        self.best().map(|round| round.findings.clone()).unwrap_or_default()
    }

    /// Of the answer that stands.
    pub fn citations(&self) -> Vec<Citation> {
        self.standing().map(|round| round.citations.clone()).unwrap_or_default()
    }

    /// Whether the answer that stands was checked and found right.
    pub fn verified(&self) -> bool {
        self.best().is_some_and(|round| round.verified == Some(true))
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

    /// Why there is nothing to show: every round failed, and the last like this.
    pub(super) fn outright_failure(&self) -> Option<CallError> {
        let all_failed = self.rounds.iter().all(|round| round.error.is_some());
        self.failure.clone().filter(|_| all_failed)
    }
}

fn score(quality: &Quality) -> f64 {
    quality.relevance + quality.coverage + quality.confidence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::contract::{ErrorKind, PluginError};
    use crate::report::tests as outcomes;

    fn round(number: u32, answer: Option<&str>) -> Round {
        let mut round = outcomes::round(number, &[], 0, 0);
        round.answer = answer.map(str::to_owned);
        if answer.is_none() {
            round.error = Some(PluginError::new(ErrorKind::Unavailable, "down"));
        }
        round
    }

    #[test]
    fn a_failed_round_takes_nothing_away() {
        let progress =
            Progress::of_rounds(vec![round(1, Some("one")), round(2, Some("two")), round(3, None)]);
        assert_eq!(progress.answer(), "two");
        assert!(progress.outright_failure().is_none());
    }

    #[test]
    fn rounds_that_failed_before_the_run_was_taken_up_do_not_count() {
        let rounds = vec![round(1, Some("one")), round(2, None)];
        let mut progress = Progress::resumed(None, rounds, String::new());
        let numbers = |progress: &Progress| -> Vec<u32> {
            progress.counted().iter().map(|round| round.number).collect()
        };
        assert_eq!(numbers(&progress), [1]);
        progress.rounds.push(round(3, None));
        assert_eq!(numbers(&progress), [1, 3]);
    }

    #[test]
    fn a_round_that_could_not_be_saved_leaves_a_gap_that_is_not_filled() {
        let progress = Progress::resumed(None, vec![round(2, Some("two"))], String::new());
        assert_eq!(progress.next_number(), 3);
        assert_eq!(Progress::default().next_number(), 1);
    }

    #[test]
    fn the_model_is_known_from_the_rounds() {
        let mut first = round(1, Some("one"));
        first.extra = vec![(MODEL.to_owned(), "small".to_owned())];
        let progress = Progress::of_rounds(vec![first, round(2, None)]);
        assert_eq!(progress.model.as_deref(), Some("small"));
    }
}
