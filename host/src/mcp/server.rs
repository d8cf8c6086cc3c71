//! The server's side of the protocol: which tools there are, and calling them.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use super::arguments::{self, Asked};
use super::background::{self, StartDeepResearch};
use super::progress::{self, Telling};
use super::{result, tools};
use crate::config::Config;
use crate::tasks::{ErrorReport, Event, Outcome, Subject, TaskRequest, Tasks};

pub struct Server {
    tasks: Arc<Tasks>,
}

impl Server {
    pub fn new(tasks: Arc<Tasks>) -> Self {
        Self { tasks }
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
        self.check_question(&request, same_question.as_deref()).await?;
        self.attend(request, context).await
    }

    /// Starts research that goes on by itself, and waits a little.
    async fn start(
        &self,
        arguments: Option<JsonObject>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let handoff = self.config().research.handoff;
        let outcome = match StartDeepResearch::request(arguments, handoff) {
            Ok(request) => self.attend(request, context).await,
            Err(error) => Err(error),
        };
        background::started(&self.tasks, outcome.as_ref())
    }

    /// Runs a task, and tells the client of its progress meanwhile.
    async fn attend(
        &self,
        request: TaskRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<Outcome, ErrorReport> {
        let telling = Arc::new(Telling::new(&request.tool));
        let told = telling.clone();
        let events = Arc::new(move |event: Event| told.hear(&event));
        let running = async {
            let outcome = self.tasks.run(request, events, context.ct.clone()).await;
            telling.end();
            outcome
        };
        let token = context.meta.get_progress_token();
        let reporting = progress::report(context.peer.clone(), token, &telling);
        let (outcome, ()) = tokio::join!(running, reporting);
        outcome
    }

    /// A task that is named beside a question has to be of that question.
    async fn check_question(
        &self,
        request: &TaskRequest,
        same_question: Option<&str>,
    ) -> Result<(), ErrorReport> {
        if let (Subject::Task { id, .. }, Some(given)) = (&request.subject, same_question) {
            let task = self.tasks.outcome(id).await?;
            arguments::check_same_question(&task.question.text, given)?;
        }
        Ok(())
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
        if request.name == tools::START_DEEP_RESEARCH {
            return Ok(self.start(request.arguments, context).await.into());
        }
        let told = background::call(&self.tasks, &request.name, request.arguments.clone()).await;
        if let Some(told) = told {
            return Ok(told.into());
        }
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
