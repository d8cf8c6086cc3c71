//! Reading what became of a task: for the tools that answer from the database
//! alone, whichever process made the task and whichever works on it.

use super::views::{
    Done, Listed, Metadata, Report, ResearchList, ResearchResults, ResearchStatus, Started, Tokens,
    minutes,
};
use super::{ErrorReport, Outcome, TaskStatus, Tasks, views};
use crate::plugins::contract::Job;
use crate::report::{AnswerSource, short_id, timestamp};
use crate::store::{Status, StoreError, TaskFilter, TaskRecord};

/// How many of the latest actions are told.
const RECENT: usize = 5;

/// A running task that nobody needs to wait for is called so.
const RUNNING_ASYNC: &str = "running_async";

impl Tasks {
    /// What the start of a task has come to within the time it was waited for.
    pub fn started(&self, outcome: &Outcome) -> Started {
        let running = outcome.status == TaskStatus::Running;
        let finished = outcome.status == TaskStatus::Completed;
        let notice = if running { Some(running_message(outcome)) } else { outcome.note.clone() };
        Started {
            success: running || finished,
            task_id: Some(outcome.id.clone()),
            status: Some(status_word(outcome.status, true).to_owned()),
            mode: Some(if running { "async" } else { "sync" }.to_owned()),
            results: (!running && (finished || !outcome.answer.is_empty()))
                .then(|| self.report(outcome, true)),
            cost_usd: outcome.usage.cost_usd,
            message: notice,
            check_status_command: running
                .then(|| format!("check_research_status(task_id='{}')", outcome.id)),
            error: outcome.error.clone(),
        }
    }

    fn report(&self, outcome: &Outcome, include_sources: bool) -> Report {
        Report {
            report: outcome.report(),
            sources: if include_sources {
                outcome.sources.iter().map(AnswerSource::of).collect()
            } else {
                Vec::new()
            },
            metadata: self.metadata(outcome),
        }
    }

    fn metadata(&self, outcome: &Outcome) -> Metadata {
        let handoff = self.plugins.config().research.handoff.as_millis();
        let sync = outcome.tool != super::START_DEEP_RESEARCH
            || u128::from(outcome.duration_ms) <= handoff;
        Metadata {
            duration_minutes: minutes(outcome.duration_ms),
            tokens_used: Tokens::of(&outcome.usage),
            searches: outcome.usage.searches,
            cost_usd: outcome.usage.cost_usd,
            mode: if sync { "sync" } else { "async" }.to_owned(),
            tool: outcome.tool.clone(),
            model: outcome.model.clone(),
            created_at: outcome.created_at.clone(),
            completed_at: outcome.finished_at.clone(),
        }
    }

    /// How it stands with a task; the id may be cut short.
    pub async fn status(&self, id: &str) -> Result<ResearchStatus, ErrorReport> {
        let task = match self.store.find_task(id).await {
            Ok(task) => task,
            Err(error) => return self.status_from_memory(id, error),
        };
        let job = self.store.job(&task.id).await?;
        let job = job.and_then(|job| serde_json::from_str::<Job>(&job.state).ok());
        let (background, interrupted) = (task.background, task.status == Status::Interrupted);
        let mut outcome = self.outcome_of(task).await?;
        if background && interrupted {
            outcome.note = Some(
                "no process looks after it just now: the next server that starts does, and so \
                 does `bathysphere worker`"
                    .to_owned(),
            );
        }
        let left = if background && goes_on(outcome.status) {
            let forecast = self.store.forecast(&outcome.id).await?;
            forecast.and_then(|forecast| time_left(forecast.seconds, outcome.duration_ms))
        } else {
            None
        };
        let status = status_of(outcome, background, job);
        Ok(ResearchStatus { estimated_completion_minutes: left, ..status })
    }

