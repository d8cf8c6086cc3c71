//! `task adopt` and `task retry`: what the user decides about a task that needs
//! attention.

use super::arguments::TaskCommand;
use super::desk::Desk;
use super::question;
use super::terminal::{Stop, Terminal};
use crate::report::short_id;

pub async fn run(
    command: &TaskCommand,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let (id, decided) = match command {
        TaskCommand::Adopt { id, job } => {
            let id = desk.adopt(&question::task_id(id)?, job).await?;
            (id, format!("goes on with {}", job.trim()))
        }
        TaskCommand::Retry { id } => {
            (desk.retry(&question::task_id(id)?).await?, "is started again".to_owned())
        }
    };
    let id = short_id(&id);
    terminal.print(&format!("task {id} {decided}\n"))?;
    terminal.say(&format!(
        "a running `bathysphere serve` takes it up, or `bathysphere worker`; \
         `bathysphere status {id}` tells how it stands"
    ));
    Ok(0)
}
