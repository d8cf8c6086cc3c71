//! `serve`: the MCP server, until the client goes or a signal comes.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::attend::Signals;
use super::desk::Desk;
use super::terminal::Stop;

pub async fn run(desk: Arc<dyn Desk>) -> Result<u8, Stop> {
    let stop = CancellationToken::new();
    let mut signals = Signals::new()?;
    let serving = desk.serve(stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        served = &mut serving => {
            served?;
        }
        _ = signals.next() => {
            stop.cancel();
            // A second signal does not wait for the server's farewell.
            tokio::select! {
                served = &mut serving => served?,
                code = signals.next() => return Ok(code),
            }
        }
    }
    Ok(0)
}
