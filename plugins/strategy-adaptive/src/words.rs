//! The little that the strategy reads from a text: which words tell, and whether
//! two queries are the same.

/// The words of a text that say what it is about, in order, each once.
pub fn key_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(|character: char| !is_word(character)) {
        let word = word.trim_matches(['-', '.', '_', '\'', '’']);
        if word.is_empty() || is_filler(&word.to_lowercase()) {
            continue;
        }
        if !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            words.push(word.to_owned());
        }
        if words.len() == MOST_WORDS {
            break;
        }
    }
    words
}

/// A longer text is cut: nobody searches for hundreds of words.
const MOST_WORDS: usize = 100;

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '\'' | '’' | '#' | '+')
}

/// The same words in any order and case make the same query.
pub fn fingerprint(query: &str) -> String {
    let mut words = key_words(&query.to_lowercase());
    if words.is_empty() {
        words = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
    }
    for word in &mut words {
        // A plural asks for nothing new.
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
    }
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// Whether a text asks for anything: not "hi", not "thanks a lot".
pub fn asks_nothing(text: &str) -> bool {
    key_words(text).iter().all(|word| is_courtesy(&word.to_lowercase()))
}

/// How many parts a question has: questions, and halves joined by "and" or by a
/// comparison.
pub fn parts(text: &str) -> usize {
    let lower = text.to_lowercase();
    let questions = lower.matches('?').count().max(1);
    let joints = [
        " and ",
        " versus ",
        " vs ",
        " vs. ",
        " compared ",
        " compare ",
        "compare ",
        " difference between ",
        " as well as ",
        " trade-off",
        " tradeoff",
        " pros and cons",
        "; ",
    ];
    let joined = joints.iter().filter(|joint| lower.contains(**joint)).count();
    questions + joined
}

fn is_courtesy(word: &str) -> bool {
    matches!(
        word,
        "hi" | "hello"
            | "hey"
            | "thanks"
            | "thank"
            | "ok"
            | "okay"
            | "yes"
            | "bye"
            | "goodbye"
            | "good"
            | "morning"
            | "evening"
            | "cheers"
            | "great"
            | "nice"
            | "cool"
            | "lot"
            | "well"
            | "sure"
            | "fine"
            | "welcome"
            | "sorry"
            | "test"
            | "ping"
    )
}

fn is_filler(word: &str) -> bool {
    FILLERS.binary_search(&word).is_ok()
}

#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can",
    "could", "did", "do", "does", "for", "from", "give", "had", "has", "have", "how", "i", "if", "in", "into",
    "is", "it", "its", "let", "many", "may", "me", "might", "more", "most", "much", "must", "my", "need", "no",
    "not", "of", "on", "or", "our", "please", "shall", "should", "show", "so", "some", "tell", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "very", "want", "was",
    "we", "were", "what", "when", "where", "whether", "which", "while", "who", "whose", "why", "will", "with",
    "would", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fillers_can_be_searched() {
        assert!(FILLERS.is_sorted());
    }

    #[test]
    fn key_words_are_what_is_left() {
        assert_eq!(
            key_words("How do I set max_cost in the plugins.toml?"),
            ["set", "max_cost", "plugins.toml"]
        );
        assert_eq!(key_words("C++ and C#"), ["C++", "C#"]);
    }

    #[test]
    fn the_same_query_is_known_again() {
        assert_eq!(fingerprint("What are the Limits of memory?"), fingerprint("memory limit"));
        assert_ne!(fingerprint("memory limit"), fingerprint("time limit"));
        assert_ne!(fingerprint("who"), fingerprint("why"));
    }

    #[test]
    fn courtesies_ask_nothing() {
        for text in ["hi", "Thanks!", "ok, thank you", "", "  ", "??"] {
            assert!(asks_nothing(text), "{text}");
        }
        for text in ["hi, what is a gate?", "thanks, and the limit?", "深海"] {
            assert!(!asks_nothing(text), "{text}");
        }
    }
}
