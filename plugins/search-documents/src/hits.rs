//! From what the index found to hits: no text twice.

use std::collections::HashSet;

/// Drops matches whose text another match before them has already.
pub fn without_repeats<T>(matches: Vec<T>, text: impl Fn(&T) -> &str) -> Vec<T> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut kept = Vec::with_capacity(matches.len());
    for found in matches {
        let plain = text(&found)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if seen.insert(plain) {
            kept.push(found);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_texts_stays() {
        let found = without_repeats(vec![(1, "a b"), (2, "c"), (3, "a\n b")], |one| one.1);
        assert_eq!(found, [(1, "a b"), (2, "c")]);
    }
}
