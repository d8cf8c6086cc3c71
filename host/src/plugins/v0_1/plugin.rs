//! A plugin of contract 0.1: each call in a fresh instance, within its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Store, Trap};

use super::bindings::{
    agent, estimator, extractor, meta, pages, research, search, strategy, types,
};
use super::state::State;
use crate::config::Limits;
use crate::gates::Gates;
use crate::gates::secrets::Mask;
use crate::plugins::contract::{
    self as plain, Agent, Estimator, Extractor, Masked, Pages, ProgressSink, Research, Search,
    Strategy,
};
use crate::plugins::limits::{LimitPassed, describe};
use crate::plugins::runtime::{Running, Runtime};
use crate::plugins::{CallError, Kind, LimitKind};

pub struct Plugin {
    name: Arc<str>,
    kind: Kind,
    instance: InstancePre<State>,
    settings: String,
    limits: Limits,
    gates: Arc<Gates>,
    runtime: Arc<Runtime>,
    /// Calls at once.
    places: Semaphore,
    /// Calls that wait for a place.
    waiting: AtomicUsize,
}

/// One in the queue, until it is dropped.
struct Waiting<'a> {
    queue: &'a AtomicUsize,
    number: usize,
}

impl<'a> Waiting<'a> {
    fn join(queue: &'a AtomicUsize) -> Self {
        Self { queue, number: queue.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.queue.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One call under way: its store, and what must be held while it runs.
struct Call<'a> {
    plugin: &'a Plugin,
    store: Store<State>,
    timeout: Duration,
    _place: SemaphorePermit<'a>,
    _running: Running,
}

/// Runs one exported function in a fresh instance: instantiation, the call, the
/// time limit around both, and every way it can end.
macro_rules! call {
    ($plugin:ident, $timeout:expr, $progress:expr, $interface:ident . $accessor:ident . $function:ident ( $($argument:expr),* )) => {{
        let mut call = $plugin.begin($timeout, $progress).await;
        let outcome = tokio::time::timeout(call.timeout, async {
            let exports = $interface::OnlyPre::new($plugin.instance.clone())?;
            let instance = exports.instantiate_async(&mut call.store).await?;
            instance.$accessor().$function(&mut call.store, $($argument),*).await
        })
        .await;
        call.end(outcome)
    }};
}

impl Plugin {
    #[expect(clippy::too_many_arguments, reason = "each is one part of what a plugin is")]
    pub fn new(
        name: &str,
        kind: Kind,
        component: &Component,
        linker: &Linker<State>,
        settings: String,
        limits: Limits,
        gates: Arc<Gates>,
        runtime: Arc<Runtime>,
    ) -> wasmtime::Result<Self> {
        Ok(Self {
            name: name.into(),
            kind,
            instance: linker.instantiate_pre(component)?,
            settings,
            places: Semaphore::new(limits.concurrency),
            waiting: AtomicUsize::new(0),
            limits,
            gates,
            runtime,
        })
    }

    pub async fn describe(&self) -> Result<plain::Description, CallError> {
        let description = call!(
            self,
            self.limits.timeout,
            silent(),
            meta.bathysphere_plugin_meta.call_describe()
        )?;
        Ok(plain::Description::from(description).masked(self.mask()))
    }

    pub async fn validate(&self) -> Result<Vec<plain::Problem>, CallError> {
        let verdict = call!(
            self,
            self.limits.timeout,
            silent(),
            meta.bathysphere_plugin_meta.call_validate(&self.settings)
        )?;
        let problems = verdict.err().unwrap_or_default().into_iter();
        Ok(problems.map(plain::Problem::from).collect::<Vec<_>>().masked(self.mask()))
    }

    async fn begin(&self, timeout: Duration, progress: ProgressSink) -> Call<'_> {
        let place = self.place(&progress).await;
        let store = State::store(
            self.runtime.engine(),
            self.name.clone(),
            self.kind,
            &self.limits,
            self.gates.clone(),
            progress,
        );
        Call { plugin: self, store, timeout, _place: place, _running: self.runtime.running() }
    }

    /// A place among the calls that run at once. Whoever has to wait is told how
    /// many do.
    async fn place(&self, progress: &ProgressSink) -> SemaphorePermit<'_> {
        if let Ok(place) = self.places.try_acquire() {
            return place;
        }
        let waiting = Waiting::join(&self.waiting);
        progress(plain::Progress {
            message: format!(
                "queued: {} runs {} at once, {} wait",
                self.name, self.limits.concurrency, waiting.number
            ),
            done: 0,
            total: None,
        });
        self.places.acquire().await.expect("the semaphore is never closed")
    }

