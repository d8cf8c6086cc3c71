//! `show`: the report of a task, again.

use super::arguments::{Format, ShowArguments};
use super::desk::Desk;
use super::terminal::{Stop, Terminal};
use super::{pretty, question};
use crate::report::{Templates, render_html, render_markdown};
use crate::tasks::ErrorReport;

pub async fn run(
    arguments: &ShowArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let id = question::task_id(&arguments.id)?;
    let outcome = desk.outcome(&id).await?;
    if arguments.json {
        terminal.print_json(&outcome)?;
        return Ok(0);
    }
    let shown = match arguments.format {
        None => pretty::markdown(&render_markdown(&outcome), terminal.out),
        Some(Format::Markdown) => render_markdown(&outcome),
        Some(Format::Html) => {
            let templates =
                Templates::load(&desk.config_directory()?).map_err(ErrorReport::from)?;
            render_html(&outcome, &templates).map_err(ErrorReport::from)?
        }
    };
    terminal.print(&shown)?;
    Ok(0)
}
