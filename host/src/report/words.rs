//! Counts, times and reasons in words, the same in reports, progress and tables;
//! and the one place that takes control characters out of foreign text.

use crate::plugins::contract::StopReason;

/// `1 round`, `2 rounds`, `1,234 files`.
pub fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `40 ms`, `0.4 s`, `12 s`, `2 min 5 s`, `1 h 3 min`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match milliseconds {
        0..100 => format!("{milliseconds} ms"),
        100..9_950 => format!("{:.1} s", milliseconds as f64 / 1000.0),
        9_950..60_000 => format!("{} s", (milliseconds + 500) / 1000),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `$1.25`, `$0.0213`: more digits where the cents would hide it.
pub fn money(dollars: f64) -> String {
    if dollars == 0.0 || dollars.abs() >= 0.995 {
        format!("${dollars:.2}")
    } else {
        format!("${dollars:.4}")
    }
}

/// Why a run ended, to follow "stopped because".
pub fn stop_reason(reason: &StopReason) -> String {
    match reason {
        StopReason::NotNeeded => "the question needs no research".to_owned(),
        StopReason::GoodEnough => "the findings cover the question".to_owned(),
        StopReason::Verified => "the answer was checked and holds".to_owned(),
        StopReason::DiminishingReturns => "the last rounds added little".to_owned(),
        StopReason::Repetition => "further searches would repeat what was found".to_owned(),
        StopReason::Budget => "the budget was used up".to_owned(),
        StopReason::Limit => "all planned rounds were done".to_owned(),
        StopReason::NothingFound => "nothing was found".to_owned(),
        StopReason::Other(name) if name == "round-failed" => {
            "the last round failed, and trying again would not help".to_owned()
        }
        StopReason::Other(name) if name == "reported" => "the research backend reported".to_owned(),
        StopReason::Other(name) => one_line(name),
    }
}

/// `“a”, “b” and “c”`.
pub fn quoted_list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = items.into_iter().map(|item| format!("“{item}”")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// Text from elsewhere without what would steer a terminal or reorder what is
/// read: escape sequences, control characters, and direction overrides.
pub fn clean(text: &str) -> String {
    if !text.contains(|character| steers(character) || reorders(character)) {
        return text.to_owned();
    }
    anstream::adapter::strip_str(text)
        .to_string()
        .chars()
        .filter(|&character| !steers(character) && !reorders(character))
        .collect()
}

fn steers(character: char) -> bool {
    character.is_control() && character != '\n' && character != '\t'
}

fn reorders(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Cleaned, and every run of white space a single space.
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `limit` characters, the last of them `…` where some were left off.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_words() {
        assert_eq!(count(1, "round"), "1 round");
        assert_eq!(count(0, "finding"), "0 findings");
        assert_eq!(count(1_234_567, "file"), "1,234,567 files");
        assert_eq!(grouped(999), "999");
    }

    #[test]
    fn durations_have_two_digits_of_meaning() {
        let cases = [
            (7, "7 ms"),
            (412, "0.4 s"),
            (9_949, "9.9 s"),
            (9_960, "10 s"),
            (59_400, "59 s"),
            (125_000, "2 min 5 s"),
            (3_780_000, "1 h 3 min"),
        ];
        for (milliseconds, expected) in cases {
            assert_eq!(duration(milliseconds), expected);
        }
    }

    #[test]
    fn cleaning_takes_out_what_steers_a_terminal() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m\u{7}b"), "aredb");
        assert_eq!(clean("\u{1b}]0;title\u{7}text"), "text");
        assert_eq!(clean("one\n\ttwo\r"), "one\n\ttwo");
        assert_eq!(clean("abc\u{202e}def\u{9b}"), "abcdef");
    }

    #[test]
    fn lists_and_shortening() {
        assert_eq!(quoted_list(["a"]), "“a”");
        assert_eq!(quoted_list(["a", "b", "c"]), "“a”, “b” and “c”");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
