//! What was spent, from the ledger: by day, backend or task, and what forecasts
//! were worth. Reads the database, and nothing else.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::{ErrorReport, Tasks};
use crate::report::timestamp;
use crate::research::start_of_day;
use crate::store::{ForecastRecord, LedgerBy, LedgerRow, Spent};

/// What is summed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CostsBy {
    Day,
    Backend,
    Task,
}

/// What was spent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Costs {
    pub by: CostsBy,
    /// RFC 3339, UTC; absent for all that there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    pub rows: Vec<CostRow>,
    pub total: Amounts,
    pub today: Today,
    /// The day of the price list that new calls are priced by.
    pub prices_dated: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostRow {
    /// A day of the user's, such as `2026-11-15`, a plugin, or the id of a task.
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    #[serde(flatten)]
    pub amounts: Amounts,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Amounts {
    pub calls: u64,
    /// Calls that may have cost something that is not known.
    pub unpriced_calls: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub searches: u64,
    pub pages: u64,
    pub cost_usd: f64,
}

/// How the day's budget stands.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Today {
    pub spent_usd: f64,
    /// What tasks that run may still spend.
    pub reserved_usd: f64,
    /// `usd_per_day` of [budget].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_usd: Option<f64>,
}

/// What was expected of completed tasks, and what they took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimates {
    pub time: Held,
    pub cost: Held,
    /// The newest first.
    pub rows: Vec<EstimateRow>,
}

/// How many of these ranges held what was in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Held {
    pub held: u64,
    pub of: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EstimateRow {
    pub task_id: String,
    pub tool: String,
    pub question: String,
    pub complexity: String,
    /// How many past runs it rested on.
    pub runs: u32,
    /// RFC 3339, UTC.
    pub made_at: String,
    pub min_seconds: f64,
    pub max_seconds: f64,
    pub actual_seconds: f64,
    pub time_held: bool,
    pub min_usd: f64,
    pub max_usd: f64,
    /// Absent where no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_held: Option<bool>,
}

impl From<Spent> for Amounts {
    fn from(spent: Spent) -> Self {
        Self {
            calls: spent.calls,
            unpriced_calls: spent.unpriced,
            input_tokens: spent.input_tokens,
            output_tokens: spent.output_tokens,
            searches: spent.searches,
            pages: spent.pages,
            cost_usd: spent.cost_usd,
        }
    }
}

impl Tasks {
    /// What was spent since then, or ever.
    pub async fn costs(
        &self,
        by: CostsBy,
        since: Option<Timestamp>,
        zone: &TimeZone,
    ) -> Result<Costs, ErrorReport> {
        let start = since.map_or(i64::MIN, Timestamp::as_millisecond);
        let kept = match by {
            CostsBy::Day => LedgerBy::Time,
            CostsBy::Backend => LedgerBy::Backend,
            CostsBy::Task => LedgerBy::Task,
        };
        let rows = self.store.ledger(kept, start).await?;
        let mut total = Spent::default();
        for row in &rows {
            total.add(&row.spent);
        }
        let rows = match by {
            CostsBy::Day => by_day(&rows, zone),
            CostsBy::Backend | CostsBy::Task => rows.into_iter().map(row).collect(),
        };
        let (spent_usd, reserved_usd) =
            self.store.spent_since(start_of_day(&Timestamp::now().to_zoned(zone.clone()))).await?;
        Ok(Costs {
            by,
            since: since.map(|since| since.to_string()),
            rows,
            total: total.into(),
            today: Today {
                spent_usd,
                reserved_usd,
                limit_usd: self.plugins.config().budget.usd_per_day,
            },
            prices_dated: self.prices.date().to_owned(),
        })
    }

    /// What the newest forecasts of completed tasks were worth.
    pub async fn estimates(&self, limit: u32) -> Result<Estimates, ErrorReport> {
        Ok(held_against(self.store.forecasts(limit).await?))
    }
}

