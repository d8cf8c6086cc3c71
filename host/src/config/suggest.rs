//! The nearest known word to one that is not known.

/// Below this, a suggestion confuses more than it helps.
const LIKENESS: f64 = 0.8;

/// Hyphens and underscores, upper and lower case are the same slip of the pen.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let word = plain(word);
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        // The first of equals, so that the answer does not depend on the order
        // in which floats happen to be compared.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, candidate)| candidate)
}

/// "did you mean …", or else what there is.
pub fn suggestion<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str> + Clone,
    what: &str,
) -> String {
    if let Some(candidate) = nearest(word, known.clone()) {
        return format!("did you mean `{candidate}`?");
    }
    let mut known = known.into_iter().peekable();
    if known.peek().is_none() {
        format!("there are no {what}")
    } else {
        format!("the {what} are {}", quoted(known))
    }
}

/// `` `a`, `b` and `c` ``
pub fn quoted<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        let known = ["memory_mb", "compute_seconds", "timeout_seconds", "host_calls"];
        assert_eq!(nearest("memory", known), Some("memory_mb"));
        assert_eq!(nearest("Timeout-Seconds", known), Some("timeout_seconds"));
        assert_eq!(nearest("host_call", known), Some("host_calls"));
        assert_eq!(nearest("zebra", known), None);
        assert_eq!(suggestion("zebra", ["a", "b", "c"], "keys"), "the keys are `a`, `b` and `c`");
        assert_eq!(suggestion("zebra", [], "keys"), "there are no keys");
    }
}
