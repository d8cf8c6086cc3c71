//! One engine for all plugins, compiled code kept on disk, and the clock that
//! ends runaway calls. Made at first use: a server that is only asked for its
//! tools never pays for it.

use std::sync::{Arc, Condvar, Mutex};

use wasmtime::component::Component;
use wasmtime::{Config, Engine};

use super::cache::CompiledCode;
use super::limits::{STACK_BYTES, TICK, WASM_STACK_BYTES};

pub struct Runtime {
    engine: Engine,
    cache: CompiledCode,
    ticker: Arc<Ticker>,
}

impl Runtime {
    pub fn new(cache: CompiledCode) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .max_wasm_stack(WASM_STACK_BYTES)
            .async_stack_size(STACK_BYTES)
            // Messages come from a panic's text, not from addresses: leaving
            // the maps out makes the code on disk a third smaller.
            .generate_address_map(false)
            .native_unwind_info(false);
        let engine = Engine::new(&config)?;
        let ticker = Ticker::start(engine.clone());
        Ok(Self { engine, cache, ticker })
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Compiles a component, or takes what an earlier run compiled.
    pub fn compile(&self, digest: &str, bytes: &[u8]) -> wasmtime::Result<Component> {
        if let Some(component) = self.cache.load(&self.engine, digest) {
            return Ok(component);
        }
        let component = Component::from_binary(&self.engine, bytes)?;
        self.cache.save(&self.engine, digest, &component);
        Ok(component)
    }

    /// Keeps the clock ticking as long as the guard lives.
    pub fn running(&self) -> Running {
        Running::new(self.ticker.clone())
    }
}

/// Raises the engine's epoch every tick while calls run, and sleeps otherwise: an
/// idle server wakes for nothing.
struct Ticker {
    calls: Mutex<Calls>,
    changed: Condvar,
}

struct Calls {
    running: usize,
    stopped: bool,
}

impl Ticker {
    fn start(engine: Engine) -> Arc<Self> {
        let ticker = Arc::new(Self {
            calls: Mutex::new(Calls { running: 0, stopped: false }),
            changed: Condvar::new(),
        });
        let thread = ticker.clone();
        std::thread::Builder::new()
            .name("plugin-clock".to_owned())
            .spawn(move || thread.run(&engine))
            .expect("a thread can be started");
        ticker
    }

    fn run(&self, engine: &Engine) {
        loop {
            {
                let calls = self.calls.lock().expect("no holder panics");
                let calls = self
                    .changed
                    .wait_while(calls, |calls| calls.running == 0 && !calls.stopped)
                    .expect("no holder panics");
                if calls.stopped {
                    return;
                }
            }
            std::thread::sleep(TICK);
            engine.increment_epoch();
        }
    }

    fn change(&self, change: impl FnOnce(&mut Calls)) {
        change(&mut self.calls.lock().expect("no holder panics"));
        self.changed.notify_one();
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.ticker.change(|calls| calls.stopped = true);
    }
}

/// A call in progress.
pub struct Running(Arc<Ticker>);

impl Running {
    fn new(ticker: Arc<Ticker>) -> Self {
        ticker.change(|calls| calls.running += 1);
        Self(ticker)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.change(|calls| calls.running -= 1);
    }
}
