//! `doctor`: what is there, what would work, and what to do about the rest. It
//! looks, and changes nothing; of a key it knows only whether it is set.

mod diagnosis;
mod facts;

use super::arguments::DoctorArguments;
use super::desk::Desk;
use super::documents;
use super::terminal::{Stop, Terminal};

pub async fn run(
    arguments: &DoctorArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    documents::check(&arguments.documents.documents)?;
    let facts = facts::gather(desk.checkup().await);
    let diagnosis = diagnosis::diagnose(&facts);
    if arguments.json {
        terminal.print_json(&diagnosis)?;
    } else {
        let look = terminal.out;
        terminal.print(&diagnosis.as_text(look))?;
    }
    Ok(u8::from(diagnosis.broken > 0))
}
