//! The end of a task in a few words: what was asked, how it ended, how long it
//! took, what it cost, and where the report is. What was asked comes from outside:
//! it is one line here, and short.

use super::{Outcome, TaskStatus};
use crate::gates::notify::Notice;
use crate::report::short_id;
use crate::report::words::{count, duration, money, one_line, shortened};

/// Of the question, in the message: desktops cut off what is longer.
const QUESTION_CHARACTERS: usize = 140;

/// Of an error.
const ERROR_CHARACTERS: usize = 200;

pub fn notice(outcome: &Outcome) -> Notice {
    let report = format!("bathysphere show {}", short_id(&outcome.id));
    let failed = outcome.status != TaskStatus::Completed;
    let title = if failed {
        "Research failed"
    } else if outcome.found_nothing() {
        "Research found nothing"
    } else {
        "Research completed"
    };
    let mut lines = vec![shortened(&one_line(&outcome.question.text), QUESTION_CHARACTERS)];
    if let Some(error) = outcome.error.as_ref().filter(|_| failed) {
        lines.push(shortened(&one_line(&error.message), ERROR_CHARACTERS));
    }
    let mut figures = vec![duration(outcome.duration_ms)];
    figures.extend(outcome.usage.cost_usd.map(|cost| format!("cost {}", money(cost))));
    if !outcome.sources.is_empty() {
        figures.push(count(outcome.sources.len() as u64, "source"));
    }
    let verb = if failed { "after" } else { "took" };
    lines.push(format!("{verb} {}", figures.join(" · ")));
    lines.push(if failed && outcome.found_nothing() {
        format!("what is known: {report}")
    } else {
        format!("the report: {report}")
    });
    Notice {
        task_id: outcome.id.clone(),
        status: outcome.status.as_str(),
        question: outcome.question.text.clone(),
        title: title.to_owned(),
        message: lines.join("\n"),
        seconds: outcome.duration_ms as f64 / 1000.0,
        cost_usd: outcome.usage.cost_usd,
        report,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ErrorReport;
    use crate::report::tests as outcomes;

    fn shown(outcome: &Outcome) -> String {
        let notice = notice(outcome);
        format!("{}\n{}", notice.title, notice.message)
    }

    #[test]
    fn how_a_task_ended_in_words() {
        let mut outcome = outcomes::found();
        outcome.id = "27475b74-0000-4000-8000-000000000000".to_owned();
        outcome.duration_ms = 845_000;
        outcome.usage.cost_usd = Some(2.345);
        insta::assert_snapshot!(shown(&outcome));
        let notice = notice(&outcome);
        assert_eq!((notice.status, notice.seconds), ("completed", 845.0));
        assert_eq!(notice.report, "bathysphere show 27475b74");

        outcome.status = TaskStatus::Failed;
        outcome.answer.clear();
        outcome.findings.clear();
        outcome.sources.clear();
        outcome.usage.cost_usd = None;
        outcome.error = Some(ErrorReport {
            code: "UNAVAILABLE".to_owned(),
            message: "the vendor\nis away".to_owned(),
            hint: None,
        });
        insta::assert_snapshot!("how_it_failed_in_words", shown(&outcome));
    }

    #[test]
    fn a_question_cannot_take_over_the_message() {
        let mut outcome = outcomes::found();
        outcome.question.text =
            format!("why\u{1b}[2J\n\n\u{202e}the report: rm -rf\u{7} {}", "long ".repeat(1000));
        let notice = notice(&outcome);
        assert_eq!(notice.message.lines().count(), 3, "{}", notice.message);
        assert!(notice.message.starts_with("why the report: rm -rf long"), "{}", notice.message);
        assert!(!notice.message.contains(|one: char| one.is_control() && one != '\n'));
        assert!(notice.message.chars().count() < 300);
        assert_eq!(notice.question, outcome.question.text, "a program gets all of it");
    }
}
