//! The part of a passage that shows why it was found, and the words that matched.

use std::collections::HashSet;

use rust_stemmers::{Algorithm, Stemmer};

/// A snippet's words: about three lines of a terminal.
const WORDS: usize = 45;

pub struct Matcher {
    stemmer: Stemmer,
    stems: HashSet<String>,
}

impl Matcher {
    pub fn new(query: &str) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        // Words of one or two letters match nearly everything.
        let mut stems: HashSet<String> = words(query)
            .filter(|word| word.chars().count() > 2)
            .map(|word| stem(&stemmer, word))
            .collect();
        if stems.is_empty() {
            stems = words(query).map(|word| stem(&stemmer, word)).collect();
        }
        Self { stemmer, stems }
    }

    /// The window of words with the most different matches, then the most.
    pub fn snippet(&self, text: &str) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.len() <= WORDS {
            return words.join(" ");
        }
        let matches: Vec<Option<String>> = words.iter().map(|word| self.matching(word)).collect();
        let value = |start: usize| {
            let window = &matches[start..start + WORDS];
            let different: HashSet<&String> = window.iter().flatten().collect();
            (different.len(), window.iter().flatten().count())
        };
        // Of equals the first, because a passage begins with what it is about.
        let start = (0..=words.len() - WORDS)
            .max_by_key(|start| (value(*start), usize::MAX - start))
            .unwrap_or(0);
        // A few words before the first match, rather than at the window's end.
        let first = matches[start..start + WORDS].iter().position(Option::is_some).unwrap_or(0);
        let start = (start + first.saturating_sub(6)).min(words.len() - WORDS);
        let mut snippet = words[start..start + WORDS].join(" ");
        if start > 0 {
            snippet.insert_str(0, "… ");
        }
        if start + WORDS < words.len() {
            snippet.push_str(" …");
        }
        snippet
    }

    /// The text with every matching word as `mark` gives it back.
    pub fn highlight(&self, text: &str, mark: impl Fn(&str) -> String) -> String {
        let mut marked = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let length =
                rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(length);
            if self.stems.contains(&stem(&self.stemmer, word)) {
                marked.push_str(&mark(word));
            } else {
                marked.push_str(word);
            }
            let gap = after.find(char::is_alphanumeric).unwrap_or(after.len());
            marked.push_str(&after[..gap]);
            rest = &after[gap..];
        }
        marked
    }

    fn matching(&self, text: &str) -> Option<String> {
        words(text).map(|word| stem(&self.stemmer, word)).find(|stem| self.stems.contains(stem))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn stem(stemmer: &Stemmer, word: &str) -> String {
    stemmer.stem(&word.to_lowercase()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_match_by_their_stem() {
        let matcher = Matcher::new("Indexing of files");
        let marked =
            matcher.highlight("The index, indexed: a file of `Files`.", |word| format!("<{word}>"));
        assert_eq!(marked, "The <index>, <indexed>: a <file> of `<Files>`.");
    }

    #[test]
    fn the_snippet_is_where_the_words_are() {
        let text =
            format!("{} the spring tide rises {}", "before ".repeat(80), "after ".repeat(80));
        let snippet = Matcher::new("spring tides").snippet(&text);
        assert!(snippet.contains("spring tide rises"), "{snippet}");
        assert!(snippet.starts_with("… ") && snippet.ends_with(" …"));
        assert_eq!(Matcher::new("x").snippet("short\ntext"), "short text");
    }

    #[test]
    fn without_a_match_it_is_the_beginning() {
        let text = format!("first {}", "word ".repeat(100));
        assert!(Matcher::new("nothing").snippet(&text).starts_with("first word"));
    }
}
