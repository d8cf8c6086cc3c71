//! What was expected of tasks, to be held against what they took; and what
//! finished tasks took, for the next forecast.

use rusqlite::{OptionalExtension, Row, params};

use super::error::Result;
use super::ledger::{Spent, sums};
use super::{Claim, Store, tasks};

/// What a task is expected to take.
#[derive(Debug, Clone, PartialEq)]
pub struct NewForecast {
    pub complexity: String,
    /// From, to.
    pub seconds: (f64, f64),
    pub cost_usd: (f64, f64),
    /// How many past runs it rests on.
    pub runs: u32,
}

/// What was expected of a task that has completed, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub struct ForecastRecord {
    pub task: String,
    pub tool: String,
    /// What was asked.
    pub text: String,
    pub forecast: NewForecast,
    pub made_at: i64,
    pub actual_seconds: f64,
    /// None where no price is known.
    pub actual_cost_usd: Option<f64>,
}

/// What a completed task took.
#[derive(Debug, Clone, PartialEq)]
pub struct PastTask {
    pub id: String,
    /// JSON.
    pub question: String,
    /// What was asked, in the asker's words.
    pub text: String,
    /// JSON.
    pub plan: Option<String>,
    pub rounds: u32,
    pub seconds: f64,
    pub spent: Spent,
}

/// What a task took by its own account, which leaves out the time in which nobody
/// worked on it, or else from its start to its end.
macro_rules! seconds {
    () => {
        "coalesce((SELECT outcome ->> 'duration_ms' FROM results WHERE task_id = tasks.id),
                  finished_at - created_at) / 1000.0 AS seconds"
    };
}

impl Store {
    /// What is expected of a task; the first time counts, because what is known
    /// later is no forecast.
    pub async fn save_forecast(&self, claim: &Claim, forecast: NewForecast) -> Result<()> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let now = tasks::touch(transaction, &claim)?;
            transaction
                .prepare_cached(
                    "INSERT INTO forecasts (task_id, complexity, seconds_low, seconds_high,
                                            cost_low, cost_high, runs, made_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
                )?
                .execute(params![
                    claim.id,
                    forecast.complexity,
                    forecast.seconds.0,
                    forecast.seconds.1,
                    forecast.cost_usd.0,
                    forecast.cost_usd.1,
                    forecast.runs,
                    now
                ])?;
            Ok(())
        })
        .await
    }

    /// What was expected of a task when it began.
    pub async fn forecast(&self, task: &str) -> Result<Option<NewForecast>> {
        let task = task.to_owned();
        self.read(move |reading| {
            let forecast = reading
                .connection
                .prepare_cached("SELECT * FROM forecasts WHERE task_id = ?1")?
                .query_row([task], expected)
                .optional()?;
            Ok(forecast)
        })
        .await
    }

    /// Of completed tasks, the newest first.
    pub async fn forecasts(&self, limit: u32) -> Result<Vec<ForecastRecord>> {
        self.read(move |reading| {
            let mut statement = reading.connection.prepare_cached(concat!(
                "SELECT forecasts.*, tool, text,
                        (SELECT sum(cost_usd) FROM calls WHERE task_id = tasks.id) AS cost, ",
                seconds!(),
                " FROM forecasts JOIN tasks ON tasks.id = task_id
                  WHERE status = 'completed' ORDER BY made_at DESC, task_id LIMIT ?1"
            ))?;
            let records = statement
                .query_map([limit], |row| {
                    Ok(ForecastRecord {
                        task: row.get("task_id")?,
                        tool: row.get("tool")?,
                        text: row.get("text")?,
                        forecast: expected(row)?,
                        made_at: row.get("made_at")?,
                        actual_seconds: row.get("seconds")?,
                        actual_cost_usd: row.get("cost")?,
                    })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(records)
        })
        .await
    }

    /// Completed tasks of a tool, the newest first.
    pub async fn past_tasks(&self, tool: &str, limit: u32) -> Result<Vec<PastTask>> {
        let tool = tool.to_owned();
        self.read(move |reading| {
            let mut statement = reading.connection.prepare_cached(concat!(
                "SELECT id, question, text, plan,
                        (SELECT count(*) FROM rounds WHERE task_id = tasks.id) AS rounds, ",
                seconds!(),
                " FROM tasks WHERE status = 'completed' AND tool = ?1
                  ORDER BY created_at DESC, rowid DESC LIMIT ?2"
            ))?;
            let mut spent = reading.connection.prepare_cached(concat!(
                "SELECT ",
                sums!(),
                " FROM calls WHERE task_id = ?1"
            ))?;
            let past = statement
                .query_map(params![tool, limit], |row| {
                    let id: String = row.get("id")?;
                    Ok(PastTask {
                        spent: spent.query_row([&id], Spent::from_row)?,
                        id,
                        question: row.get("question")?,
                        text: row.get("text")?,
                        plan: row.get("plan")?,
                        rounds: row.get("rounds")?,
                        seconds: row.get("seconds")?,
                    })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(past)
        })
        .await
    }
}

fn expected(row: &Row<'_>) -> rusqlite::Result<NewForecast> {
    Ok(NewForecast {
        complexity: row.get("complexity")?,
        seconds: (row.get("seconds_low")?, row.get("seconds_high")?),
        cost_usd: (row.get("cost_low")?, row.get("cost_high")?),
        runs: row.get("runs")?,
    })
}
