//! `show`: the report of a task, again.

use super::arguments::ShowArguments;
use super::desk::Desk;
use super::terminal::{Stop, Terminal};
use super::{pretty, question};
use crate::report::render_markdown;

pub async fn run(
    arguments: &ShowArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let id = question::task_id(&arguments.id)?;
    let outcome = desk.outcome(&id).await?;
    if arguments.json {
        terminal.print_json(&outcome)?;
    } else {
        let report = render_markdown(&outcome);
        let look = terminal.out;
        let shown =
            if arguments.format.is_some() { report } else { pretty::markdown(&report, look) };
        terminal.print(&shown)?;
    }
    Ok(0)
}
