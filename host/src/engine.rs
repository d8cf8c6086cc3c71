//! The desk that the binary works at.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use crate::cli::desk::{Checkup, ConfigListing, Desk, PluginSummary, Setup, TaskSummary};
use crate::plugins::contract::Passage;
use crate::tasks::{ErrorReport, Event, Outcome, TaskRequest, TaskStatus};

/// Makes the desk for these flags; nothing is read or loaded yet.
pub fn open(setup: Setup) -> Arc<dyn Desk> {
    Arc::new(Engine { setup })
}

struct Engine {
    setup: Setup,
}

impl Engine {
    fn absent<T>(&self) -> Result<T, ErrorReport> {
        Err(ErrorReport {
            code: "UNAVAILABLE".to_owned(),
            message: format!(
                "this build has no engine ({} document directories given)",
                self.setup.documents.len()
            ),
            hint: None,
        })
    }
}

#[async_trait]
impl Desk for Engine {
    async fn run(
        &self,
        _: TaskRequest,
        _: UnboundedSender<Event>,
        _: CancellationToken,
    ) -> Result<Outcome, ErrorReport> {
        self.absent()
    }

    async fn search(
        &self,
        _: String,
        _: u32,
        _: UnboundedSender<Event>,
        _: CancellationToken,
    ) -> Result<Vec<Passage>, ErrorReport> {
        self.absent()
    }

    async fn history(
        &self,
        _: u32,
        _: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport> {
        self.absent()
    }

    async fn outcome(&self, _: &str) -> Result<Outcome, ErrorReport> {
        self.absent()
    }

    async fn plugins(&self) -> Result<Vec<PluginSummary>, ErrorReport> {
        self.absent()
    }

    async fn config(&self) -> Result<ConfigListing, ErrorReport> {
        self.absent()
    }

    async fn checkup(&self) -> Checkup {
        Checkup {
            configuration: Ok(Vec::new()),
            plugins: Vec::new(),
            directories: Vec::new(),
            documents: Vec::new(),
        }
    }

    async fn serve(&self, _: CancellationToken) -> Result<(), ErrorReport> {
        self.absent()
    }
}
