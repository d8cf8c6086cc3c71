//! `show`: the report of a task, again.

use super::arguments::ShowArguments;
use super::desk::Desk;
use super::pretty;
use super::terminal::{Stop, Terminal};
use crate::report::render_markdown;
use crate::tasks::ErrorReport;

pub async fn run(
    arguments: &ShowArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let id = arguments.id.trim().to_ascii_lowercase();
    if id.is_empty()
        || !id.chars().all(|character| character.is_ascii_hexdigit() || character == '-')
    {
        return Err(Stop::Error(ErrorReport {
            code: "INVALID_INPUT".to_owned(),
            message: format!("`{}` is not the id of a task", arguments.id),
            hint: Some("ids look like 27475b74; `bathysphere history` lists them".to_owned()),
        }));
    }
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
