//! The ledger: what calls have cost, summed over the `calls` of all tasks, and the
//! day's budget, which is checked in the same transaction that writes a call down,
//! so that several processes cannot spend the same dollar.

use rusqlite::{Row, Transaction, named_params, params};

use super::error::{Result, StoreError};
use super::{Claim, NewCall, Store, calls};

/// Cents are compared; what floats add up to may be off by far less.
const TOLERANCE: f64 = 1e-9;

/// Every time zone is off by a multiple of this.
const QUARTER_HOUR: i64 = 15 * 60 * 1000;

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Milliseconds since 1970: what was sent from then on counts.
    pub since: i64,
    pub limit_usd: f64,
    /// What the whole task may cost at the most, so far and yet to come.
    pub reserve_usd: f64,
}

/// What some calls came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    pub calls: u64,
    /// Of these, how many may have cost something that is not known: the model's
    /// price is not, or what became of the call.
    pub unpriced: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub searches: u64,
    pub pages: u64,
    pub cost_usd: f64,
}

impl Spent {
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.unpriced += other.unpriced;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.searches += other.searches;
        self.pages += other.pages;
        self.cost_usd += other.cost_usd;
    }

    /// From the columns of `sums!`.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |column: &str| {
            row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or_default())
        };
        Ok(Self {
            calls: count("calls")?,
            unpriced: count("unpriced")?,
            input_tokens: count("input_tokens")?,
            output_tokens: count("output_tokens")?,
            searches: count("searches")?,
            pages: count("pages")?,
            cost_usd: row.get("cost_usd")?,
        })
    }
}

/// What is summed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerBy {
    /// A quarter of an hour, from which the days of any time zone can be made: the
    /// key is its beginning in milliseconds since 1970. Oldest first.
    Time,
    /// A plugin, by name; the dearest first.
    Backend,
    /// A task, by id; the newest first.
    Task,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow {
    pub key: String,
    /// The tool and the question of a task.
    pub task: Option<(String, String)>,
    /// When the first and the last of the calls was sent.
    pub first_at: i64,
    pub last_at: i64,
    pub spent: Spent,
}

/// The sums over calls. What a backend counted is JSON, and may be anything: a total
/// is a float, which cannot overflow.
macro_rules! sums {
    () => {
        "count(*) AS calls,
         count(*) FILTER (WHERE cost_usd IS NULL AND state <> 'failed' AND NOT (
             -- What a long job costs is told at its end.
             function = 'start' AND state = 'answered'
             AND coalesce(usage ->> 'input_tokens', 0) = 0)) AS unpriced,
         CAST(total(usage ->> 'input_tokens') AS INTEGER) AS input_tokens,
         CAST(total(usage ->> 'output_tokens') AS INTEGER) AS output_tokens,
         CAST(total(usage ->> 'searches') AS INTEGER) AS searches,
         CAST(total(usage ->> 'pages') AS INTEGER) AS pages,
         coalesce(sum(cost_usd), 0.0) AS cost_usd"
    };
}

macro_rules! select_ledger {
    ($key:literal, $tool:literal, $text:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $key,
            " AS key, ",
            $tool,
            " AS tool, ",
            $text,
            " AS text, min(sent_at) AS first_at, max(sent_at) AS last_at, ",
            sums!(),
            " FROM calls ",
            $rest
        )
    };
}

pub(super) use sums;

impl Store {
    /// As [`Store::begin_call`], within a budget: refused, and not written down,
    /// where what was spent since then, what running tasks may still spend and what
    /// this one may still spend is more than the limit. Otherwise as much is held
    /// for this task until it ends.
    pub async fn begin_paid_call(
        &self,
        claim: &Claim,
        call: NewCall,
        budget: Option<Budget>,
    ) -> Result<u32> {
        let claim = claim.clone();
        self.write(move |transaction| {
            let number = calls::begin(transaction, &claim, &call)?;
            if let Some(budget) = budget {
                // An error takes the call back with it.
                hold(transaction, &claim, budget)?;
            }
            Ok(number)
        })
        .await
    }

    /// What was spent on what was sent since then, and what running tasks may still
    /// spend, in US dollars.
    pub async fn spent_since(&self, since: i64) -> Result<(f64, f64)> {
        self.read(move |reading| {
            let spent = spent_since(reading.connection, since)?;
            Ok((spent, reserved(reading.connection, since, "")?))
        })
        .await
    }

