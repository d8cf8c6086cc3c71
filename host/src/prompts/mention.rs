//! `@` in text from outside. Command-line agents take `@path` in a prompt for a
//! file to read, and `@name` for an agent to hand over to, wherever it stands. A
//! backslash before it takes that meaning away. Addresses and package names, which
//! cannot name either, are left as they are: a report should not collect
//! backslashes on its way through the rounds.

use std::borrow::Cow;

/// What ends the word after an `@`.
fn ends_word(character: char) -> bool {
    character.is_ascii_whitespace() || ",;!?()[]{}".contains(character)
}

/// The text with a backslash before each `@` that could be obeyed.
pub fn neutral(text: &str) -> Cow<'_, str> {
    let mut neutral = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('@') {
        if text[..at].ends_with('\\') || !could_be_obeyed(&text[at + 1..]) {
            continue;
        }
        neutral.push_str(&text[done..at]);
        neutral.push_str("\\@");
        done = at + 1;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    neutral.push_str(&text[done..]);
    Cow::Owned(neutral)
}

/// The working directory of an agent is empty, so that a plain relative path names
/// nothing. What is left: paths that lead out of it, and bare names. Looks no
/// further than the next `@`, so that the whole takes linear time.
fn could_be_obeyed(after: &str) -> bool {
    let end = after.find(|character| character == '@' || ends_word(character));
    let word = &after[..end.unwrap_or(after.len())];
    if end.is_some_and(|end| after[end..].starts_with('@')) {
        return true;
    }
    if word.is_empty() {
        return false;
    }
    let bare = word.trim_end_matches('.');
    word.starts_with(['/', '.', '~'])
        || word.contains(['\\', '"', ':', '%', '$'])
        || word.split('/').any(|part| part == "..")
        || bare.chars().all(|character| character.is_alphanumeric() || "_-".contains(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_file_or_an_agent_is_neutral() {
        for word in [
            "/etc/passwd",
            "/",
            "./x",
            "../x",
            "..",
            ".",
            "~/x",
            "a/../../etc/passwd",
            "\"/etc/pass wd\"",
            "\\/etc/passwd",
            "C:/x",
            "https://example.com/x",
            "README",
            "generalist",
            "code-base_2",
            "generalist.",
            "日本",
        ] {
            for (before, after) in [("", ""), ("see ", " now"), ("(", ")"), ("x", ","), ("", "!\n")]
            {
                let text = format!("{before}@{word}{after}");
                assert_eq!(neutral(&text), format!("{before}\\@{word}{after}"));
            }
        }
    }

    #[test]
    fn addresses_and_packages_stay() {
        for text in [
            "mail me@example.com.",
            "<me@example.co.uk>",
            "npm i @google/genai",
            "`@types/node`",
            "5 @ 3",
            "@",
            "a @, b",
            "already \\@/etc/passwd",
        ] {
            assert!(matches!(neutral(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn one_does_not_hide_another() {
        assert_eq!(neutral("@a.b@/etc/passwd"), "\\@a.b\\@/etc/passwd");
        assert_eq!(neutral("@@/x"), "\\@\\@/x");
    }

    #[test]
    fn many_take_no_longer_than_long_text() {
        let text = "@".repeat(500_000);
        assert_eq!(neutral(&text).len(), 2 * text.len() - 1);
    }
}
