//! `start`: research that goes on when the command has ended.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::arguments::StartArguments;
use super::attend::{Attended, attend};
use super::desk::Desk;
use super::progress::Progress;
use super::terminal::{FAINT, Stop, Terminal};
use super::{pretty, question};
use crate::report::words::{duration, money};
use crate::report::{render_markdown, short_id};
use crate::tasks::{
    Background, ErrorReport, MODEL, Outcome, START_DEEP_RESEARCH, Subject, TaskRequest, TaskStatus,
};

pub async fn run(
    arguments: StartArguments,
    desk: Arc<dyn Desk>,
    terminal: &mut Terminal,
    stdin: &mut impl Read,
    verbose: u8,
) -> Result<u8, Stop> {
    let json = arguments.json;
    let request = request(arguments, desk.handoff(), stdin)?;
    let progress = Progress::new(terminal, verbose, Some(&request.tool));
    let Attended { result, signal } =
        attend(desk.clone(), terminal, progress, |desk, events, cancel| async move {
            desk.run(request, events, cancel).await
        })
        .await?;
    let outcome = result.map_err(Stop::Error)?;
    if json {
        terminal.print_json(&desk.started(&outcome)?)?;
    } else {
        tell(&outcome, terminal)?;
    }
    Ok(match outcome.status {
        TaskStatus::Completed => 0,
        TaskStatus::Running | TaskStatus::Interrupted => signal.unwrap_or(0),
        TaskStatus::Cancelled => 130,
        TaskStatus::Failed | TaskStatus::NeedsAttention => 1,
    })
}

fn request(
    arguments: StartArguments,
    handoff: Duration,
    stdin: &mut impl Read,
) -> Result<TaskRequest, ErrorReport> {
    let mut question =
        question::with_context(&arguments.question, arguments.context.as_deref(), stdin)?;
    question.max_cost_usd = arguments.max_cost;
    question.extra.extend(arguments.model.map(|model| (MODEL.to_owned(), model)));
    Ok(TaskRequest {
        tool: START_DEEP_RESEARCH.to_owned(),
        subject: Subject::Question(question),
        max_wait: (!arguments.wait).then_some(handoff),
        background: Some(Background {
            notify: !arguments.no_notification,
            max_wait: Duration::from_secs_f64(arguments.max_wait_hours * 3600.0),
        }),
    })
}

fn tell(outcome: &Outcome, terminal: &mut Terminal) -> Result<(), Stop> {
    let id = short_id(&outcome.id);
    if outcome.status == TaskStatus::Running {
        terminal.print(&format!("{}\n", outcome.id))?;
        let where_it_is = if outcome.job.is_some() {
            "the research goes on at the vendor"
        } else {
            "the research has not reached the vendor yet, and waits to be sent"
        };
        terminal.say(&format!(
            "{where_it_is} as task {id}; a running `bathysphere serve`, or `bathysphere worker`, \
             sees it to its end\n\
             bathysphere status {id}     how it stands\n\
             bathysphere show {id}       what there is of the report\n\
             bathysphere cancel {id}     end it, at the vendor too"
        ));
        return Ok(());
    }
    if let Some(error) = &outcome.error {
        terminal.complain(error);
    }
    if !outcome.found_nothing() {
        let look = terminal.out;
        terminal.print(&pretty::markdown(&render_markdown(outcome), look))?;
    }
    let cost = outcome.usage.cost_usd.map(|cost| format!(" · {}", money(cost)));
    let last = format!(
        "{} after {}{} · kept as {id} (bathysphere show {id})",
        outcome.status.as_str(),
        duration(outcome.duration_ms),
        cost.unwrap_or_default(),
    );
    let last = terminal.err.paint(FAINT, &last);
    terminal.say(&last);
    Ok(())
}