    /// What calls sent since then came to.
    pub async fn ledger(&self, by: LedgerBy, since: i64) -> Result<Vec<LedgerRow>> {
        self.read(move |reading| {
            let mut statement = reading.connection.prepare_cached(match by {
                LedgerBy::Time => select_ledger!(
                    "CAST(sent_at / :quarter * :quarter AS TEXT)",
                    "NULL",
                    "NULL",
                    "WHERE sent_at >= :since GROUP BY sent_at / :quarter ORDER BY sent_at"
                ),
                LedgerBy::Backend => select_ledger!(
                    "plugin",
                    "NULL",
                    "NULL",
                    "WHERE sent_at >= :since AND :quarter > 0
                     GROUP BY plugin ORDER BY sum(cost_usd) DESC, count(*) DESC, plugin"
                ),
                LedgerBy::Task => select_ledger!(
                    "task_id",
                    "tool",
                    "text",
                    "JOIN tasks ON tasks.id = task_id WHERE sent_at >= :since AND :quarter > 0
                     GROUP BY task_id ORDER BY max(sent_at) DESC, task_id"
                ),
            })?;
            let rows = statement
                .query_map(named_params! { ":since": since, ":quarter": QUARTER_HOUR }, |row| {
                    let tool: Option<String> = row.get("tool")?;
                    let text: Option<String> = row.get("text")?;
                    Ok(LedgerRow {
                        key: row.get("key")?,
                        task: tool.zip(text),
                        first_at: row.get("first_at")?,
                        last_at: row.get("last_at")?,
                        spent: Spent::from_row(row)?,
                    })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(rows)
        })
        .await
    }

    /// What all calls of one task came to.
    pub async fn spent_by_task(&self, task: &str) -> Result<Spent> {
        let task = task.to_owned();
        self.read(move |reading| {
            let spent = reading
                .connection
                .prepare_cached(concat!("SELECT ", sums!(), " FROM calls WHERE task_id = ?1"))?
                .query_row([task], Spent::from_row)?;
            Ok(spent)
        })
        .await
    }
}

fn hold(transaction: &Transaction<'_>, claim: &Claim, budget: Budget) -> Result<()> {
    let spent = spent_since(transaction, budget.since)?;
    let reserved = reserved(transaction, budget.since, &claim.id)?;
    let own: f64 = transaction
        .prepare_cached("SELECT coalesce(sum(cost_usd), 0.0) FROM calls WHERE task_id = ?1")?
        .query_row([&claim.id], |row| row.get(0))?;
    let limit = budget.limit_usd;
    let wanted = (budget.reserve_usd - own).max(0.0);
    let sum = spent + reserved + wanted;
    // What may cost an unknown sum needs at least something that is left.
    let nothing_left = wanted <= 0.0 && spent + reserved >= limit;
    // Written so that a budget that is no number holds nothing open.
    let within = sum <= limit + TOLERANCE;
    if !within || nothing_left {
        return Err(StoreError::OverBudget { limit, spent, reserved, wanted });
    }
    transaction
        .prepare_cached("UPDATE tasks SET reserved_usd = ?2 WHERE id = ?1")?
        .execute(params![claim.id, budget.reserve_usd])?;
    Ok(())
}

fn spent_since(connection: &rusqlite::Connection, since: i64) -> Result<f64> {
    let spent = connection
        .prepare_cached("SELECT coalesce(sum(cost_usd), 0.0) FROM calls WHERE sent_at >= ?1")?
        .query_row([since], |row| row.get(0))?;
    Ok(spent)
}

/// What tasks that run, but for one, may still spend. A task that was left
/// unfinished, and that nobody takes up by himself, holds nothing beyond its day.
fn reserved(connection: &rusqlite::Connection, since: i64, but: &str) -> Result<f64> {
    let reserved = connection
        .prepare_cached(
            "SELECT coalesce(sum(max(0.0, reserved_usd - (
                 SELECT coalesce(sum(cost_usd), 0.0) FROM calls WHERE task_id = tasks.id))), 0.0)
             FROM tasks
             WHERE status IN ('running', 'needs_attention') AND reserved_usd IS NOT NULL
               AND id <> ?2
               AND (background = 1 OR status = 'needs_attention' OR updated_at >= ?1)",
        )?
        .query_row(params![since, but], |row| row.get(0))?;
    Ok(reserved)
}
