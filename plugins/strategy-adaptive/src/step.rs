//! Decides what comes next: another round, with which queries, or the end and
//! why. A pure function of the rounds so far.

use bathysphere_sdk::strategy::{
    AskStep, Decision, DelegateStep, FinishStep, GatherStep, Round, Situation, Step, StopReason,
};
use bathysphere_sdk::types::{Error, ErrorKind, Level, Quality};

use crate::plan::{mode, tool};
use crate::settings::{Mode, Settings};
use crate::words::{fingerprint, key_words, part_queries};

/// A query of more bytes than this is cut at a word.
const LONGEST_QUERY: usize = 400;
/// Words in the short form of a long question.
const KEY_WORDS: usize = 10;

/// Decides the next step.
pub fn next_step(settings: &Settings, situation: &Situation) -> Decision {
    let run = Run { settings, situation };
    let (step, reason) = run.decide();
    Decision { step, reason, memo: situation.memo.clone() }
}

struct Run<'a> {
    settings: &'a Settings,
    situation: &'a Situation,
}

type Choice = (Step, String);

fn finish(reason: StopReason, why: String, note: Option<String>) -> Choice {
    (Step::Finish(FinishStep { reason, note }), why)
}

impl Run<'_> {
    fn decide(&self) -> Choice {
        let plan = &self.situation.plan;
        if plan.level == Level::None || plan.rounds == 0 {
            return finish(StopReason::NotNeeded, plan.reason.clone(), None);
        }
        let mode = mode(self.settings, &self.situation.question);
        if mode == Mode::Delegate {
            return self.delegate();
        }
        if let Some(choice) = self.fatal().or_else(|| self.budget()) {
            return choice;
        }
        match mode {
            Mode::Ask => self.ask(),
            Mode::Auto | Mode::Delegate | Mode::Gather => self.gather(),
        }
    }

    fn rounds(&self) -> &[Round] {
        &self.situation.rounds
    }

    fn is_last(&self) -> bool {
        self.rounds().len() >= self.situation.plan.rounds as usize
    }

    /// Rounds that were carried out.
    fn carried_out(&self) -> impl DoubleEndedIterator<Item = &Round> {
        self.rounds().iter().filter(|round| round.error.is_none())
    }

    fn findings(&self) -> u64 {
        self.rounds().iter().map(|round| u64::from(round.new_findings)).sum()
    }

    fn has_answer(&self) -> bool {
        self.findings() > 0 || self.carried_out().any(|round| round.answer.is_some())
    }

    fn last_error(&self) -> Option<&Error> {
        self.rounds().last().and_then(|round| round.error.as_ref())
    }

    /// What cannot succeed is not tried again.
    fn fatal(&self) -> Option<Choice> {
        let error = self.last_error()?;
        is_lasting(&error.kind).then(|| {
            self.give_up(&format!(
                "the last round cannot succeed if it is tried again: {}",
                error.message
            ))
        })
    }

    /// Ends with what there is.
    fn give_up(&self, why: &str) -> Choice {
        let note = self.last_error().map(|error| {
            let hint = error.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            let unchecked = if self.is_unchecked() { "; the answer is not verified" } else { "" };
            format!("the last round failed: {}{hint}{unchecked}", error.message)
        });
        let reason = match self.last_error() {
            _ if !self.has_answer() => StopReason::NothingFound,
            Some(_) => StopReason::Other("round-failed".into()),
            None => StopReason::Limit,
        };
        finish(reason, why.to_owned(), note)
    }

    fn budget(&self) -> Option<Choice> {
        let most = self.situation.question.max_cost_usd?;
        let spent = self.situation.spent.cost_usd.unwrap_or(0.0);
        // A run that costs nothing never runs out of money.
        (spent > 0.0 && spent >= most).then(|| {
            let why = format!("{spent:.4} of {most:.4} US dollars are spent");
            let note = format!("research stopped at the limit of {most:.2} US dollars; what was still open is not answered");
            finish(StopReason::Budget, why, Some(note))
        })
    }

    /// There is an answer that was to be checked.
    fn is_unchecked(&self) -> bool {
        let last = self.carried_out().next_back().and_then(|round| round.verified);
        last == Some(false)
    }

    fn ask(&self) -> Choice {
        let rounds = self.rounds();
        let last = self.carried_out().next_back();
        let several = self.situation.plan.rounds > 1;
        if several && last.and_then(|round| round.verified) == Some(true) {
            let why = "the answer was checked and stands".to_owned();
            return finish(StopReason::Verified, why, None);
        }
        if self.is_last() {
            let (step, why) = self.at_limit();
            return match step {
                Step::Finish(FinishStep { reason: StopReason::Limit, note }) if several => {
                    let failed = note.map(|note| format!("{note}; ")).unwrap_or_default();
                    let note = format!(
                        "{failed}verification was not completed within {} rounds",
                        rounds.len()
                    );
                    finish(StopReason::Limit, why, Some(note))
                }
                step => (step, why),
            };
        }
        // The host has asked again where that is any use.
        if last.is_none() && !rounds.is_empty() {
            return self.give_up("the first round has failed, and there is nothing to verify");
        }
        let (prompt, why) = match tool(&self.situation.question) {
            Some("search") => ("search", "one search answers this".to_owned()),
            Some("deep_research") => ("deep-research", "the agent does it in one go".to_owned()),
            _ if last.is_some() => {
                ("verify", format!("round {}: check the answer so far", rounds.len() + 1))
            }
            _ => (
                "deep-search",
                "a first answer from several perspectives, not yet verified".to_owned(),
            ),
        };
        (Step::Ask(AskStep { prompt: prompt.to_owned() }), why)
    }

    /// Once: a long job is paid for, and whether it is started again is for the user
    /// to say. A report that was dearer than the asker allows is a report.
    fn delegate(&self) -> Choice {
        if self.carried_out().any(|round| round.answer.is_some()) {
            let why = "the research backend has reported".to_owned();
            return finish(StopReason::Other("reported".into()), why, None);
        }
        if !self.rounds().is_empty() {
            return self.give_up("the research backend has brought no report");
        }
        let question = &self.situation.question;
        let mut input = question.text.trim().to_owned();
        let context = question.context.as_deref().map(str::trim).unwrap_or_default();
        if !context.is_empty() {
            input.push_str("\n\nContext:\n");
            input.push_str(context);
        }
        let why = "the research backend takes the whole question".to_owned();
        (Step::Delegate(DelegateStep { input }), why)
    }

    fn at_limit(&self) -> Choice {
        let planned = self.situation.plan.rounds;
        let why = if planned == 1 {
            "the planned round is done".to_owned()
        } else {
            format!("all {planned} planned rounds are done")
        };
        if self.has_answer() { finish(StopReason::Limit, why, None) } else { self.give_up(&why) }
    }

    fn gather(&self) -> Choice {
        if self.rounds().is_empty() {
            return self
                .gather_with(self.first_queries(), "search for the question itself".to_owned());
        }
        let mut queries = self.follow_ups();
        let last = self.carried_out().next_back();
        if let Some(choice) = last.and_then(|last| self.good_enough(last, !queries.is_empty())) {
            return choice;
        }
        if self.is_last() {
            return self.at_limit();
        }
        if self.findings() == 0 {
            let fruitless = self.rounds().len() >= self.settings.max_empty_rounds as usize;
            if fruitless {
                return self.give_up(&format!("{} rounds found nothing", self.rounds().len()));
            }
        } else if let Some(choice) = self.error_free().then(|| self.no_progress()).flatten() {
            return choice;
        }
        if queries.is_empty() {
            queries = self.other_queries();
        }
        if queries.is_empty() {
            return if self.has_answer() {
                finish(StopReason::Repetition, "there is no new query left to ask".to_owned(), None)
            } else {
                self.give_up("nothing was found, and there is no other query to try")
            };
        }
        let why = match self.last_error() {
            Some(error) => format!("the last round failed ({}); try another way", error.message),
            None => format!("look up what is still missing: {}", queries.join(", ")),
        };
        self.gather_with(queries, why)
    }

    fn gather_with(&self, queries: Vec<String>, why: String) -> Choice {
        let plan = &self.situation.plan;
        let step =
            GatherStep { queries, results: plan.results, pages: plan.pages, depth: plan.depth };
        (Step::Gather(step), why)
    }

    fn error_free(&self) -> bool {
        self.last_error().is_none()
    }

    fn good_enough(&self, last: &Round, more_to_ask: bool) -> Option<Choice> {
        let quality = &last.quality;
        let answered = self.findings() > 0
            && quality.relevance >= self.settings.enough_relevance
            && quality.coverage >= self.settings.enough_coverage;
        let sources = self.sources();
        let supported = sources >= self.settings.enough_sources as usize;
        // With nothing left to ask, more rounds would bring no further source.
        (answered && (supported || !more_to_ask)).then(|| {
            let why = format!(
                "relevance {:.2}, coverage {:.2} and {} are enough",
                quality.relevance,
                quality.coverage,
                if sources == 1 { "1 source".to_owned() } else { format!("{sources} sources") },
            );
            let note = (!supported).then(|| {
                if sources == 1 {
                    "the answer rests on one source".to_owned()
                } else {
                    format!("the answer rests on {sources} sources")
                }
            });
            finish(StopReason::GoodEnough, why, note)
        })
    }

    /// How many different sources all rounds turned up.
    fn sources(&self) -> usize {
        let mut urls: Vec<&str> = self
            .rounds()
            .iter()
            .flat_map(|round| &round.sources)
            .map(|source| source.url.as_str())
            .collect();
        urls.sort_unstable();
        urls.dedup();
        urls.len()
    }

    /// From the second round on: did the last one bring anything?
    fn no_progress(&self) -> Option<Choice> {
        let mut rounds = self.carried_out().rev();
        let last = rounds.next()?;
        let before = rounds.next()?;
        if last.new_sources == 0 && last.new_findings == 0 {
            let why = "the last round found only what was there already".to_owned();
            return Some(finish(StopReason::Repetition, why, None));
        }
        let gain = overall(&last.quality) - overall(&before.quality);
        // Not `gain < min_gain`: a quality that is no number is no gain either.
        let enough = gain >= self.settings.min_gain;
        (!enough).then(|| {
            let why = format!(
                "the last round raised the quality by {gain:.2}, less than {:.2}",
                self.settings.min_gain
            );
            finish(StopReason::DiminishingReturns, why, None)
        })
    }

    fn first_queries(&self) -> Vec<String> {
        let text = self.situation.question.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut queries = vec![shorten(&text)];
        let words = key_words(&text);
        if words.len() > self.settings.long_question_words as usize || text.len() > LONGEST_QUERY {
            queries.push(words[..words.len().min(KEY_WORDS)].join(" "));
        }
        self.unasked(queries)
    }

    /// What the agent would look up next, the newest first.
    fn follow_ups(&self) -> Vec<String> {
        let wanted = self.carried_out().rev().flat_map(|round| &round.follow_ups);
        self.unasked(wanted.map(|query| shorten(query.trim())).collect())
    }

    /// Other words for the question, when the agent has no proposal: while nothing
    /// is found, its parts one by one. After a passing fault, the same words once
    /// more.
    fn other_queries(&self) -> Vec<String> {
        let text = &self.situation.question.text;
        let mut queries = Vec::new();
        if self.findings() == 0 {
            queries.extend(part_queries(text).iter().map(|query| shorten(query)));
        }
        let words = key_words(text);
        queries.push(words[..words.len().min(KEY_WORDS)].join(" "));
        if let Some(goal) = &self.situation.question.goal {
            queries.push(shorten(goal));
        }
        let queries = self.unasked(queries);
        if !queries.is_empty() || self.error_free() {
            return queries;
        }
        let failed = self.rounds().last().map(|round| round.queries.clone()).unwrap_or_default();
        if failed.is_empty() { self.first_of_question() } else { failed }
    }

    fn first_of_question(&self) -> Vec<String> {
        vec![shorten(self.situation.question.text.trim())]
    }

    /// Those that no round has asked, each once, at most as many as a round may ask.
    fn unasked(&self, queries: Vec<String>) -> Vec<String> {
        let mut seen: Vec<String> = self
            .rounds()
            .iter()
            .flat_map(|round| &round.queries)
            .map(|query| fingerprint(query))
            .collect();
        let mut new = Vec::new();
        for query in queries {
            let print = fingerprint(&query);
            if query.is_empty() || print.is_empty() || seen.contains(&print) {
                continue;
            }
            seen.push(print);
            new.push(query);
            if new.len() >= self.settings.max_queries as usize {
                break;
            }
        }
        new
    }
}

/// Whether the same call would fail again: then it is not paid for again.
fn is_lasting(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Auth
        | ErrorKind::Refused
        | ErrorKind::InvalidInput
        | ErrorKind::NotFound
        // The host has waited for a limit that passes soon.
        | ErrorKind::RateLimited(_) => true,
        ErrorKind::Unavailable => false,
        ErrorKind::Other(name) => matches!(
            name.as_str(),
            "cli-not-found"
                | "cli-outdated"
                | "context-overflow"
                | "correction-file"
                | "model-not-found"
                | "over-budget"
                | "prompt"
                | "quota-exhausted"
                | "safety-blocked"
                | "store-error"
                | "turn-limit"
        ),
    }
}

fn overall(quality: &Quality) -> f64 {
    (quality.relevance + quality.coverage + quality.confidence) / 3.0
}

fn shorten(text: &str) -> String {
    if text.len() <= LONGEST_QUERY {
        return text.to_owned();
    }
    let mut end = LONGEST_QUERY;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text[..end].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(end);
    text[..cut].trim_end().to_owned()
}