    /// What this process knows of a task that the database cannot be asked about.
    fn status_from_memory(
        &self,
        id: &str,
        error: StoreError,
    ) -> Result<ResearchStatus, ErrorReport> {
        if let Some(outcome) = self.unsaved.find(id) {
            let background = outcome.tool == super::START_DEEP_RESEARCH;
            return Ok(status_of(outcome, background, None));
        }
        let mut report = ErrorReport::from(error);
        if self.running.get(id.trim()).is_some() {
            report.message.push_str(
                "; the research goes on all the same, and its report is saved as a file should the \
                 database still be in trouble then",
            );
        }
        Err(report)
    }

    /// The report of a task, or a part of it; of one that has not come to its end,
    /// what there is so far.
    pub async fn results(
        &self,
        id: &str,
        include_sources: bool,
        offset: u64,
        limit: Option<u64>,
    ) -> Result<ResearchResults, ErrorReport> {
        let outcome = self.outcome(id).await?;
        let background = outcome.tool == super::START_DEEP_RESEARCH;
        let has_report = outcome.status == TaskStatus::Completed
            || !outcome.answer.is_empty()
            || !outcome.findings.is_empty();
        let (report, page) = views::Page::cut(&outcome.report(), offset, limit);
        let error = match outcome.status {
            TaskStatus::Completed => None,
            _ if outcome.error.is_some() => outcome.error.clone(),
            status => Some(ErrorReport {
                code: "NOT_COMPLETED".to_owned(),
                message: format!("the research is {}", status_word(status, background)),
                hint: Some(next(&outcome, background)),
            }),
        };
        Ok(ResearchResults {
            success: error.is_none(),
            status: Some(status_word(outcome.status, background).to_owned()),
            report: has_report.then_some(report),
            page: has_report.then_some(page),
            sources: ((has_report || !outcome.sources.is_empty()) && include_sources)
                .then(|| outcome.sources.iter().map(AnswerSource::of).collect()),
            metadata: Some(self.metadata(&outcome)),
            note: outcome.note.clone(),
            error,
            query: Some(outcome.question.text),
            task_id: Some(outcome.id),
        })
    }

    /// Tasks of every tool: newest first, or those that have the words, best first.
    pub async fn list(
        &self,
        words: Option<&str>,
        status: Option<TaskStatus>,
        limit: u32,
    ) -> Result<ResearchList, ErrorReport> {
        // One more than is shown tells whether there are more.
        let mut found = self.find(words, status, limit.saturating_add(1)).await?;
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        let tasks: Vec<Listed> = found.into_iter().map(listed).collect();
        Ok(ResearchList { count: tasks.len() as u64, more, tasks })
    }

    pub(super) async fn find(
        &self,
        words: Option<&str>,
        status: Option<TaskStatus>,
        limit: u32,
    ) -> Result<Vec<TaskRecord>, ErrorReport> {
        let filter = TaskFilter { status: status.map(Into::into), limit };
        Ok(match words.filter(|words| !words.trim().is_empty()) {
            Some(words) => self.store.find_tasks(words, filter).await?,
            None => self.store.tasks(filter).await?,
        })
    }
}

/// Whether it has not come to its end, and somebody may work on it.
fn goes_on(status: TaskStatus) -> bool {
    matches!(status, TaskStatus::Running | TaskStatus::Interrupted)
}

fn status_of(outcome: Outcome, background: bool, job: Option<Job>) -> ResearchStatus {
    let goes_on = goes_on(outcome.status);
    let actions: &[String] = job.as_ref().map_or(&[], |job| &job.progress);
    ResearchStatus {
        status: status_word(outcome.status, background).to_owned(),
        progress: Done::of(&outcome, job.as_ref()),
        current_action: goes_on.then(|| current_action(&outcome, job.as_ref())),
        recent_actions: if goes_on {
            actions[actions.len().saturating_sub(RECENT)..].to_vec()
        } else {
            Vec::new()
        },
        elapsed_minutes: minutes(outcome.duration_ms),
        tokens_used: Tokens::of(&outcome.usage),
        cost_so_far: outcome.usage.cost_usd,
        estimated_completion_minutes: None,
        has_partial_report: goes_on && !outcome.answer.is_empty(),
        vendor_status: job.and_then(|job| {
            job.extra.into_iter().find(|(name, _)| name == "vendor_status").map(|(_, word)| word)
        }),
        next: next(&outcome, background),
        note: outcome.note,
        failure: outcome.error,
        query: outcome.question.text,
        task_id: outcome.id,
    }
}

