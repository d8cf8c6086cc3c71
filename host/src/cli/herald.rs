//! `herald`: tells the user that a task has ended, if nobody has. Servers start it;
//! it prints nothing, and has told nothing when its exit code is not 0.

use super::arguments::HeraldArguments;
use super::desk::Desk;
use super::question;
use super::terminal::Stop;

pub async fn run(arguments: &HeraldArguments, desk: &dyn Desk) -> Result<u8, Stop> {
    let id = question::task_id(&arguments.id)?;
    desk.tell(&id).await?;
    Ok(0)
}
