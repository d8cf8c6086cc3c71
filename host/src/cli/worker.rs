//! `worker`: looks after research that was started and left, with no client.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::arguments::WorkerArguments;
use super::attend::Signals;
use super::desk::Desk;
use super::terminal::{Stop, Terminal};

pub async fn run(
    arguments: &WorkerArguments,
    desk: Arc<dyn Desk>,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let stop = CancellationToken::new();
    let mut signals = Signals::new()?;
    if !arguments.until_done {
        terminal.say("looking after background research; Ctrl-C ends this, and loses nothing");
    }
    let working = desk.work(arguments.until_done, stop.clone());
    tokio::pin!(working);
    tokio::select! {
        worked = &mut working => {
            worked?;
            Ok(0)
        }
        code = signals.next() => {
            stop.cancel();
            tokio::select! {
                worked = &mut working => worked?,
                code = signals.next() => return Ok(code),
            }
            Ok(code)
        }
    }
}
