//! What must be so when every server is dead and all work is done: the database, the
//! vendor's log, the user's notifications and what the clients were told say the same.

use std::collections::{BTreeMap, HashMap};
use std::thread;
use std::time::{Duration, Instant};

use super::fleet::Fleet;
use super::memory::Known;
use crate::support::interactions::What;
use crate::support::program::DEADLINE;

/// Lock files that may be left: of the last worker and the last server.
const LOCKS: usize = 4;

/// A process on a busy machine writes down an answer within this time.
const WRITING: Duration = Duration::from_secs(5);

/// A task as the database has it.
struct Row {
    id: String,
    text: String,
    status: String,
    job: Option<String>,
    cancel: Option<String>,
    open_calls: u32,
}

/// What the vendor was asked about one question.
#[derive(Default)]
struct Vendor {
    creates: usize,
    /// When the first of them came.
    at: Option<Duration>,
    interactions: Vec<String>,
    cancels: HashMap<String, usize>,
}

/// What came out, for whoever reads the test's output.
#[derive(Debug, Default)]
pub struct Summary {
    pub asked: usize,
    pub acknowledged: usize,
    pub results_told: usize,
    pub cancels_told: usize,
    pub statuses: BTreeMap<String, usize>,
    pub adopted: usize,
    pub retried: usize,
    pub notified: usize,
    /// Cancelled between the start and the vendor's answer, which then nobody heard.
    pub orphans: usize,
}

impl Fleet {
    /// All that was left comes to its end, with no server but one worker at a time.
    pub fn settle(&mut self, summary: &mut Summary) {
        self.work();
        let parked: Vec<Row> =
            self.rows().into_iter().filter(|row| row.status == "needs_attention").collect();
        let vendors = self.vendors();
        for (number, row) in parked.iter().enumerate() {
            let Some(task) = self.memory.all.iter().position(|one| one.query == row.text) else {
                continue;
            };
            let vendor = vendors.get(&row.text);
            if !self.died_starting(task, vendor) {
                self.memory.violation(task, "parked, though its server lived");
            }
            let interaction = vendor.and_then(|vendor| vendor.interactions.first());
            let resolved = match interaction {
                Some(interaction) if number % 2 == 0 => {
                    self.memory.tell(task, "the user adopts its interaction");
                    summary.adopted += 1;
                    self.explorer.run(["task", "adopt", &row.id, interaction])
                }
                _ => {
                    self.memory.tell(task, "the user has it started again");
                    self.memory.all[task].before_retry =
                        Some(vendor.map_or(0, |vendor| vendor.creates));
                    summary.retried += 1;
                    self.explorer.run(["task", "retry", &row.id])
                }
            };
            if !resolved.status.success() {
                let words = format!("the user cannot resolve it: {}", resolved.stderr.trim());
                self.memory.violation(task, &words);
            }
        }
        self.work();
    }

    /// Whether the server that was asked could have been killed before it had written
    /// down the vendor's answer: only then may nobody know of it.
    fn died_starting(&self, task: usize, vendor: Option<&Vendor>) -> bool {
        let research = &self.memory.all[task];
        let Some(death) = self.deaths.get(&research.server) else { return false };
        let Some(asked) = vendor.and_then(|vendor| vendor.at) else { return true };
        *death < asked + research.slow + WRITING
    }

    fn work(&self) {
        // Who has taken it upon them to tell the vendor may be dead, and is given a
        // while. It is over.
        self.database()
            .execute("UPDATE jobs SET updated_at = 0 WHERE cancel = 'wanted'", [])
            .unwrap();
        self.explorer.run(["worker", "--until-done"]).assert_success();
    }

