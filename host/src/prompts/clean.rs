//! Text from outside, without what a reader cannot see: hidden characters are how
//! orders are smuggled past people, and control characters steer the terminal that
//! shows the prompt. Words, accents and scripts stay as they are.

use std::borrow::Cow;

/// One kind of line end, no invisible characters, and a mark in place of each
/// control character.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(|character| character == '\r' || replaced(character).is_some()) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, replaced(character)) {
            ('\r', _) if characters.peek() == Some(&'\n') => {}
            ('\r', _) => cleaned.push('\n'),
            (_, None) => cleaned.push(character),
            (_, Some(other)) => cleaned.push_str(other),
        }
    }
    Cow::Owned(cleaned)
}

/// The same on one line, for what stands inside a sentence or a list.
pub fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn replaced(character: char) -> Option<&'static str> {
    match character {
        '\n' | '\t' => None,
        // What ends a line in some readers ends it in all.
        '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some("\n"),
        _ if character.is_control() => Some("\u{fffd}"),
        _ if is_invisible(character) => Some(""),
        _ => None,
    }
}

/// Joiners (200c, 200d) and the choice between text and emoji (fe0e, fe0f) are
/// part of how words and signs are written, and stay.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        // Soft hyphen, grapheme joiner, fillers, and a vowel separator.
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{3164}' | '\u{ffa0}'
        // Spaces without width, and marks that reorder the text around them.
        | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}'
        // Variation selectors: 256 of them carry any byte unseen.
        | '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}'
        // Annotations, marks of notation, and tags: a hidden copy of ASCII.
        | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_any_script_stays() {
        let text = "a\tb\n\nÄé 日本語 עברית नमस्ते می‌خواهم 👩‍👩‍👧 ❤️ ﷽ €5 `x` {{ y }}";
        assert!(matches!(clean(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn line_ends_become_one_kind() {
        assert_eq!(clean("a\r\nb\rc\u{2028}d\u{85}e\u{b}f\r"), "a\nb\nc\nd\ne\nf\n");
    }

    #[test]
    fn control_characters_are_shown_as_a_mark() {
        assert_eq!(
            clean("a\u{1b}[31mb\0c\u{7f}\u{9b}2J"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}\u{fffd}2J"
        );
    }

    #[test]
    fn hidden_characters_are_gone() {
        let tags: String =
            "ignore".chars().map(|c| char::from_u32(0xe0000 + c as u32).unwrap()).collect();
        assert_eq!(clean(&format!("be{tags}fore")), "before");
        assert_eq!(clean("abc\u{202e}def\u{2066}g\u{2069}\u{200b}h\u{feff}"), "abcdefgh");
        assert_eq!(clean("x\u{fe01}\u{e0150}y"), "xy");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(clean_line(" a\n b\r\n\tc\u{2028}d\u{0} "), "a b c d\u{fffd}");
    }
}
