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

/// The parts of a question as queries of their own: each sentence, and each half
/// that begins with a question word of its own ("…, and who seals it?"). A half
/// that says "it" is asked with the first telling word of the question. None for
/// a question of one part.
pub fn part_queries(text: &str) -> Vec<String> {
    let mut parts: Vec<Vec<&str>> = vec![Vec::new()];
    let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let next = words.get(at + 1).map_or(String::new(), |next| plain(next));
        let joined = plain(before) == "and" && asks(&plain(word)) && !goes_on(&next);
        if joined || before.ends_with(['?', ';']) {
            parts.push(Vec::new());
        }
        parts.last_mut().expect("there is a first part").push(word);
    }
    let subject = key_words(text).into_iter().next();
    let mut queries: Vec<String> = Vec::new();
    for part in parts {
        let mut words = key_words(&part.join(" "));
        if words.is_empty() {
            continue;
        }
        let points_back = part.iter().any(|word| {
            matches!(plain(word).as_str(), "it" | "its" | "they" | "them" | "their" | "one")
        });
        if !queries.is_empty() && points_back {
            words.extend(subject.clone());
        }
        queries.push(words.join(" "));
    }
    if queries.len() > 1 { queries } else { Vec::new() }
}

/// A word without its punctuation, in lower case.
fn plain(word: &str) -> String {
    word.trim_matches(|character: char| !character.is_alphanumeric()).to_lowercase()
}

fn asks(word: &str) -> bool {
    matches!(word, "how" | "what" | "why" | "when" | "who" | "whose" | "where" | "which")
}

/// "what to do and when it ends" is one question: after these words none begins.
fn goes_on(word: &str) -> bool {
    matches!(word, "" | "to" | "a" | "an" | "the" | "it" | "they" | "i" | "you" | "we" | "this")
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
    fn the_parts_of_a_question_are_queries() {
        assert_eq!(
            part_queries("What may a hatch hold, and who seals it?"),
            ["hatch hold", "seals hatch"]
        );
        assert_eq!(
            part_queries("How are dives limited? Why does the winch stop?"),
            ["dives limited", "winch stop"]
        );
        for text in [
            "",
            "What is a hatch?",
            "hull and hatch",
            "Is the hull cold, and why?",
            "Who decides what to haul and when to stop?",
            "Who decides what is hauled and when it ends?",
        ] {
            assert_eq!(part_queries(text), [""; 0], "{text}");
        }
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
