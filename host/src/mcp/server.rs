//! The server's side of the protocol: which tools there are, and calling them.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::arguments::{self, Asked};
use super::log::{Logged, Logger};
use super::progress::{self, Telling};
use super::{result, tools};
use crate::config::Config;
use crate::tasks::{ErrorReport, Event, Outcome, Subject, TaskRequest, TaskStatus, Tasks};

pub struct Server {
    tasks: Arc<Tasks>,
    logged: Arc<Logged>,
}

impl Server {
    pub fn new(tasks: Arc<Tasks>) -> Self {
        Self { tasks, logged: Arc::default() }
    }

    fn config(&self) -> &Config {
        self.tasks.plugins().config()
    }

    async fn call(&self, asked: Asked, context: RequestContext<RoleServer>) -> CallToolResult {
        match self.run(asked, context).await {
            Ok(outcome) => result::of_outcome(&outcome),
            Err(error) => result::of_error(&error),
        }
    }

    async fn run(
        &self,
        asked: Asked,
        context: RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorReport> {
        let Asked { mut request, same_question } = asked;
        request.max_wait = request.max_wait.or(self.config().research.max_wait);
        let logger = self.logger(&mut request, same_question.as_deref()).await?;
        let telling = Arc::new(Telling::new(&request.tool));
        let (told, logs) = (telling.clone(), logger.clone());
        let events = Arc::new(move |event: Event| {
            if let Some(logger) = &logs {
                logger.hear(&event);
            }
            told.hear(&event);
        });
        let running = async {
            let outcome = self.tasks.run(request, events, context.ct.clone()).await;
            telling.end();
            outcome
        };
        let token = context.meta.get_progress_token();
        let reporting = progress::report(context.peer.clone(), token, &telling);
        let (outcome, ()) = tokio::join!(running, reporting);
        if let Ok(outcome) = &outcome
            && outcome.status == TaskStatus::Running
            && let Some(logger) = logger
        {
            self.follow(&outcome.id, logger);
        }
        outcome
    }

    /// Who logs the task that is asked for, if this call is to. A task that is
    /// named is found first, so that a wrong name or question costs nothing.
    async fn logger(
        &self,
        request: &mut TaskRequest,
        same_question: Option<&str>,
    ) -> Result<Option<Arc<Logger>>, ErrorReport> {
        let Subject::Task { id, .. } = &mut request.subject else {
            let is_logged = request.tool == tools::DEEP_SEARCH;
            return Ok(is_logged.then(|| Arc::new(Logger::of_new(&self.logged))));
        };
        let task = self.tasks.outcome(id).await?;
        if let Some(given) = same_question {
            arguments::check_same_question(&task.question.text, given)?;
        }
        *id = task.id;
        Ok(Logger::of_task(&self.logged, id).map(Arc::new))
    }

    /// Goes on logging a task that nobody waits for any more.
    fn follow(&self, id: &str, logger: Arc<Logger>) {
        let request = TaskRequest {
            tool: tools::DEEP_SEARCH.to_owned(),
            subject: Subject::Task { id: id.to_owned(), max_rounds: None },
            max_wait: None,
        };
        let tasks = self.tasks.clone();
        tokio::spawn(async move {
            let events = Arc::new(move |event: Event| logger.hear(&event));
            let followed = tasks.run(request, events, CancellationToken::new()).await;
            if let Err(error) = followed {
                tracing::debug!("a task can no longer be followed: {}", error.message);
            }
        });
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("bathysphere", env!("CARGO_PKG_VERSION"))
                    .with_title("Bathysphere"),
            )
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all(self.config())))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::named(name, self.config())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let called = match arguments::of_call(&request.name, request.arguments) {
            Some(Ok(asked)) => self.call(asked, context).await,
            Some(Err(error)) => result::of_error(&error),
            None => {
                return Err(ErrorData::invalid_params(
                    format!(
                        "there is no tool `{}`; there are: {}",
                        request.name,
                        tools::NAMES.join(", ")
                    ),
                    None,
                ));
            }
        };
        Ok(called.into())
    }
}
