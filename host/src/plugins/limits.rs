//! What one call may use, and how passing a limit is told apart from every other
//! way a call can end. The figures themselves are in the configuration.

use std::time::Duration;

use wasmtime::ResourceLimiter;

use super::LimitKind;
use crate::config::Limits;

/// How often running plugins are looked at. Compute time is counted in these.
pub const TICK: Duration = Duration::from_millis(10);

/// The largest component that is compiled at all.
pub const COMPONENT_BYTES: u64 = 64 << 20;

/// What a plugin may print before it counts as runaway; a panic's text is in it.
pub const PRINTED_BYTES: usize = 64 << 10;

/// Native stack for a plugin's own frames, and for those plus the host's.
pub const WASM_STACK_BYTES: usize = 1 << 20;
pub const STACK_BYTES: usize = 2 << 20;

/// Raised inside a call; carried out of it as the error's root cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("passed the limit {0:?}")]
pub struct LimitPassed(pub LimitKind);

/// Instances, memories and tables that a component may be made of: several times
/// what compilers produce.
const PARTS: usize = 64;

/// What is left to one call.
pub struct Allowance {
    /// For all memories and tables together.
    memory_bytes: usize,
    host_calls: u64,
    ticks: u64,
}

impl Allowance {
    pub fn new(limits: &Limits) -> Self {
        Self {
            memory_bytes: limits.memory_bytes,
            host_calls: limits.host_calls,
            ticks: (limits.compute.as_millis() / TICK.as_millis()).max(1) as u64,
        }
    }

    /// Counts a call to the host.
    pub fn host_call(&mut self) -> wasmtime::Result<()> {
        match self.host_calls.checked_sub(1) {
            Some(left) => {
                self.host_calls = left;
                Ok(())
            }
            None => Err(LimitPassed(LimitKind::HostCalls).into()),
        }
    }

    /// Counts a tick that found the plugin computing.
    pub fn tick(&mut self) -> wasmtime::Result<()> {
        match self.ticks.checked_sub(1) {
            Some(left) => {
                self.ticks = left;
                Ok(())
            }
            None => Err(LimitPassed(LimitKind::Compute).into()),
        }
    }
}

impl Allowance {
    /// Takes what a memory or table grows by from what is left. An error rather
    /// than a refusal: a refused growth looks like a panic.
    fn grow(&mut self, current: usize, desired: usize) -> wasmtime::Result<bool> {
        match self.memory_bytes.checked_sub(desired.saturating_sub(current)) {
            Some(left) => {
                self.memory_bytes = left;
                Ok(true)
            }
            None => Err(LimitPassed(LimitKind::Memory).into()),
        }
    }
}

impl ResourceLimiter for Allowance {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.grow(current, desired)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let bytes = |elements: usize| elements.saturating_mul(size_of::<usize>());
        self.grow(bytes(current), bytes(desired))
    }

    fn instances(&self) -> usize {
        PARTS
    }

    fn memories(&self) -> usize {
        PARTS
    }

    fn tables(&self) -> usize {
        PARTS
    }
}

/// What the user reads when a call was ended by a limit.
pub fn describe(limit: LimitKind, limits: &Limits, timeout: Duration) -> String {
    match limit {
        LimitKind::Memory => {
            format!(
                "wanted more than {} of memory, its limit, and was ended",
                mebibytes(limits.memory_bytes)
            )
        }
        LimitKind::Compute => {
            format!("computed for more than {}, its limit, and was ended", seconds(limits.compute))
        }
        LimitKind::Timeout => {
            format!("took longer than {}, its limit, and was ended", seconds(timeout))
        }
        LimitKind::HostCalls => {
            format!(
                "made more than {} calls to the host, its limit, and was ended",
                limits.host_calls
            )
        }
        LimitKind::ValueSize => {
            format!(
                "passed a value of more than {}, its limit, and was ended",
                mebibytes(limits.value_bytes)
            )
        }
        LimitKind::Stack => "overflowed its stack (endless recursion?), and was ended".to_owned(),
        LimitKind::Printed => {
            format!("printed more than {} KiB, the limit, and was ended", PRINTED_BYTES >> 10)
        }
    }
}

fn mebibytes(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { memory_bytes: 1 << 20, compute: TICK * 3, host_calls: 2, ..Limits::default() }
    }

    #[test]
    fn memory_may_grow_to_the_limit_and_no_further() {
        let mut allowance = Allowance::new(&limits());
        assert!(allowance.memory_growing(0, 1 << 20, None).unwrap());
        let error = allowance.memory_growing(1 << 20, (1 << 20) + 65536, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitPassed(LimitKind::Memory)));
    }

    #[test]
    fn several_memories_share_one_limit() {
        let mut allowance = Allowance::new(&limits());
        assert!(allowance.memory_growing(0, 640 << 10, None).unwrap());
        let error = allowance.memory_growing(0, 640 << 10, None).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitPassed(LimitKind::Memory)));
    }

    #[test]
    fn tables_count_as_memory() {
        let mut allowance = Allowance::new(&limits());
        assert!(allowance.table_growing(0, 1000, None).unwrap());
        assert!(allowance.table_growing(0, 1 << 20, None).is_err());
    }

    #[test]
    fn host_calls_and_ticks_run_out() {
        let mut allowance = Allowance::new(&limits());
        assert!(allowance.host_call().is_ok() && allowance.host_call().is_ok());
        let error = allowance.host_call().unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitPassed(LimitKind::HostCalls)));
        for _ in 0..3 {
            allowance.tick().unwrap();
        }
        let error = allowance.tick().unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LimitPassed(LimitKind::Compute)));
    }

    #[test]
    fn messages_name_the_figure() {
        let limits = Limits::default();
        let timeout = Duration::from_mins(1);
        assert!(describe(LimitKind::Memory, &limits, timeout).contains("64 MiB"));
        assert!(describe(LimitKind::Compute, &limits, timeout).contains("5 s"));
        assert!(describe(LimitKind::Timeout, &limits, timeout).contains("60 s"));
        assert!(describe(LimitKind::HostCalls, &limits, timeout).contains("100000 calls"));
        assert!(describe(LimitKind::ValueSize, &limits, timeout).contains("16 MiB"));
    }
}
