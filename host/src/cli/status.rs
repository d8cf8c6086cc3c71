//! `status`: how it stands with a task.

use std::fmt::Write as _;

use super::arguments::StatusArguments;
use super::desk::Desk;
use super::question;
use super::terminal::{Stop, Terminal};
use crate::report::words::{count, duration, money, one_line};
use crate::tasks::views::{ResearchStatus, Told};

pub async fn run(
    arguments: &StatusArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    let status = desk.status(&question::task_id(&arguments.id)?).await?;
    if arguments.json {
        terminal.print_json(&Told::of(Ok(status)))?;
    } else {
        terminal.print(&as_text(&status))?;
    }
    Ok(0)
}

fn as_text(status: &ResearchStatus) -> String {
    let mut lines = vec![
        ("question", one_line(&status.query)),
        ("status", status.status.replace('_', " ")),
        ("elapsed", duration((status.elapsed_minutes * 60_000.0) as u64)),
        ("done so far", done(status)),
    ];
    if let Some(action) = &status.current_action {
        lines.push(("just now", one_line(action)));
    }
    let tokens = &status.tokens_used;
    if tokens.input + tokens.output > 0 {
        lines.push((
            "tokens",
            format!(
                "{} read, {} written",
                count(tokens.input, "token"),
                count(tokens.output, "token")
            ),
        ));
    }
    if let Some(cost) = status.cost_so_far {
        lines.push(("cost", money(cost)));
    }
    if let Some(left) = status.estimated_completion_minutes {
        lines.push(("perhaps left", duration((left * 60_000.0) as u64)));
    }
    if let Some(note) = &status.note {
        lines.push(("note", one_line(note)));
    }
    if let Some(failure) = &status.failure {
        lines.push(("error", one_line(&failure.message)));
        lines.extend(failure.hint.as_ref().map(|hint| ("hint", one_line(hint))));
    }
    let mut text = format!("task {}\n", status.task_id);
    for (name, value) in lines {
        let _ = writeln!(text, "  {name:<12}  {value}");
    }
    text
}

/// What has really happened; never an invented percentage.
fn done(status: &ResearchStatus) -> String {
    let progress = &status.progress;
    let mut parts = Vec::new();
    if let Some(rounds) = progress.rounds {
        parts.push(count(rounds, "round"));
    }
    parts.push(match progress.searches {
        1 => "1 search".to_owned(),
        searches => format!("{searches} searches"),
    });
    parts.push(format!("{} read", count(progress.pages_read, "page")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::views::{Done, Tokens};

    #[test]
    fn a_status_in_words() {
        let status = ResearchStatus {
            task_id: "0198c2f4-7a1b-7c3d-8e4f-112233445566".to_owned(),
            query: "How do tide tables\ncompare?".to_owned(),
            status: "running_async".to_owned(),
            progress: Done { steps: 7, searches: 12, pages_read: 1, rounds: None },
            current_action: Some("read https://tides.example/north-sea".to_owned()),
            recent_actions: Vec::new(),
            elapsed_minutes: 12.5,
            tokens_used: Tokens { input: 150_000, output: 50_000 },
            cost_so_far: Some(0.9),
            estimated_completion_minutes: Some(8.0),
            has_partial_report: false,
            vendor_status: Some("in_progress".to_owned()),
            note: None,
            failure: None,
            next: String::new(),
        };
        insta::assert_snapshot!(as_text(&status));
    }
}
