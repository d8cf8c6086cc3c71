//! What the host keeps for one call of a plugin: its allowance, its gates, where
//! its progress goes, and a WASI context that reaches nothing.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{Linker, ResourceTable};
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxView, WasiView};

use super::bindings::host;
use crate::config::Limits;
use crate::gates::Gates;
use crate::gates::documents::DocumentsGate;
use crate::plugins::Kind;
use crate::plugins::contract::{Masked as _, ProgressSink};
use crate::plugins::limits::{Allowance, PRINTED_BYTES};

/// Handles a call may hold at once: streams and running programs.
const RESOURCES: usize = 256;

pub struct State {
    pub plugin: Arc<str>,
    pub allowance: Allowance,
    pub gates: Arc<Gates>,
    /// The documents gate for this call alone: a pass over a root ends with it.
    pub documents: DocumentsGate,
    pub progress: ProgressSink,
    pub table: ResourceTable,
    wasi: WasiCtx,
    printed: MemoryOutputPipe,
}

impl State {
    /// A store for one call, with every limit in place.
    pub fn store(
        engine: &Engine,
        plugin: Arc<str>,
        kind: Kind,
        limits: &Limits,
        gates: Arc<Gates>,
        progress: ProgressSink,
    ) -> Store<Self> {
        let printed = MemoryOutputPipe::new(PRINTED_BYTES);
        let mut wasi = WasiCtx::builder();
        wasi.stdout(printed.clone()).stderr(printed.clone());
        if kind.is_pure() {
            // The same question gives the same answer: no time, no chance.
            wasi.wall_clock(Frozen)
                .monotonic_clock(Frozen)
                .secure_random(Deterministic::new(SEED.to_vec()))
                .insecure_random(Deterministic::new(SEED.to_vec()))
                .insecure_random_seed(0);
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES);
        let state = Self {
            plugin,
            allowance: Allowance::new(limits),
            documents: gates.documents.session(),
            gates,
            progress,
            table,
            wasi: wasi.build(),
            printed,
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.allowance);
        store.set_hostcall_fuel(limits.value_bytes);
        // Every tick that finds the plugin computing is counted, and lets other
        // work run; ticks that pass while it waits for the host are not.
        store.epoch_deadline_callback(|mut context| {
            context.data_mut().allowance.tick()?;
            Ok(UpdateDeadline::Yield(1))
        });
        store.set_epoch_deadline(1);
        store
    }

    /// What the plugin wrote to its standard output and error, without what it must
    /// not tell.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed.contents()).into_owned().masked(&self.gates.mask)
    }
}

const SEED: [u8; 16] = *b"the same answers";

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A clock that stands still.
struct Frozen;

impl HostWallClock for Frozen {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for Frozen {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

/// Everything a plugin may be linked to; which of it a plugin gets was decided
/// when its imports were checked. WASI's files and sockets are linked to a
/// context that has none.
pub fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    host::Host_::add_to_linker::<_, wasmtime::component::HasSelf<State>>(&mut linker, |state| {
        state
    })?;
    Ok(linker)
}
