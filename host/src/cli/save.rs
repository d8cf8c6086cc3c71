//! `save`: the report of a task as a file that is kept for good.

use super::arguments::{self, SaveArguments};
use super::desk::Desk;
use super::question;
use super::terminal::{Stop, Terminal};
use crate::report::{Format, SaveOptions, require_completed, save_report};

pub async fn run(
    arguments: &SaveArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let id = question::task_id(&arguments.id)?;
    let outcome = desk.outcome(&id).await?;
    require_completed(&outcome)?;
    let options = SaveOptions {
        output_dir: arguments.output_dir.clone(),
        filename_prefix: arguments.prefix.clone(),
        include_metadata: !arguments.no_metadata,
        include_sources: !arguments.no_sources,
        format: match arguments.format {
            arguments::Format::Markdown => Format::Markdown,
            arguments::Format::Html => Format::Html,
        },
    };
    let saved = save_report(&outcome, &options, &desk.config_directory()?)?;
    if arguments.json {
        terminal.print_json(&saved)?;
    } else {
        let path = saved.file_path.unwrap_or_default();
        terminal.print(&format!("{path}\n"))?;
        terminal.say(&format!("saved ({:.1} KB)", saved.file_size_kb.unwrap_or_default()));
    }
    Ok(0)
}
