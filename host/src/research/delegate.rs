//! A delegate step: the whole question is handed to a research backend, which works
//! on it for minutes or hours. The job is started once; a look that fails is no
//! failure of the job; and what the backend tells of it is its progress.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::billed::{MODEL, bill};
use super::job::{Kept, NOT_SENT, NotStarted, START};
use super::recorder::{Call, to_json};
use super::{Event, Progress, Run, extra, named};
use crate::plugins::CallError;
use crate::plugins::contract::{
    ErrorKind, Job, JobStatus, PluginError, Question, Research, ResearchRequest, Round, SUMMARY,
    Usage,
};

/// The first look comes this soon; later ones the later the longer it takes.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// How often a start that was provably not taken is tried in all.
const ATTEMPTS: u32 = 3;

/// A limit of the vendor's that lasts longer than this is not waited for.
const LONGEST_LIMIT: Duration = Duration::from_mins(1);

/// After the deadline, a machine that has just woken up may need a while to have a
/// network again.
const ATTEMPTS_AT_A_LOOK: u32 = 8;

/// A vendor may lose sight of a job for a while: it is gone when it was gone this
/// often in a row, and for as long as so many looks take: two minutes, usually.
const GONE: u32 = 3;
const GONE_LOOKS: u32 = 8;

const ASKED_ANEW: &str = "what was found is kept; asking anew is paid for anew";

const EXPIRED: &str = "Research session expired on Gemini servers. Task was interrupted and \
                       cannot be recovered.";

pub struct Delegator<'a> {
    pub run: &'a Run<'a>,
    pub question: &'a Question,
}