    /// What the plugin was given to use and must not tell.
    pub fn mask(&self) -> &Mask {
        &self.gates.mask
    }

    /// What the plugin says, without what it must not tell: a gate hides a secret in
    /// what it hands over, and the plugin may have put it together from pieces.
    fn told<Reply, Plain: From<Reply> + Masked>(
        &self,
        reply: Result<Reply, types::Error>,
    ) -> Result<Plain, CallError> {
        match reply {
            Ok(reply) => Ok(Plain::from(reply).masked(self.mask())),
            Err(error) => Err(CallError::Failed {
                plugin: self.name.to_string(),
                error: plain::PluginError::from(error).masked(self.mask()),
            }),
        }
    }
}

impl Call<'_> {
    fn end<T>(
        self,
        outcome: Result<wasmtime::Result<T>, tokio::time::error::Elapsed>,
    ) -> Result<T, CallError> {
        let printed = self.store.data().printed();
        match outcome {
            Ok(Ok(value)) => {
                for line in printed.lines() {
                    tracing::debug!("{} printed: {line}", self.plugin.name);
                }
                Ok(value)
            }
            Ok(Err(error)) => Err(self.explain(&error, &printed)),
            Err(_) => Err(self.limit(LimitKind::Timeout)),
        }
    }

    /// Why the sandbox ended the call, in words.
    fn explain(&self, error: &wasmtime::Error, printed: &str) -> CallError {
        if let Some(LimitPassed(limit)) = error.root_cause().downcast_ref() {
            return self.limit(*limit);
        }
        let cause = error.root_cause().to_string();
        if cause.contains("allocated for hostcalls") {
            return self.limit(LimitKind::ValueSize);
        }
        if cause.contains("write beyond capacity") {
            return self.limit(LimitKind::Printed);
        }
        let message = match error.downcast_ref::<Trap>() {
            Some(Trap::StackOverflow) => return self.limit(LimitKind::Stack),
            Some(Trap::Interrupt) => return self.limit(LimitKind::Compute),
            // A panic's text is on the plugin's standard error.
            Some(Trap::UnreachableCodeReached) if !printed.trim().is_empty() => panic_text(printed),
            Some(trap) => trap.to_string(),
            None => self.plugin.mask().text(&cause).into_owned(),
        };
        CallError::Crashed { plugin: self.plugin.name.to_string(), message }
    }

    fn limit(&self, limit: LimitKind) -> CallError {
        CallError::Limit {
            plugin: self.plugin.name.to_string(),
            limit,
            message: describe(limit, &self.plugin.limits, self.timeout),
        }
    }
}

/// The panic itself, out of what was printed: without thread name and note.
fn panic_text(printed: &str) -> String {
    let text = match printed.find("panicked at") {
        Some(start) => &printed[start..],
        None => printed,
    };
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("note: run with"))
        .collect();
    lines.join(" ").chars().take(500).collect()
}

/// For calls that have nothing to tell.
fn silent() -> ProgressSink {
    Arc::new(|_| {})
}

