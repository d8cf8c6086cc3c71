//! The numbers of `[budget]`, in one table like a plugin's limits: what may be
//! spent. None is set by default.

use super::limits::Limit;
use super::resolved::BudgetConfig;

pub const BUDGET: &[Limit<BudgetConfig>] = &[
    Limit {
        name: "usd_per_day",
        minimum: 0.0,
        maximum: MOST,
        fractions: true,
        set: |budget, value| budget.usd_per_day = Some(value),
        get: |budget| budget.usd_per_day.unwrap_or(f64::INFINITY),
    },
    Limit {
        name: "usd_per_task",
        minimum: 0.0,
        maximum: MOST,
        fractions: true,
        set: |budget, value| budget.usd_per_task = Some(value),
        get: |budget| budget.usd_per_task.unwrap_or(f64::INFINITY),
    },
];

const MOST: f64 = 1_000_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_reads_back_what_it_set_and_none_is_set_by_default() {
        for limit in BUDGET {
            let mut budget = BudgetConfig::default();
            assert!((limit.get)(&budget).is_infinite(), "{}", limit.name);
            assert_eq!(
                limit.range(),
                "a number from 0 to 1000000, or leave it out for no limit",
                "{}",
                limit.name
            );
            for value in [limit.minimum, 0.5, limit.maximum] {
                (limit.set)(&mut budget, value);
                assert!(((limit.get)(&budget) - value).abs() < 1e-9, "{}", limit.name);
            }
        }
    }
}
