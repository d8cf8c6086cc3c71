//! `history`: what was researched, newest first.

use anstyle::Style;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::arguments::HistoryArguments;
use super::desk::Desk;
use super::table::{Cell, fitting, table};
use super::terminal::{CYAN, FAINT, GREEN, Look, RED, Stop, Terminal, YELLOW};
use crate::report::short_id;
use crate::report::words::{duration, money, one_line};
use crate::tasks::{START_DEEP_RESEARCH, TaskStatus, TaskSummary};

pub async fn run(
    arguments: &HistoryArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let status = arguments.status.map(Into::into);
    let tasks = desk.history(arguments.search.clone(), arguments.limit, status).await?;
    if arguments.json {
        terminal.print_json(&tasks)?;
    } else if tasks.is_empty() && (arguments.search.is_some() || status.is_some()) {
        terminal.say("no task fits; `bathysphere history` lists all of them");
    } else if tasks.is_empty() {
        terminal.say("nothing yet; `bathysphere research --docs . \"…\"` makes a beginning");
    } else {
        let look = terminal.out;
        terminal.print(&as_text(&tasks, &TimeZone::system(), look))?;
        if let Some(advice) = advice(&tasks) {
            let advice = terminal.err.paint(FAINT, &advice);
            terminal.say(&advice);
        }
    }
    Ok(0)
}

/// How to go on with what was left unfinished, if anything was.
fn advice(tasks: &[TaskSummary]) -> Option<String> {
    let left = tasks.iter().filter(|task| task.tool != START_DEEP_RESEARCH).find(|task| {
        matches!(task.status, TaskStatus::Cancelled | TaskStatus::Interrupted | TaskStatus::Failed)
    })?;
    Some(format!(
        "what was cancelled, was interrupted or failed goes on with: bathysphere deep-search --resume {}",
        short_id(&left.id)
    ))
}

fn as_text(tasks: &[TaskSummary], zone: &TimeZone, look: Look) -> String {
    // The question is what one looks for: a narrow terminal leaves out the rest.
    let headers = fitting(
        &[("ID", 0), ("WHEN", 70), ("STATUS", 0), ("TOOK", 100), ("COST", 100), ("QUESTION", 0)],
        look,
    );
    let cell = |task: &TaskSummary, header: &str| match header {
        "ID" => Cell::styled(short_id(&task.id), CYAN),
        "WHEN" => Cell::styled(local_time(&task.created_at, zone), FAINT),
        "STATUS" => Cell::styled(task.status.as_str(), status_style(task.status)),
        "TOOK" => Cell::new(task.duration_ms.map_or_else(|| "–".to_owned(), duration)),
        "COST" => Cell::new(task.cost_usd.map_or_else(|| "–".to_owned(), money)),
        _ => Cell::new(one_line(&task.question)),
    };
    let rows: Vec<Vec<Cell>> = tasks
        .iter()
        .map(|task| headers.iter().map(|header| cell(task, header)).collect())
        .collect();
    table(&headers, &rows, look)
}

fn status_style(status: TaskStatus) -> Style {
    match status {
        TaskStatus::Completed => GREEN,
        TaskStatus::Failed => RED,
        TaskStatus::Running => CYAN,
        TaskStatus::Cancelled | TaskStatus::Interrupted | TaskStatus::NeedsAttention => YELLOW,
    }
}

/// `2026-03-01 10:30` on the user's clock; what is no time is shown as it is.
fn local_time(timestamp: &str, zone: &TimeZone) -> String {
    match timestamp.parse::<Timestamp>() {
        Ok(time) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => one_line(timestamp),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::offset;

    use super::*;

    fn task(id: &str, status: TaskStatus, question: &str, duration_ms: Option<u64>) -> TaskSummary {
        TaskSummary {
            id: id.to_owned(),
            tool: "research".to_owned(),
            question: question.to_owned(),
            status,
            rounds: 2,
            created_at: "2026-03-01T23:30:00Z".to_owned(),
            duration_ms,
            cost_usd: duration_ms.map(|milliseconds| milliseconds as f64 / 50_000.0),
        }
    }

    fn tasks() -> Vec<TaskSummary> {
        vec![
            task(
                "0198c2f4-7a1b-7c3d-8e4f-112233445566",
                TaskStatus::Running,
                "What is\na tide?",
                None,
            ),
            task(
                "0198c2f4-0001-7c3d-8e4f-112233445566",
                TaskStatus::Completed,
                "When do spring tides happen, and how are they predicted in the almanac?",
                Some(412),
            ),
            task("0198c2f3-ffff-7c3d-8e4f-112233445566", TaskStatus::Failed, "Why?", Some(61_000)),
        ]
    }

    #[test]
    fn what_was_left_unfinished_can_be_gone_on_with() {
        let advised = advice(&tasks()).unwrap();
        assert!(advised.ends_with("bathysphere deep-search --resume 0198c2f3"), "{advised}");
        assert!(advice(&tasks()[..2]).is_none());
    }

    #[test]
    fn the_table_in_a_pipe_and_in_a_terminal() {
        let zone = offset(1).to_time_zone();
        insta::assert_snapshot!("history_pipe", as_text(&tasks(), &zone, Look::default()));
        let look = Look { is_terminal: true, styled: false, width: Some(80), columns: Some(80) };
        insta::assert_snapshot!("history_terminal", as_text(&tasks(), &zone, look));
    }
}
