//! The numbers of `[research]`, in one table like a plugin's limits.

use std::time::Duration;

use super::limits::{DAY, Limit};
use super::resolved::ResearchConfig;

pub const MAX_ITERATIONS: &str = "max_iterations";
pub const CYCLES: &str = "cycles";

pub const RESEARCH: &[Limit<ResearchConfig>] = &[
    Limit {
        name: MAX_ITERATIONS,
        // One round to answer, and one to verify.
        minimum: 2.0,
        maximum: 50.0,
        fractions: false,
        set: |research, value| research.max_iterations = value as u32,
        get: |research| f64::from(research.max_iterations),
    },
    Limit {
        name: "max_wait_seconds",
        minimum: 1.0,
        maximum: DAY,
        fractions: true,
        set: |research, value| research.max_wait = Some(Duration::from_secs_f64(value)),
        get: |research| research.max_wait.map_or(f64::INFINITY, |wait| wait.as_secs_f64()),
    },
    Limit {
        name: CYCLES,
        minimum: 1.0,
        maximum: 10.0,
        fractions: false,
        set: |research, value| research.cycles = value as u32,
        get: |research| f64::from(research.cycles),
    },
    Limit {
        name: "poll_seconds",
        minimum: 0.01,
        maximum: 3600.0,
        fractions: true,
        set: |research, value| research.poll = Duration::from_secs_f64(value),
        get: |research| research.poll.as_secs_f64(),
    },
    Limit {
        name: "wait_seconds",
        minimum: 0.0,
        // A client that waits 30 s for an answer must not wait in vain.
        maximum: 29.0,
        fractions: true,
        set: |research, value| research.handoff = Duration::from_secs_f64(value),
        get: |research| research.handoff.as_secs_f64(),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_reads_back_what_it_set() {
        for limit in RESEARCH {
            let mut research = ResearchConfig::default();
            for value in [limit.minimum, limit.maximum] {
                (limit.set)(&mut research, value);
                assert!(((limit.get)(&research) - value).abs() < 1e-9, "{}", limit.name);
            }
        }
    }

    #[test]
    fn what_has_no_limit_says_how_to_have_none() {
        let ranges: Vec<String> = RESEARCH.iter().map(Limit::range).collect();
        assert_eq!(
            ranges,
            [
                "a whole number from 2 to 50",
                "a number from 1 to 86400, or leave it out for no limit",
                "a whole number from 1 to 10",
                "a number from 0.01 to 3600",
                "a number from 0 to 29"
            ]
        );
    }
}