#[async_trait]
impl Strategy for Plugin {
    async fn make_plan(&self, question: &plain::Question) -> Result<plain::Plan, CallError> {
        let question = question.clone().into();
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            strategy.bathysphere_plugin_strategy.call_make_plan(&self.settings, &question)
        )?;
        self.told(reply)
    }

    async fn next_step(&self, situation: &plain::Situation) -> Result<plain::Decision, CallError> {
        let situation = situation.clone().into();
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            strategy.bathysphere_plugin_strategy.call_next_step(&self.settings, &situation)
        )?;
        self.told(reply)
    }
}

#[async_trait]
impl Extractor for Plugin {
    async fn extract(&self, text: &str, schema: &str) -> Result<plain::Extraction, CallError> {
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            extractor.bathysphere_plugin_extractor.call_extract(&self.settings, text, schema)
        )?;
        self.told(reply)
    }
}

#[async_trait]
impl Estimator for Plugin {
    async fn estimate(
        &self,
        question: &plain::Question,
        plan: &plain::Plan,
        history: &[plain::PastRun],
    ) -> Result<plain::Forecast, CallError> {
        let question = question.clone().into();
        let plan = plan.clone().into();
        let history: Vec<estimator::PastRun> = history.iter().cloned().map(Into::into).collect();
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            estimator.bathysphere_plugin_estimator.call_estimate(
                &self.settings,
                &question,
                &plan,
                &history
            )
        )?;
        self.told(reply)
    }
}

#[async_trait]
impl Agent for Plugin {
    async fn answer(
        &self,
        request: &plain::AgentRequest,
        progress: ProgressSink,
    ) -> Result<plain::AgentReply, CallError> {
        let request = request.clone().into();
        let reply = call!(
            self,
            self.limits.timeout,
            progress,
            agent.bathysphere_plugin_agent.call_answer(&self.settings, &request)
        )?;
        self.told(reply)
    }
}

#[async_trait]
impl Search for Plugin {
    async fn prepare(&self, progress: ProgressSink) -> Result<plain::Preparation, CallError> {
        let reply = call!(
            self,
            self.limits.prepare_timeout,
            progress,
            search.bathysphere_plugin_search.call_prepare(&self.settings)
        )?;
        self.told(reply)
    }

    async fn search(
        &self,
        query: &plain::SearchQuery,
        progress: ProgressSink,
    ) -> Result<plain::SearchResults, CallError> {
        let query = query.clone().into();
        let reply = call!(
            self,
            self.limits.timeout,
            progress,
            search.bathysphere_plugin_search.call_search(&self.settings, &query)
        )?;
        self.told(reply)
    }
}

#[async_trait]
impl Pages for Plugin {
    async fn fetch(
        &self,
        request: &plain::PageRequest,
        progress: ProgressSink,
    ) -> Result<plain::Page, CallError> {
        let request = request.clone().into();
        let reply = call!(
            self,
            self.limits.timeout,
            progress,
            pages.bathysphere_plugin_pages.call_fetch(&self.settings, &request)
        )?;
        self.told(reply)
    }
}

#[async_trait]
impl Research for Plugin {
    async fn start(&self, request: &plain::ResearchRequest) -> Result<plain::Job, CallError> {
        let request = request.clone().into();
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            research.bathysphere_plugin_research.call_start(&self.settings, &request)
        )?;
        self.told(reply)
    }

    async fn poll(&self, id: &str) -> Result<plain::Job, CallError> {
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            research.bathysphere_plugin_research.call_poll(&self.settings, id)
        )?;
        self.told(reply)
    }

    async fn cancel(&self, id: &str) -> Result<plain::Job, CallError> {
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            research.bathysphere_plugin_research.call_cancel(&self.settings, id)
        )?;
        self.told(reply)
    }

    async fn delete(&self, id: &str) -> Result<(), CallError> {
        let reply = call!(
            self,
            self.limits.timeout,
            silent(),
            research.bathysphere_plugin_research.call_delete(&self.settings, id)
        )?;
        self.told(reply)
    }
}
