//! All limits of a plugin in one table: what they are called in the file, how far
//! they go, and which field they mean.

use std::time::Duration;

use super::raw::Numbers;
use super::resolved::Limits;

/// A number of the record `T`.
pub struct Limit<T: 'static> {
    pub name: &'static str,
    pub minimum: f64,
    pub maximum: f64,
    /// Whether 0.5 makes sense.
    pub fractions: bool,
    pub set: fn(&mut T, f64),
    /// Infinite where there is no limit.
    pub get: fn(&T) -> f64,
}

const MEGABYTE: f64 = 1_048_576.0;
pub const DAY: f64 = 86_400.0;

pub const LIMITS: &[Limit<Limits>] = &[
    Limit {
        name: "memory_mb",
        minimum: 1.0,
        // All that 32 bits can address.
        maximum: 4096.0,
        fractions: false,
        set: |limits, value| limits.memory_bytes = (value * MEGABYTE) as usize,
        get: |limits| limits.memory_bytes as f64 / MEGABYTE,
    },
    Limit {
        name: "compute_seconds",
        minimum: 0.001,
        maximum: DAY,
        fractions: true,
        set: |limits, value| limits.compute = Duration::from_secs_f64(value),
        get: |limits| limits.compute.as_secs_f64(),
    },
    Limit {
        name: "timeout_seconds",
        minimum: 0.001,
        maximum: DAY,
        fractions: true,
        set: |limits, value| limits.timeout = Duration::from_secs_f64(value),
        get: |limits| limits.timeout.as_secs_f64(),
    },
    Limit {
        name: "prepare_seconds",
        minimum: 0.001,
        maximum: DAY,
        fractions: true,
        set: |limits, value| limits.prepare_timeout = Duration::from_secs_f64(value),
        get: |limits| limits.prepare_timeout.as_secs_f64(),
    },
    Limit {
        name: "host_calls",
        minimum: 1.0,
        maximum: 1e12,
        fractions: false,
        set: |limits, value| limits.host_calls = value as u64,
        get: |limits| limits.host_calls as f64,
    },
    Limit {
        name: "value_mb",
        minimum: 1.0,
        maximum: 1024.0,
        fractions: false,
        set: |limits, value| limits.value_bytes = (value * MEGABYTE) as usize,
        get: |limits| limits.value_bytes as f64 / MEGABYTE,
    },
    Limit {
        name: "concurrency",
        minimum: 1.0,
        maximum: 1024.0,
        fractions: false,
        set: |limits, value| limits.concurrency = value as usize,
        get: |limits| limits.concurrency as f64,
    },
];

pub fn find<T>(table: &'static [Limit<T>], name: &str) -> Option<&'static Limit<T>> {
    table.iter().find(|limit| limit.name == name)
}

/// The record that the numbers of all files make; what is not given has its
/// default.
pub fn resolve<T: Default>(table: &'static [Limit<T>], numbers: &Numbers) -> T {
    let mut record = T::default();
    for limit in table {
        if let Some(number) = numbers.get(limit.name) {
            (limit.set)(&mut record, number.value);
        }
    }
    record
}

impl<T: Default> Limit<T> {
    /// "a whole number from 1 to 4096"
    pub fn range(&self) -> String {
        let kind = if self.fractions { "a number" } else { "a whole number" };
        let unlimited = if (self.get)(&T::default()).is_infinite() {
            ", or leave it out for no limit"
        } else {
            ""
        };
        format!("{kind} from {} to {}{unlimited}", self.minimum, self.maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_reads_back_what_it_set() {
        for limit in LIMITS {
            let mut limits = Limits::default();
            for value in [limit.minimum, limit.maximum] {
                (limit.set)(&mut limits, value);
                assert!(((limit.get)(&limits) - value).abs() < 1e-9, "{}", limit.name);
            }
        }
    }

    #[test]
    fn the_defaults_are_within_the_table() {
        let limits = Limits::default();
        for limit in LIMITS {
            let value = (limit.get)(&limits);
            assert!((limit.minimum..=limit.maximum).contains(&value), "{}", limit.name);
        }
    }
}