/// The newest first.
fn by_day(rows: &[LedgerRow], zone: &TimeZone) -> Vec<CostRow> {
    let mut days: BTreeMap<String, Spent> = BTreeMap::new();
    for row in rows {
        let time = Timestamp::from_millisecond(row.first_at).unwrap_or_default();
        let day = time.to_zoned(zone.clone()).date().to_string();
        days.entry(day).or_default().add(&row.spent);
    }
    days.into_iter()
        .rev()
        .map(|(key, spent)| CostRow { key, tool: None, question: None, amounts: spent.into() })
        .collect()
}

fn row(row: LedgerRow) -> CostRow {
    let (tool, question) = row.task.unzip();
    CostRow { key: row.key, tool, question, amounts: row.spent.into() }
}

fn held_against(records: Vec<ForecastRecord>) -> Estimates {
    let mut estimates =
        Estimates { time: Held::default(), cost: Held::default(), rows: Vec::new() };
    for record in records {
        let (seconds, cost) = (record.forecast.seconds, record.forecast.cost_usd);
        let time_held = (seconds.0..=seconds.1).contains(&record.actual_seconds);
        let cost_held = record.actual_cost_usd.map(|actual| (cost.0..=cost.1).contains(&actual));
        estimates.time.count(time_held);
        if let Some(held) = cost_held {
            estimates.cost.count(held);
        }
        estimates.rows.push(EstimateRow {
            task_id: record.task,
            tool: record.tool,
            question: record.text,
            complexity: record.forecast.complexity,
            runs: record.forecast.runs,
            made_at: timestamp(record.made_at),
            min_seconds: seconds.0,
            max_seconds: seconds.1,
            actual_seconds: record.actual_seconds,
            time_held,
            min_usd: cost.0,
            max_usd: cost.1,
            actual_usd: record.actual_cost_usd,
            cost_held,
        });
    }
    estimates
}

impl Held {
    fn count(&mut self, held: bool) {
        self.of += 1;
        self.held += u64::from(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewForecast;

    fn quarter(time: &str, cost_usd: f64) -> LedgerRow {
        let at = time.parse::<Timestamp>().unwrap().as_millisecond();
        LedgerRow {
            key: at.to_string(),
            task: None,
            first_at: at,
            last_at: at,
            spent: Spent { calls: 1, cost_usd, ..Spent::default() },
        }
    }

    #[test]
    fn a_day_is_the_users_own() {
        let rows = [
            quarter("2026-11-14T17:30:00Z", 1.0),
            quarter("2026-11-14T18:30:00Z", 2.0),
            quarter("2026-11-15T18:15:00Z", 4.0),
        ];
        let days = |zone: &TimeZone| -> Vec<(String, f64)> {
            by_day(&rows, zone).into_iter().map(|row| (row.key, row.amounts.cost_usd)).collect()
        };
        assert_eq!(
            days(&TimeZone::UTC),
            [("2026-11-15".to_owned(), 4.0), ("2026-11-14".to_owned(), 3.0)]
        );
        // India is five and a half hours ahead.
        let india = jiff::tz::Offset::from_seconds(5 * 3600 + 1800).unwrap().to_time_zone();
        assert_eq!(days(&india), [("2026-11-15".to_owned(), 6.0), ("2026-11-14".to_owned(), 1.0)]);
    }

    #[test]
    fn forecasts_are_counted_as_held_or_not() {
        let record = |actual_seconds, actual_cost_usd| ForecastRecord {
            task: "id".to_owned(),
            tool: "start_deep_research".to_owned(),
            text: "why?".to_owned(),
            forecast: NewForecast {
                complexity: "medium".to_owned(),
                seconds: (300.0, 600.0),
                cost_usd: (1.0, 3.0),
                runs: 4,
            },
            made_at: 0,
            actual_seconds,
            actual_cost_usd,
        };
        let estimates = held_against(vec![
            record(300.0, Some(3.0)),
            record(601.0, Some(0.5)),
            record(400.0, None),
        ]);
        assert_eq!(estimates.time, Held { held: 2, of: 3 });
        assert_eq!(estimates.cost, Held { held: 1, of: 2 });
        assert_eq!(estimates.rows[2].cost_held, None);
        assert!(!estimates.rows[1].time_held);
    }
}