impl Delegator<'_> {
    pub async fn delegate(
        &self,
        round: &mut Round,
        progress: &mut Progress,
        input: String,
    ) -> Result<(), CallError> {
        let name = named("research", self.run.backends.research.as_ref())?;
        let backend = self.run.plugins.research(name).await?;
        let known = self.run.recorder.job_call().zip(self.run.recorder.job());
        let (call, job) = match known {
            Some(known) => known,
            // Nothing is paid for that would be ended at once.
            None if self.run.deadline.is_some_and(|deadline| deadline <= Timestamp::now()) => {
                let error = PluginError::other(
                    "timeout",
                    "the research was not started: the time it was given was over before it could be",
                )
                .hint("ask anew, or give it more time with max_wait_hours");
                return Err(failed(name, error));
            }
            None => match self.start(name, &*backend, round.number, input).await {
                Ok(started) => started,
                Err(NotStarted::Refused(error)) => return Err(error),
                Err(NotStarted::Unknown(error)) => {
                    progress.parked = Some(error.to_string());
                    return Err(error);
                }
                Err(NotStarted::Lost) => return Err(lost(name, progress)),
            },
        };
        let followed = self.follow(name, &*backend, job, progress).await;
        let (job, ended) = match followed {
            Ok(job) => (job, Ok(())),
            Err((_, error)) if progress.lost => return Err(error),
            Err((job, error)) => (job, Err(error)),
        };
        self.fill(round, progress, &job);
        self.run.recorder.settle_job(call, &round.usage).await;
        ended
    }

    async fn start(
        &self,
        name: &str,
        backend: &dyn Research,
        round: u32,
        input: String,
    ) -> Result<(u32, Job), NotStarted> {
        let model = extra(self.question, MODEL).map(str::to_owned);
        let request = ResearchRequest { input, model, extra: Vec::new() };
        let written = to_json(&request);
        let mut attempt = 1;
        loop {
            let call =
                Call { round, plugin: name, function: START, request: &written, may_cost: true };
            let started = self.run.recorder.start_job(call, backend.start(&request)).await;
            let Err(NotStarted::Refused(error)) = &started else { return started };
            let Some(pause) = worth_waiting(error).filter(|_| attempt < ATTEMPTS) else {
                return started;
            };
            (self.run.events)(Event::Progress {
                message: format!("{error}; asked again in {} s", pause.as_secs()),
                done: 0,
                total: None,
            });
            tokio::time::sleep(pause * attempt).await;
            attempt += 1;
        }
    }

    /// Looks at the job until it has come to an end, or its time is over. The job
    /// as it was last seen comes back in either case.
    async fn follow(
        &self,
        name: &str,
        backend: &dyn Research,
        mut job: Job,
        progress: &mut Progress,
    ) -> Result<Job, (Job, CallError)> {
        let mut looks = Looks::new(self.run.poll);
        let mut told = 0;
        let mut gone = 0;
        let mut gone_since: Option<Instant> = None;
        loop {
            for line in job.progress.iter().skip(told) {
                (self.run.events)(Event::Progress { message: line.clone(), done: 0, total: None });
            }
            told = told.max(job.progress.len());
            match &job.status {
                JobStatus::Completed => return Ok(job),
                JobStatus::Failed => {
                    let error = job.error.clone().unwrap_or_else(|| {
                        PluginError::new(ErrorKind::Unavailable, "the research failed")
                    });
                    let hint = error.hint.or_else(|| Some(ASKED_ANEW.to_owned()));
                    let error = PluginError { hint, ..error };
                    return Err((job, failed(name, error)));
                }
                JobStatus::Cancelled => {
                    let error =
                        PluginError::other("cancelled", "the research was cancelled at the vendor");
                    return Err((job, failed(name, error)));
                }
                JobStatus::Expired => {
                    let error = PluginError::other("expired", EXPIRED).hint(
                        "if the vendor has it after all, `bathysphere task adopt` looks again; \
                         asking anew is paid for anew",
                    );
                    return Err((job, failed(name, error)));
                }
                _ => {}
            }
            if let Err(error) = self.within_budget(name, &job) {
                progress.cancel_job = true;
                return Err((job, error));
            }
            // Nobody may have looked for days: what has come to its end meanwhile is
            // not ended for being late.
            if !looks.pause_until(self.run.deadline).await && looks.have_been_enough() {
                progress.cancel_job = true;
                let error = PluginError::other(
                    "timeout",
                    "the research did not come to its end within the time it was given, and was \
                     ended at the vendor",
                )
                .hint("give it more with max_wait_hours (--max-wait-hours)");
                return Err((job, failed(name, error)));
            }
            match backend.poll(&job.id).await {
                Ok(seen) if seen.status == JobStatus::Expired => {
                    gone += 1;
                    let since = *gone_since.get_or_insert_with(Instant::now);
                    looks.failed(None);
                    if gone >= GONE && since.elapsed() >= self.run.poll * GONE_LOOKS {
                        job.status = JobStatus::Expired;
                    }
                }
                Ok(seen) => {
                    (gone, gone_since) = (0, None);
                    looks.succeeded();
                    let seen = self.keep_what_was_known(&job, seen);
                    // What could not be written is tried again with every look.
                    if seen != job || self.run.recorder.is_behind() {
                        job = seen;
                        if self.run.recorder.save_job(&job).await == Kept::Lost {
                            return Err((job, lost(name, progress)));
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!("the research cannot be looked at just now: {error}");
                    (self.run.events)(Event::Progress {
                        message: format!("cannot look at the research just now: {error}"),
                        done: 0,
                        total: None,
                    });
                    looks.failed(limit_of(&error));
                }
            }
        }
    }

    /// A look that tells less than the one before takes nothing away, and the job
    /// keeps the name it was started under.
    #[expect(clippy::unused_self, reason = "reads as what the delegator does")]
    fn keep_what_was_known(&self, before: &Job, mut seen: Job) -> Job {
        seen.id.clone_from(&before.id);
        if seen.progress.len() < before.progress.len() {
            seen.progress.clone_from(&before.progress);
        }
        if seen.report.is_none() && seen.status != JobStatus::Completed {
            seen.report.clone_from(&before.report);
            seen.citations.clone_from(&before.citations);
        }
        if seen.sources.is_empty() {
            seen.sources.clone_from(&before.sources);
        }
        seen.keep_from(before);
        seen
    }

    /// A vendor that tells what it has used so far is stopped before it is too much.
    fn within_budget(&self, name: &str, job: &Job) -> Result<(), CallError> {
        let Some(most) = self.question.max_cost_usd else { return Ok(()) };
        match self.priced(job).cost_usd {
            Some(cost) if cost >= most => {
                let error = PluginError::other(
                    "over-budget",
                    format!(
                        "the research has cost ${cost:.2} of the ${most:.2} it may, and was ended at \
                         the vendor; the rest of it was not done"
                    ),
                )
                .hint("give it more with max_cost_usd (--max-cost)");
                Err(failed(name, error))
            }
            _ => Ok(()),
        }
    }

    fn fill(&self, round: &mut Round, progress: &mut Progress, job: &Job) {
        let known: std::collections::HashSet<String> =
            progress.sources().iter().map(crate::plugins::contract::Source::reference).collect();
        round.new_sources =
            job.sources.iter().filter(|source| !known.contains(&source.reference())).count() as u32;
        round.sources.clone_from(&job.sources);
        round.answer = job.report.clone().filter(|report| !report.trim().is_empty());
        round.citations.clone_from(&job.citations);
        round.usage = self.priced(job);
        if let Some(model) = extra_of(job, MODEL) {
            round.extra.push((MODEL.to_owned(), model.to_owned()));
            progress.model = Some(model.to_owned());
        }
        if let Some(note) = extra_of(job, "note") {
            round.extra.push((SUMMARY.to_owned(), note.to_owned()));
            progress.note = Some(note.to_owned());
        }
    }

    fn priced(&self, job: &Job) -> Usage {
        let mut job = job.clone();
        bill(self.run.recorder.prices(), &mut job);
        job.usage
    }
}

fn extra_of<'a>(job: &'a Job, wanted: &str) -> Option<&'a str> {
    job.extra.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

fn failed(plugin: &str, error: PluginError) -> CallError {
    CallError::Failed { plugin: plugin.to_owned(), error }
}

