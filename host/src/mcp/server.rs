//! The server's side of the protocol: which tools there are, and calling them.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::mpsc;

use super::arguments::{self, DeepSearch, Search};
use super::{answer, progress, tools};
use crate::tasks::{ErrorReport, TaskRequest, Tasks};

pub struct Server {
    tasks: Arc<Tasks>,
}

impl Server {
    pub fn new(tasks: Arc<Tasks>) -> Self {
        Self { tasks }
    }

    async fn run(
        &self,
        request: Result<TaskRequest, ErrorReport>,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        let request = match request {
            Ok(request) => request,
            Err(error) => return answer::of_error(&error),
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        let token = context.meta.get_progress_token();
        let reporting = progress::report(context.peer.clone(), token, receiver);
        let running = async {
            let events = Arc::new(move |event| {
                // Nobody listening is no reason to stop.
                let _ = sender.send(event);
            });
            self.tasks.run(request, events, context.ct.clone()).await
        };
        let (outcome, ()) = tokio::join!(running, reporting);
        match outcome {
            Ok(outcome) => answer::of_outcome(&outcome),
            Err(error) => answer::of_error(&error),
        }
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
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments;
        let request = match &*request.name {
            tools::SEARCH => {
                arguments::read::<Search>(tools::SEARCH, arguments).and_then(Search::into_request)
            }
            tools::DEEP_SEARCH => arguments::read::<DeepSearch>(tools::DEEP_SEARCH, arguments)
                .and_then(DeepSearch::into_request),
            unknown => {
                let names: Vec<_> = tools::all().iter().map(|tool| tool.name.to_string()).collect();
                return Err(ErrorData::invalid_params(
                    format!("there is no tool `{unknown}`; there are: {}", names.join(", ")),
                    None,
                ));
            }
        };
        Ok(self.run(request, context).await.into())
    }
}