fn running_message(outcome: &Outcome) -> String {
    let id = short_id(&outcome.id);
    let where_it_is = if outcome.job.is_some() {
        "runs in the background, at the vendor, and goes on whether or not this client stays"
    } else {
        "runs in the background: it has not reached the vendor yet, and is sent as soon as it can be"
    };
    format!(
        "Research {id} {where_it_is}. Call check_research_status now and then, and \
         get_research_results when it says completed; `bathysphere status {id}` tells the same."
    )
}

fn listed(task: TaskRecord) -> Listed {
    let took = task.finished_at.and_then(|end| u64::try_from(end - task.created_at).ok());
    Listed {
        status: status_word(task.status.into(), task.background).to_owned(),
        task_id: task.id,
        tool: task.tool,
        query: task.text,
        created_at: timestamp(task.created_at),
        duration_minutes: took.map(minutes),
        cost_usd: task.cost_usd,
    }
}

fn status_word(status: TaskStatus, background: bool) -> &'static str {
    match status {
        // Its research goes on at the vendor, and some process takes it up.
        TaskStatus::Running | TaskStatus::Interrupted if background => RUNNING_ASYNC,
        status => status.as_str(),
    }
}

/// Minutes, by what was expected at the start; none once that has proved wrong.
fn time_left((low, high): (f64, f64), elapsed_ms: u64) -> Option<f64> {
    let elapsed = elapsed_ms as f64 / 1000.0;
    // Such times spread over orders of magnitude: the usual one is low among them.
    let usual = (low * high).sqrt();
    let left = if elapsed < usual { usual - elapsed } else { (high - elapsed) / 2.0 };
    (left > 0.0).then(|| minutes((left * 1000.0) as u64))
}

fn current_action(outcome: &Outcome, job: Option<&Job>) -> String {
    match job {
        Some(job) => job
            .progress
            .last()
            .cloned()
            .unwrap_or_else(|| "the vendor works on it, and has told nothing yet".to_owned()),
        None if outcome.rounds.is_empty() => "starting".to_owned(),
        None => format!("after round {}", outcome.rounds.len()),
    }
}

/// What whoever looks at a task can do next.
fn next(outcome: &Outcome, background: bool) -> String {
    let id = &outcome.id;
    match outcome.status {
        TaskStatus::Completed => format!("get_research_results(task_id='{id}')"),
        TaskStatus::Running | TaskStatus::Interrupted if background => {
            format!("check_research_status(task_id='{id}') again in a minute or two")
        }
        TaskStatus::Running => format!("deep_search(resume='{id}') waits for it"),
        TaskStatus::NeedsAttention => {
            let id = short_id(id);
            format!(
                "ask the user: `bathysphere task adopt {id} INTERACTION` or `bathysphere task \
                 retry {id}` decides"
            )
        }
        TaskStatus::Failed | TaskStatus::Cancelled if background => {
            format!(
                "get_research_results(task_id='{id}') has what was found; start_deep_research asks anew"
            )
        }
        TaskStatus::Failed | TaskStatus::Cancelled | TaskStatus::Interrupted => {
            format!("deep_search(resume='{id}') goes on from there")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_shrinks_and_is_not_told_once_the_estimate_was_wrong() {
        let expected = (300.0, 1200.0);
        assert_eq!(time_left(expected, 0), Some(10.0));
        assert_eq!(time_left(expected, 540_000), Some(1.0));
        assert_eq!(time_left(expected, 600_000), Some(5.0));
        assert_eq!(time_left(expected, 1_200_000), None);
        assert_eq!(time_left((0.0, 0.0), 1), None);
    }
}
