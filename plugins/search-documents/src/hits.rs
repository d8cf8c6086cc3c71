//! From what the index found to hits: in the order a reader wants them, and no
//! text twice.

use std::collections::{HashMap, HashSet};

/// A passage that the index found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub root: u32,
    pub path: String,
    pub title: String,
    pub heading: String,
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    pub score: f64,
    /// Its document has several subjects, as a manual among code has.
    pub of_many: bool,
}

/// How much less a further passage of a document with several subjects gives way.
const OF_MANY: f64 = 0.2;

/// Arranges passages, which come by document, the best document first. Further
/// passages of a document give way to other documents unless those fit far
/// worse, for a second source is worth more than a second passage.
pub fn arrange(found: Vec<Found>, results: usize) -> Vec<Found> {
    let mut texts: HashSet<String> = HashSet::new();
    let mut passages: HashMap<(u32, String), u32> = HashMap::new();
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for mut passage in found {
        let plain: Vec<&str> = passage.text.split_whitespace().collect();
        if !texts.insert(plain.join(" ")) {
            continue;
        }
        let before = passages.entry((passage.root, passage.path.clone())).or_default();
        *before += 1;
        let share = if passage.of_many { OF_MANY } else { 1.0 };
        passage.score /= 1.0 + share * f64::from(*before - 1);
        kept.push(passage);
    }
    // Stable, so that what scores the same stays as the index ranked it.
    kept.sort_by(|one, other| other.score.total_cmp(&one.score));
    kept.truncate(results);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str, score: f64) -> Found {
        Found {
            root: 0,
            path: path.to_owned(),
            title: String::new(),
            heading: String::new(),
            start_line: 1,
            end_line: 1,
            text: text.to_owned(),
            score,
            of_many: false,
        }
    }

    fn texts(found: &[Found]) -> Vec<&str> {
        found.iter().map(|one| one.text.as_str()).collect()
    }

    #[test]
    fn other_documents_come_before_second_passages_unless_they_are_far_worse() {
        let all = vec![
            found("a", "a1", 10.0),
            found("a", "a2", 9.0),
            found("b", "b1", 8.0),
            found("c", "c1", 2.0),
        ];
        assert_eq!(texts(&arrange(all.clone(), 9)), ["a1", "b1", "a2", "c1"]);
        assert_eq!(texts(&arrange(all, 2)), ["a1", "b1"]);
    }

    #[test]
    fn sections_of_a_manual_hardly_give_way() {
        let mut all = vec![found("a", "a1", 10.0), found("a", "a2", 9.0), found("b", "b1", 7.0)];
        for passage in &mut all {
            passage.of_many = true;
        }
        assert_eq!(texts(&arrange(all, 9)), ["a1", "a2", "b1"]);
    }

    #[test]
    fn the_first_of_equal_texts_stays() {
        let all = vec![
            found("a", "one two", 3.0),
            found("b", "one\n two", 2.0),
            found("c", "other", 1.0),
        ];
        assert_eq!(texts(&arrange(all, 9)), ["one two", "other"]);
    }
}