fn lost(plugin: &str, progress: &mut Progress) -> CallError {
    progress.lost = true;
    failed(plugin, PluginError::other("lost", "another process has the task now"))
}

/// How long to wait before a start that was not taken is tried again; none where
/// that is no use.
fn worth_waiting(error: &CallError) -> Option<Duration> {
    let CallError::Failed { error, .. } = error else { return None };
    match &error.kind {
        ErrorKind::Other(name) if name == NOT_SENT => Some(FIRST_LOOK),
        ErrorKind::RateLimited(seconds) => {
            let pause = seconds.map_or(FIRST_LOOK, |seconds| Duration::from_secs(seconds.into()));
            (pause <= LONGEST_LIMIT).then_some(pause)
        }
        _ => None,
    }
}

fn limit_of(error: &CallError) -> Option<Duration> {
    match error {
        CallError::Failed { error, .. } => match error.kind {
            ErrorKind::RateLimited(Some(seconds)) => Some(Duration::from_secs(seconds.into())),
            _ => None,
        },
        _ => None,
    }
}

/// When to look at the job: soon at first, then ever less often, and after a look
/// that failed less often still.
struct Looks {
    /// Between two looks at the most, as long as they succeed.
    longest: Duration,
    since: Instant,
    successes: u32,
    failures: u32,
    /// What the vendor has asked for.
    at_least: Duration,
}

impl Looks {
    fn new(longest: Duration) -> Self {
        let since = Instant::now();
        Self { longest, since, successes: 0, failures: 0, at_least: Duration::ZERO }
    }

    fn succeeded(&mut self) {
        self.successes += 1;
        self.failures = 0;
        self.at_least = Duration::ZERO;
    }

    fn failed(&mut self, at_least: Option<Duration>) {
        self.failures += 1;
        self.at_least = at_least.unwrap_or_default().min(LONGEST_LIMIT * 5);
    }

    fn interval(&self) -> Duration {
        let calm = (self.since.elapsed() / 10).max(FIRST_LOOK).min(self.longest);
        let backed_off = calm.saturating_mul(1 << self.failures.min(10)).min(self.longest * 4);
        backed_off.max(self.at_least)
    }

    /// Whether there has been a look, or as many attempts at one as can be expected.
    fn have_been_enough(&self) -> bool {
        self.successes > 0 || self.failures >= ATTEMPTS_AT_A_LOOK
    }

    /// Waits for the next look. False when the deadline came first, or is over.
    async fn pause_until(&self, deadline: Option<Timestamp>) -> bool {
        let pause = self.interval();
        let Some(deadline) = deadline else {
            tokio::time::sleep(pause).await;
            return true;
        };
        let left =
            Duration::try_from(deadline.duration_since(Timestamp::now())).unwrap_or_default();
        let over = pause >= left;
        // Once it is over, whoever must still look does so as often as ever.
        let late = left.is_zero() && self.failures > 0;
        tokio::time::sleep(if over && !late { left } else { pause }).await;
        !over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn looks_come_ever_less_often_and_back_off_when_they_fail() {
        let mut looks = Looks::new(Duration::from_secs(15));
        assert_eq!(looks.interval(), Duration::from_secs(1));
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!(looks.interval(), Duration::from_secs(5));
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(looks.interval(), Duration::from_secs(15));
        for _ in 0..40 {
            looks.failed(None);
        }
        assert_eq!(looks.interval(), Duration::from_mins(1));
        looks.failed(Some(Duration::from_secs(90)));
        assert_eq!(looks.interval(), Duration::from_secs(90), "as the vendor asked");
        looks.succeeded();
        assert_eq!(looks.interval(), Duration::from_secs(15));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_comes_too_late_looks_once_all_the_same() {
        let mut looks = Looks::new(Duration::from_secs(15));
        let over = Some(Timestamp::now() - Duration::from_hours(1));
        let begun = Instant::now();
        assert!(!looks.pause_until(over).await && !looks.have_been_enough());
        assert_eq!(begun.elapsed(), Duration::ZERO, "the first look comes at once");
        looks.failed(None);
        assert!(!looks.pause_until(over).await && !looks.have_been_enough());
        assert!(begun.elapsed() > Duration::ZERO, "the next ones do not");
        looks.succeeded();
        assert!(!looks.pause_until(over).await && looks.have_been_enough());
        let mut never = Looks::new(Duration::from_secs(15));
        (0..ATTEMPTS_AT_A_LOOK).for_each(|_| never.failed(None));
        assert!(never.have_been_enough());
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_comes_before_the_next_look() {
        let looks = Looks::new(Duration::from_secs(15));
        assert!(looks.pause_until(None).await);
        assert!(looks.pause_until(Some(Timestamp::now() + Duration::from_hours(1))).await);
        assert!(!looks.pause_until(Some(Timestamp::now())).await);
        assert!(!looks.pause_until(Some(Timestamp::now() - Duration::from_hours(1))).await);
    }
}
