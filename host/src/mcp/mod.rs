//! The Model Context Protocol over standard input and output: the only code that
//! knows rmcp. It turns tool calls into tasks and outcomes into results; what
//! research is, it does not know.

mod arguments;
mod background;
mod log;
mod progress;
mod result;
mod schema;
mod server;
mod tools;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use tokio_util::sync::CancellationToken;

use crate::tasks::Tasks;
use server::Server;
use transport::Lines;

/// How long answers under way may still take once the client has closed its end:
/// clients kill the whole process group soon after.
const LAST_ANSWERS: Duration = Duration::from_millis(150);

/// Serves until the client closes its end or `stop` is cancelled. All that was
/// done is saved step by step, so that at the end there is nothing to wait for but
/// what is being started at a vendor.
pub async fn serve(tasks: Arc<Tasks>, stop: CancellationToken) -> anyhow::Result<()> {
    let closed = CancellationToken::new();
    let (reader, writer) = rmcp::transport::stdio_pipes();
    let transport = Lines::new(reader, writer, closed.clone());
    // Beside the handshake: a slow disk must not hold it up.
    tasks.narrate(Arc::new(log::log));
    let clearing = tasks.clone();
    tokio::task::spawn_blocking(move || clearing.clear_leftovers());
    let starting = Server::new(tasks.clone()).serve(transport);
    let service = tokio::select! {
        service = starting => match service {
            Ok(service) => service,
            // A client that goes away before its first request is no error.
            Err(_) if closed.is_cancelled() => return Ok(()),
            Err(error) => return Err(error.into()),
        },
        () = stop.cancelled() => return Ok(()),
    };
    // The handshake is answered: now there is time to make the plugins ready.
    let keeping = stop.child_token();
    tokio::spawn(tasks.clone().keep(keeping.clone()));
    let warming = tasks.clone();
    let warm = tokio::spawn(async move { warming.plugins().warm().await });

    let waiting = service.waiting();
    tokio::pin!(waiting);
    tokio::select! {
        _ = &mut waiting => {}
        () = closed.cancelled() => {
            let _ = tokio::time::timeout(LAST_ANSWERS, waiting).await;
        }
        () = stop.cancelled() => {}
    }
    warm.abort();
    keeping.cancel();
    tasks.wait_for_starts().await;
    Ok(())
}
