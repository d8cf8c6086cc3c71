//! What may be spent: on the day, by all tasks together, and on one task. The day's
//! budget is checked where a call is written down, before it is sent; a task's own
//! limit is the strategy's to keep between rounds, and is what is held against the
//! day as long as the task runs.

use jiff::Zoned;

use crate::config::BudgetConfig;
use crate::plugins::contract::Question;
use crate::store::Budget;

/// What one task may spend.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Allowance {
    pub usd_per_day: Option<f64>,
    /// What the task may cost at the most, where that is known.
    pub usd_per_task: Option<f64>,
}

impl Allowance {
    /// The asker may want less than the user allows, and never more.
    pub fn new(config: &BudgetConfig, question: &Question) -> Self {
        let asked = question.max_cost_usd.filter(|dollars| *dollars >= 0.0);
        let usd_per_task = match (asked, config.usd_per_task) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        };
        Self { usd_per_day: config.usd_per_day, usd_per_task }
    }

    /// As the store checks it, for a task that may have spent so much after its next
    /// call; none where nothing is limited.
    pub fn budget(&self, may_have_spent: f64) -> Option<Budget> {
        Some(Budget {
            since: start_of_today(),
            limit_usd: self.usd_per_day?,
            reserve_usd: self.usd_per_task.unwrap_or(0.0).max(may_have_spent),
        })
    }
}

/// When the user's day began, in milliseconds since 1970: from then on the day's
/// budget counts.
pub fn start_of_today() -> i64 {
    start_of_day(&Zoned::now())
}

pub fn start_of_day(now: &Zoned) -> i64 {
    now.start_of_day().map_or_else(|_| now.timestamp(), |start| start.timestamp()).as_millisecond()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::offset;

    use super::*;

    #[test]
    fn the_asker_may_want_less_and_never_more() {
        let config = BudgetConfig { usd_per_day: Some(10.0), usd_per_task: Some(2.0) };
        let allowed = |asked: Option<f64>, config: &BudgetConfig| {
            let question = Question { max_cost_usd: asked, ..Question::default() };
            Allowance::new(config, &question).usd_per_task
        };
        assert_eq!(allowed(None, &config), Some(2.0));
        assert_eq!(allowed(Some(1.0), &config), Some(1.0));
        assert_eq!(allowed(Some(5.0), &config), Some(2.0));
        assert_eq!(allowed(Some(-5.0), &config), Some(2.0));
        assert_eq!(allowed(Some(f64::NAN), &config), Some(2.0));
        let none = BudgetConfig::default();
        assert_eq!(allowed(Some(5.0), &none), Some(5.0));
        assert_eq!(allowed(None, &none), None);
    }

    #[test]
    fn without_a_days_budget_nothing_is_checked() {
        let task = Allowance { usd_per_day: None, usd_per_task: Some(1.0) };
        assert_eq!(task.budget(5.0), None);
        let day = Allowance { usd_per_day: Some(3.0), usd_per_task: None }.budget(0.5).unwrap();
        assert_eq!((day.limit_usd, day.reserve_usd), (3.0, 0.5));
        assert!(day.since <= Timestamp::now().as_millisecond());
    }

    #[test]
    fn the_day_begins_at_the_users_midnight() {
        let noon: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let start = start_of_day(&noon.to_zoned(offset(2).to_time_zone()));
        assert_eq!(Timestamp::from_millisecond(start).unwrap().to_string(), "2026-11-14T22:00:00Z");
    }
}
