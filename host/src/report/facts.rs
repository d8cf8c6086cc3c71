//! What is known about a report: as front matter that any reader of YAML takes, and
//! as a block that people read.

use std::fmt::Write as _;

use super::Outcome;
use super::words::{duration, grouped, money, one_line};

/// One thing that is known.
#[derive(Debug, Clone)]
pub struct Fact {
    pub key: &'static str,
    pub label: &'static str,
    /// For people; empty where it is not known.
    pub shown: String,
    /// For programs: a YAML scalar.
    pub yaml: String,
}

/// In the order in which they are shown; those that are not known are left empty.
pub fn facts(outcome: &Outcome) -> Vec<Fact> {
    let usage = &outcome.usage;
    let text = |key, label, value: &str| Fact {
        key,
        label,
        shown: one_line(value),
        yaml: if value.is_empty() { String::new() } else { quoted(value) },
    };
    let number = |key, label, value: u64| Fact {
        key,
        label,
        shown: if value == 0 { String::new() } else { grouped(value) },
        yaml: value.to_string(),
    };
    let cost = usage.cost_usd.filter(|cost| cost.is_finite());
    vec![
        text("task_id", "Task", &outcome.id),
        text("question", "Question", &outcome.question.text),
        text("status", "Status", outcome.status.as_str()),
        text("tool", "Tool", &outcome.tool),
        text("model", "Model", outcome.model.as_deref().unwrap_or_default()),
        Fact {
            shown: moment(&outcome.created_at),
            ..text("created_at", "Asked", &outcome.created_at)
        },
        {
            let finished = outcome.finished_at.as_deref().unwrap_or_default();
            Fact { shown: moment(finished), ..text("finished_at", "Finished", finished) }
        },
        Fact {
            key: "duration_seconds",
            label: "Took",
            shown: duration(outcome.duration_ms),
            yaml: format!("{:.1}", outcome.duration_ms as f64 / 1000.0),
        },
        number("rounds", "Rounds", outcome.rounds.len() as u64),
        number("sources", "Sources", outcome.sources.len() as u64),
        number("searches", "Searches", usage.searches.into()),
        number("pages", "Pages read", usage.pages.into()),
        number("input_tokens", "Tokens read", usage.input_tokens),
        number("output_tokens", "Tokens written", usage.output_tokens),
        Fact {
            key: "cost_usd",
            label: "Cost",
            shown: cost.filter(|cost| *cost > 0.0).map(money).unwrap_or_default(),
            yaml: cost.map(|cost| format!("{cost:.4}")).unwrap_or_default(),
        },
    ]
}

/// `2026-03-01 09:30 UTC`; what is no time is shown as it is.
fn moment(timestamp: &str) -> String {
    match timestamp.parse::<jiff::Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => one_line(timestamp),
    }
}

/// Between lines of `---`, as editors and site generators read it.
pub fn front_matter(facts: &[Fact]) -> String {
    let mut text = String::from("---\n");
    for fact in facts.iter().filter(|fact| !fact.yaml.is_empty()) {
        let _ = writeln!(text, "{}: {}", fact.key, fact.yaml);
    }
    text.push_str("---");
    text
}

/// Any text as one double-quoted YAML scalar on one line.
fn quoted(text: &str) -> String {
    let mut scalar = String::with_capacity(text.len() + 2);
    scalar.push('"');
    for character in text.chars() {
        match character {
            '"' => scalar.push_str("\\\""),
            '\\' => scalar.push_str("\\\\"),
            '\n' => scalar.push_str("\\n"),
            '\t' => scalar.push_str("\\t"),
            '\r' => scalar.push_str("\\r"),
            // What YAML does not take as it is, what would end the line in some
            // readers, and what would reorder it.
            other
                if other.is_control()
                    || matches!(other, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                    || matches!(other, '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                let _ = write!(scalar, "\\u{:04X}", other as u32);
            }
            other => scalar.push(other),
        }
    }
    scalar.push('"');
    scalar
}

#[cfg(test)]
mod tests {
    use super::super::tests as outcomes;
    use super::*;

    #[test]
    fn front_matter_of_a_long_research() {
        insta::assert_snapshot!(front_matter(&facts(&outcomes::researched())), @r#"
        ---
        task_id: "0198c2f4-7a1b-7c3d-8e4f-112233445566"
        question: "What is the state of tidal power in Europe?"
        status: "completed"
        tool: "start_deep_research"
        model: "deep-research-preview-04-2026"
        created_at: "2026-03-01T09:30:00Z"
        finished_at: "2026-03-01T09:48:32Z"
        duration_seconds: 1112.0
        rounds: 1
        sources: 5
        searches: 82
        pages: 41
        input_tokens: 251300
        output_tokens: 60120
        cost_usd: 2.4137
        ---
        "#);
    }

    #[test]
    fn whatever_the_question_says_the_front_matter_has_the_same_lines() {
        let plain = front_matter(&facts(&outcomes::researched()));
        let keys = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split(':').next().unwrap().to_owned()).collect()
        };
        for question in [
            "a\n---\nstatus: \"failed\"",
            "it's \"quoted\": yes # no, {a: [b]}",
            "\u{0}\u{1b}[31m\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{202e}",
            "back\\slash \\n \t tab",
            "- !tag &anchor *alias | > %",
            "日本 ä 👩‍👧",
        ] {
            let mut outcome = outcomes::researched();
            outcome.question.text = question.to_owned();
            let text = front_matter(&facts(&outcome));
            assert_eq!(keys(&text), keys(&plain), "{text}");
            // A JSON string is a YAML scalar, and this is one.
            let line = text.lines().find_map(|line| line.strip_prefix("question: ")).unwrap();
            assert_eq!(serde_json::from_str::<String>(line).unwrap(), question);
            assert!(!line.contains(|character: char| character.is_control()), "{line:?}");
        }
    }

    #[test]
    fn a_price_that_is_no_number_is_left_out() {
        let mut outcome = outcomes::researched();
        outcome.usage.cost_usd = Some(f64::NAN);
        assert!(!front_matter(&facts(&outcome)).contains("cost_usd"));
    }
}