    fn rows(&self) -> Vec<Row> {
        let database = self.database();
        let mut statement = database
            .prepare(
                "SELECT id, text, status, job_id, cancel,
                        (SELECT count(*) FROM calls WHERE task_id = id AND state = 'sent') AS open
                 FROM tasks LEFT JOIN jobs ON task_id = id",
            )
            .unwrap();
        let rows = statement.query_map([], |row| {
            Ok(Row {
                id: row.get("id")?,
                text: row.get("text")?,
                status: row.get("status")?,
                job: row.get("job_id")?,
                cancel: row.get("cancel")?,
                open_calls: row.get("open")?,
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn vendors(&self) -> HashMap<String, Vendor> {
        self.explorer.api.look(|log| {
            let mut vendors: HashMap<String, Vendor> = HashMap::new();
            for entry in &log.0 {
                let vendor = vendors.entry(entry.input.to_string()).or_default();
                match (entry.what, &entry.id) {
                    (What::Create, id) => {
                        vendor.creates += 1;
                        vendor.at = vendor.at.or(Some(entry.at));
                        vendor.interactions.extend(id.as_deref().map(str::to_owned));
                    }
                    (What::Cancel, Some(id)) => {
                        *vendor.cancels.entry(id.to_string()).or_default() += 1;
                    }
                    _ => {}
                }
            }
            vendors
        })
    }

    /// Looks at everything; what is wrong is among the violations.
    pub fn judge(&mut self, summary: &mut Summary) {
        self.last_words();
        let rows: HashMap<String, Row> =
            self.rows().into_iter().map(|row| (row.text.clone(), row)).collect();
        let vendors = self.vendors();
        let told = self.wait_for_notifications(&rows);
        for task in 0..self.memory.all.len() {
            let research = &self.memory.all[task];
            summary.asked += 1;
            summary.acknowledged += usize::from(research.id.is_some());
            summary.results_told += usize::from(research.report.is_some());
            summary.cancels_told += usize::from(research.known == Known::Cancelled);
            let default = Vendor::default();
            let vendor = vendors.get(&research.query).unwrap_or(&default);
            if let Some(row) = rows.get(&research.query) {
                *summary.statuses.entry(row.status.clone()).or_default() += 1;
                let notices = told.get(&row.id).copied().unwrap_or_default();
                summary.notified += notices;
                self.judge_task(task, row, vendor, notices, summary);
                continue;
            }
            if research.id.is_some() {
                self.memory.violation(task, "an acknowledged task is lost");
            }
            if vendor.creates > 0 {
                self.memory.violation(task, "started, and never written down");
            }
        }
        self.judge_whole();
    }

    fn judge_task(
        &mut self,
        task: usize,
        row: &Row,
        vendor: &Vendor,
        notices: usize,
        summary: &mut Summary,
    ) {
        let mut wrong = Vec::new();
        let research = &self.memory.all[task];
        if research.id.as_ref().is_some_and(|id| *id != row.id) {
            wrong.push("it has another id".to_owned());
        }
        if research.refused {
            wrong.push("a refused start has made a task".to_owned());
        }
        let ended = match row.status.as_str() {
            "completed" => !research.fails,
            "failed" => research.fails,
            "cancelled" => {
                if !research.cancel_asked {
                    wrong.push("cancelled by nobody".to_owned());
                }
                false
            }
            other => {
                wrong.push(format!("it is {other} in the end"));
                false
            }
        };
        if matches!(row.status.as_str(), "completed" | "failed") && !ended {
            wrong.push(format!("it is {}, which the vendor never said", row.status));
        }
        // One request each, and one more for each time that the user wanted it.
        let allowed = research.before_retry.map_or(1, |before| before + 1);
        if research.before_retry.is_none() && vendor.creates > 1 {
            wrong.push(format!("an interaction was started {} times", vendor.creates));
        } else if vendor.creates > allowed {
            wrong.push(format!("started {} times, and {allowed} were wanted", vendor.creates));
        } else if ended && vendor.creates != allowed {
            wrong.push(format!("ended after {} of {allowed} starts", vendor.creates));
        }
        if let Some(job) = &row.job
            && !vendor.interactions.contains(job)
        {
            wrong.push(format!("its job {job} is not one that was started for it"));
        }
        let cancels: usize = vendor.cancels.values().sum();
        match (&row.job, row.status.as_str()) {
            (Some(job), "cancelled") => {
                if !vendor.cancels.contains_key(job) {
                    wrong.push("the vendor was not told of the cancel".to_owned());
                }
                if row.cancel.as_deref() != Some("done") {
                    wrong.push(format!("the vendor's cancel is {:?}", row.cancel));
                }
            }
            (None, "cancelled") if vendor.creates > 0 => {
                summary.orphans += 1;
                if row.open_calls == 0 || !self.died_starting(task, Some(vendor)) {
                    wrong.push("its interaction was forgotten".to_owned());
                }
            }
            (_, "cancelled") => {}
            _ if cancels > 0 => wrong.push("the vendor cancelled what nobody did".to_owned()),
            _ => {}
        }
        let expected = usize::from(ended && research.notify);
        if notices != expected {
            wrong.push(format!("{notices} notifications, not {expected}"));
        }
        if !wrong.is_empty() {
            self.memory.violation(task, &wrong.join("; "));
        }
    }

    /// Those who tell of the end of a task are processes of their own, and may still
    /// be at it.
    fn wait_for_notifications(&self, rows: &HashMap<String, Row>) -> HashMap<String, usize> {
        let expected = self
            .memory
            .all
            .iter()
            .filter(|research| {
                let row = rows.get(&research.query);
                research.notify
                    && row.is_some_and(|row| ["completed", "failed"].contains(&&*row.status))
            })
            .count();
        let end = Instant::now() + DEADLINE / 6;
        while self.told().len() < expected && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
        let mut told = HashMap::new();
        for id in self.told() {
            *told.entry(id).or_default() += 1;
        }
        told
    }

    fn judge_whole(&mut self) {
        let database = self.database();
        let sound: String =
            database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        if sound != "ok" {
            self.memory.violations.push(format!("the database is damaged: {sound}"));
        }
        let mut dangling = database.prepare("PRAGMA foreign_key_check").unwrap();
        if dangling.exists([]).unwrap() {
            self.memory.violations.push("rows belong to no task".to_owned());
        }
        let locks = self.locks();
        if locks > LOCKS {
            self.memory.violations.push(format!("{locks} lock files are left"));
        }
        let complaints = self
            .explorer
            .api
            .look(|log| log.complaints().into_iter().map(str::to_owned).collect::<Vec<_>>());
        self.memory.violations.extend(complaints);
    }
}
