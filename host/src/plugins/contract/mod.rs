//! What the rest of the host knows of a plugin: plain traits over plain types.
//! Each version of the WIT contract is an implementation of these.

mod mask;
mod types;

use std::sync::Arc;

use async_trait::async_trait;

pub use mask::Masked;
pub use types::*;

use super::CallError;

/// What a plugin reports while a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub message: String,
    pub done: u64,
    pub total: Option<u64>,
}

/// Where a call's progress goes.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

#[async_trait]
pub trait Strategy: Send + Sync {
    async fn make_plan(&self, question: &Question) -> Result<Plan, CallError>;
    async fn next_step(&self, situation: &Situation) -> Result<Decision, CallError>;
}

#[async_trait]
pub trait Extractor: Send + Sync {
    async fn extract(&self, text: &str, schema: &str) -> Result<Extraction, CallError>;
}

#[async_trait]
pub trait Estimator: Send + Sync {
    async fn estimate(
        &self,
        question: &Question,
        plan: &Plan,
        history: &[PastRun],
    ) -> Result<Forecast, CallError>;
}

#[async_trait]
pub trait Agent: Send + Sync {
    async fn answer(
        &self,
        request: &AgentRequest,
        progress: ProgressSink,
    ) -> Result<AgentReply, CallError>;
}

#[async_trait]
pub trait Search: Send + Sync {
    async fn prepare(&self, progress: ProgressSink) -> Result<Preparation, CallError>;
    async fn search(
        &self,
        query: &SearchQuery,
        progress: ProgressSink,
    ) -> Result<SearchResults, CallError>;
}

#[async_trait]
pub trait Pages: Send + Sync {
    async fn fetch(&self, request: &PageRequest, progress: ProgressSink)
    -> Result<Page, CallError>;
}

#[async_trait]
pub trait Research: Send + Sync {
    async fn start(&self, request: &ResearchRequest) -> Result<Job, CallError>;
    async fn poll(&self, id: &str) -> Result<Job, CallError>;
    async fn cancel(&self, id: &str) -> Result<Job, CallError>;
    async fn delete(&self, id: &str) -> Result<(), CallError>;
}
