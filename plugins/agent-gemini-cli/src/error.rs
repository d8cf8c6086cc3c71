//! Making an error that a person can act on.

use bathysphere_sdk::types::{Error, ErrorKind};

/// What is quoted of somebody else's message, at the most.
const QUOTED: usize = 200;

pub fn error(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Error {
    Error { kind, message: message.into(), hint: Some(hint.into()) }
}

pub fn other(name: &str, message: impl Into<String>, hint: impl Into<String>) -> Error {
    error(ErrorKind::Other(name.into()), message, hint)
}

/// Somebody else's message on one short line, or nothing where it repeats the
/// prompt.
pub fn quoted(message: &str, prompt: &str) -> Option<String> {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    let line = line.trim_end_matches(['.', ' ']);
    if line.is_empty() || repeats(line, prompt) {
        return None;
    }
    Some(shortened(line, QUOTED))
}

/// Cut at a character, with a sign that it was.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most).collect();
    format!("{}…", kept.trim_end())
}

/// Whether a message holds a piece of the prompt that is long enough to be no
/// chance.
fn repeats(message: &str, prompt: &str) -> bool {
    const TELLING: usize = 24;
    prompt.lines().map(str::trim).any(|line| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if line.len() < TELLING {
            return line.len() > 3 && message == line;
        }
        let starts: Vec<usize> = line.char_indices().map(|(start, _)| start).collect();
        // Every window would be thorough and slow; overlapping ones are enough to
        // find anything of twice the length.
        starts.iter().step_by(TELLING / 2).any(|start| {
            line.get(*start..).is_some_and(|rest| {
                let window: String = rest.chars().take(TELLING).collect();
                window.len() >= TELLING && message.contains(&window)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_message_is_short_and_on_one_line() {
        assert_eq!(quoted("a\n  b\tc.", ""), Some("a b c".into()));
        assert_eq!(quoted(" \n", ""), None);
        let long = quoted(&"word ".repeat(900), "").unwrap();
        assert!(long.chars().count() <= QUOTED + 1 && long.ends_with('…'), "{long}");
        assert!(quoted(&"é".repeat(900), "").unwrap().starts_with("éé"));
    }

    #[test]
    fn a_message_that_repeats_the_prompt_is_not_quoted() {
        let prompt =
            "intro\nthe merger of Alpha and Beta is to be announced on Monday morning\nend";
        let echo = "cannot read: Alpha and Beta is to be announced on Monday morning";
        assert_eq!(quoted(echo, prompt), None);
        assert_eq!(quoted("intro", prompt), None);
        assert!(quoted("the model is overloaded", prompt).is_some());
    }
}
