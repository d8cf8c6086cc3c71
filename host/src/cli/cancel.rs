//! `cancel`: ends a task, whichever process works on it, and at the vendor too.

use std::fmt::Write as _;

use super::arguments::CancelArguments;
use super::desk::Desk;
use super::question;
use super::terminal::{Stop, Terminal};
use crate::report::short_id;
use crate::report::words::money;
use crate::tasks::views::Cancelled;

pub async fn run(
    arguments: &CancelArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let id = question::task_id(&arguments.id)?;
    let cancellation = desk.cancel(&id, !arguments.discard).await?;
    let cancelled = Cancelled::of(&cancellation);
    if arguments.json {
        terminal.print_json(&cancelled)?;
        return Ok(0);
    }
    let mut text = cancelled.message.unwrap_or_default();
    if let Some(cost) = cancelled.cost_usd {
        let _ = write!(text, " It cost {}.", money(cost));
    }
    if cancellation.partial {
        let id = short_id(&cancellation.outcome.id);
        let _ = write!(text, " What was found is kept: bathysphere show {id}.");
    }
    terminal.print(&format!("{text}\n"))?;
    Ok(0)
}
