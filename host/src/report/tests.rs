//! Reports as people see them, and the outcomes that other tests print too.

mod samples;

pub use samples::*;

use super::*;

#[test]
fn a_report_with_findings() {
    insta::assert_snapshot!(render_markdown(&found()));
}

#[test]
fn a_report_that_an_agent_wrote() {
    insta::assert_snapshot!(render_markdown(&written()));
}

#[test]
fn a_report_that_a_vendor_researched() {
    let report = render_markdown(&researched());
    insta::assert_snapshot!(report);
    assert_eq!(report.matches("[cite").count(), 1, "in code alone");
}

#[test]
fn reports_that_a_vendor_did_not_finish() {
    use std::fmt::Write as _;
    let mut shown = String::new();
    for status in [
        TaskStatus::Running,
        TaskStatus::Cancelled,
        TaskStatus::Failed,
        TaskStatus::Interrupted,
        TaskStatus::NeedsAttention,
    ] {
        let report = render_markdown(&ended_midway(status));
        let _ = writeln!(shown, "---- {}\n{report}", status.as_str());
        assert!(!report.contains("[cite") && !report.contains("deep-search"), "{report}");
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn programs_get_a_readable_report_too() {
    let result = serde_json::to_value(Answer::of_outcome(&researched())).unwrap()["result"].clone();
    let result = result.as_str().unwrap();
    assert!(result.starts_with("# The state of tidal power\n\nTidal power is small"), "{result}");
    assert!(result.contains("keeps its hours [1][2]. The Rance has run since 1966. [3]"));
    assert!(result.contains("\n## Sources\n\n1. [Tidal power, an overview](<https://tides"));
    assert!(!readable(&researched(), false).unwrap().contains("## Sources"));
    assert!(readable(&written(), true).is_none());
    let first = &sources_in_order(&researched())[3];
    assert_eq!(first.url, "https://grid.example/2023");
}

#[test]
fn a_written_report_that_names_no_source_is_followed_by_all_of_them() {
    let mut outcome = written();
    for round in &mut outcome.rounds {
        round.answer = round.answer.as_ref().map(|_| "Twice a month.".to_owned());
    }
    outcome.answer = "Twice a month.".to_owned();
    let report = render_markdown(&outcome);
    assert!(report.contains("\n## Sources\n"), "{report}");
    assert!(report.contains("\n- <https://almanac.example/tables>\n"), "{report}");
}

#[test]
fn a_report_that_found_nothing() {
    insta::assert_snapshot!(render_markdown(&nothing_found()));
}

#[test]
fn a_report_that_was_cancelled() {
    insta::assert_snapshot!(render_markdown(&cancelled()));
}

#[test]
fn a_report_that_failed() {
    insta::assert_snapshot!(render_markdown(&failed()));
}

#[test]
fn hostile_text_stays_in_its_place() {
    let report = render_markdown(&hostile());
    insta::assert_snapshot!(report);
    let headings: Vec<&str> =
        report.lines().filter(|line| line.starts_with("# ") || line.starts_with("## ")).collect();
    assert_eq!(headings.len(), 5, "title, answer, findings, sources, course: {headings:?}");
    assert!(!report.contains('\u{1b}') && !report.contains('\u{202e}'));
}

#[test]
fn an_answer_that_repeats_the_findings_is_not_printed_twice() {
    let mut outcome = found();
    let items: Vec<String> = outcome
        .findings
        .iter()
        .enumerate()
        .map(|(index, finding)| format!("- {} [{}]", finding.text, index + 1))
        .collect();
    outcome.answer = items.join("\n");
    assert_eq!(render_markdown(&outcome), render_markdown(&found()));
    outcome.answer.push_str("\nTaken together, the tide follows the moon with a delay that each port measures for itself.");
    assert!(render_markdown(&outcome).contains("## Answer\n"));
}

#[test]
fn a_long_question_is_shortened_in_the_title_alone() {
    let mut outcome = nothing_found();
    outcome.question.text = "Why does the sea rise and fall? ".repeat(20);
    let report = render_markdown(&outcome);
    let title = report.lines().next().unwrap();
    assert!(title.ends_with('…') && title.chars().count() <= TITLE_CHARACTERS + 2, "{title}");
    assert!(report.contains(outcome.question.text.trim()));
}

#[test]
fn the_sources_own_words_are_not_quoted_beside_themselves() {
    let mut outcome = found();
    outcome.findings[0].quote =
        "/// **Spring tides** come twice a month, at new and at\n/// full moon, when [sun and moon](sun.md) pull in one line."
            .to_owned();
    assert_eq!(render_markdown(&outcome), render_markdown(&found()));
    outcome.findings[0].quote = "Twice in each lunation the range is greatest.".to_owned();
    assert!(render_markdown(&outcome).contains("  > “Twice in each lunation"));
}

#[test]
fn an_agent_that_found_nothing_says_what_was_missing() {
    let mut outcome = nothing_found();
    outcome.answer = "The passages do not answer this. Not found in them: “neap”.".to_owned();
    let report = render_markdown(&outcome);
    assert!(report.contains("> The passages do not answer this."), "{report}");
    assert!(report.contains("## What to try") && !report.contains("## Answer"), "{report}");
}

#[test]
fn a_note_of_the_strategy_takes_the_place_of_the_stock_sentence() {
    let mut outcome = nothing_found();
    outcome.note = Some("the documents speak of winds only".to_owned());
    let report = render_markdown(&outcome);
    assert!(report.contains("> the documents speak of winds only"));
    assert!(!report.contains("Nothing was found that answers"));
}

#[test]
fn whatever_the_sources_say_a_markdown_reader_sees_our_report() {
    use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
    let known = [
        "Answer",
        "Findings",
        "Sources",
        "What was looked through",
        "What to try",
        "How it was researched",
    ];
    for (run, outcome) in scrambled(500).enumerate() {
        let report = render_markdown(&outcome);
        let mut section = None;
        for event in Parser::new_ext(&report, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading {
                    level: HeadingLevel::H1 | HeadingLevel::H2, ..
                }) => {
                    section = Some(String::new());
                }
                Event::End(pulldown_cmark::TagEnd::Heading(level)) => {
                    let title = section.take().unwrap_or_default();
                    let ours = level != HeadingLevel::H2 || known.contains(&title.as_str());
                    assert!(ours, "run {run}: {title:?} is no heading of ours\n{report}");
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(section) = &mut section {
                        section.push_str(&text);
                    }
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    panic!("run {run}: HTML {html:?}\n{report}")
                }
                Event::Start(Tag::Image { .. }) => panic!("run {run}: an image\n{report}"),
                Event::Start(Tag::Link { dest_url, .. }) => {
                    let target = dest_url.to_ascii_lowercase();
                    let scheme = target.split(['/', '#', '?']).next().unwrap_or_default();
                    let harmless = !scheme.contains(':') || matches!(scheme, "http:" | "https:");
                    assert!(harmless, "run {run}: a link to {dest_url}\n{report}");
                }
                _ => {}
            }
        }
        let sections = report.matches("\n## Sources\n").count();
        assert!(sections >= 1, "run {run}\n{report}");
        assert!(!report.contains(['\u{1b}', '\u{202e}', '\r']), "run {run}");
    }
}
