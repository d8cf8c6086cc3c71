//! Cuts a question into the parts that ask for different things ("what …, and
//! who …"), and tells what a later part means by "it". Works on the words alone:
//! where it is not sure of a joint, the question stays whole.

use std::ops::Range;

/// A longer text is no question of parts, in bytes.
const LONGEST: usize = 600;
/// Who asks more than this at once wants an essay.
const MOST_PARTS: usize = 4;

/// Where the parts are; a single one for a question that asks for one thing.
pub fn split(text: &str) -> Vec<Range<usize>> {
    let words = if text.len() > LONGEST { Vec::new() } else { words(text) };
    let mut parts = Vec::new();
    let mut first = 0;
    let mut start = 0;
    for at in 1..words.len() {
        let between = &text[words[at - 1].range.end..words[at].range.start];
        // A dot alone stands within a number or a name: "1.95", "plugins.toml".
        let sentence = between.contains(['?', '？', ';', '.', '!']) && between != ".";
        let joined = matches!(words[at - 1].lower.as_str(), "and" | "but" | "or");
        // "In the store, how many …": what does not ask is no part.
        if (sentence || joined) && opens(&words[first..], false) && opens(&words[at..], joined) {
            let end = if joined { words[at - 1].range.start } else { words[at].range.start };
            parts.push(start..end);
            first = at;
            start = words[at].range.start;
        }
    }
    if parts.len() >= MOST_PARTS {
        parts.clear();
        start = 0;
    }
    parts.push(start..text.len());
    parts
}

/// Whether a part points back to the thing of an earlier one.
pub fn points_back(part: &str) -> bool {
    words(part).iter().any(|word| {
        matches!(
            word.lower.as_str(),
            "it" | "its"
                | "itself"
                | "they"
                | "them"
                | "their"
                | "this"
                | "these"
                | "those"
                | "one"
                | "ones"
                | "each"
        )
    })
}

/// Whether a part names a thing of its own: "a winch", "which ropes".
pub fn names_a_thing(part: &str) -> bool {
    words(part).iter().any(|word| {
        is_article(&word.lower) || matches!(word.lower.as_str(), "which" | "many" | "much")
    })
}

/// The words of what a question is about: "hatch" of "what may a hatch hold". None
/// where its build does not tell.
pub fn thing(part: &str) -> Vec<&str> {
    let words = words(part);
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    for at in 0..words.len() {
        let verb = is_auxiliary(lower(at));
        // A question word names what follows only in "which …" and "how many …":
        // in "what happens when …" that is a verb.
        if !verb && !is_article(lower(at)) && !matches!(lower(at), "which" | "many") {
            continue;
        }
        let from = at + 1 + usize::from(verb && is_article(lower(at + 1)));
        let rest = words.get(from..).unwrap_or_default();
        let together = |(index, word): &(usize, &Word)| {
            *index == 0 || part[..word.range.start].ends_with([' ', '-', '/'])
        };
        let name = rest.iter().take_while(|word| !is_small(&word.lower)).enumerate();
        let length = name.take_while(together).count();
        // "What is a ballast tank" names it all; "where is the anchor stowed" and
        // "what may a hatch hold" end with what is done.
        let named = matches!(lower(at), "is" | "are" | "was" | "were")
            && matches!(lower(0), "what" | "who" | "which");
        let length = if verb && !named && length > 1 { length - 1 } else { length };
        if length > 0 {
            return rest[..length].iter().map(|word| &part[word.range.clone()]).collect();
        }
    }
    Vec::new()
}

struct Word {
    range: Range<usize>,
    lower: String,
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (at, character) in text.char_indices() {
        if !character.is_alphanumeric() && !matches!(character, '_' | '\'' | '’') {
            continue;
        }
        match words.last_mut() {
            Some(word) if word.range.end == at => word.range.end = at + character.len_utf8(),
            _ => words.push(Word { range: at..at + character.len_utf8(), lower: String::new() }),
        }
    }
    for word in &mut words {
        word.lower = text[word.range.clone()].to_lowercase();
    }
    words
}

/// Whether a question begins here. After "and" only what could not go on with the
/// same question: "which are read and are kept" and "what to do and when it ends"
/// have one part.
fn opens(words: &[Word], joined: bool) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let points = |word: &str| is_article(word) || is_pronoun(word);
    let at = usize::from(is_preposition(lower(0)) && matches!(lower(1), "which" | "what" | "whom"));
    if asks(lower(at)) {
        return !joined || !(points(lower(at + 1)) || matches!(lower(at + 1), "to" | ""));
    }
    if is_auxiliary(lower(0)) {
        return !joined || points(lower(1));
    }
    !joined && matches!(lower(0), "define" | "describe" | "explain" | "list" | "name")
}

fn asks(word: &str) -> bool {
    matches!(
        word,
        "how" | "what" | "what's" | "why" | "when" | "who" | "whom" | "whose" | "where" | "which"
    )
}

fn is_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "are"
            | "was"
            | "were"
            | "do"
            | "does"
            | "did"
            | "can"
            | "could"
            | "may"
            | "might"
            | "must"
            | "shall"
            | "should"
            | "will"
            | "would"
            | "has"
            | "have"
            | "had"
    )
}

fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the")
}

fn is_pronoun(word: &str) -> bool {
    matches!(
        word,
        "i" | "you"
            | "he"
            | "she"
            | "it"
            | "we"
            | "they"
            | "one"
            | "this"
            | "that"
            | "these"
            | "those"
            | "its"
            | "their"
            | "my"
            | "your"
            | "our"
            | "there"
    )
}

fn is_preposition(word: &str) -> bool {
    matches!(
        word,
        "in" | "at" | "by" | "for" | "from" | "of" | "on" | "to" | "under" | "with" | "after"
    )
}

/// Ends the name of a thing.
fn is_small(word: &str) -> bool {
    asks(word)
        || is_auxiliary(word)
        || is_article(word)
        || is_pronoun(word)
        || is_preposition(word)
        || matches!(word, "and" | "or" | "not" | "be" | "been" | "many" | "much" | "each" | "if")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        split(text).into_iter().map(|part| text[part].trim_end_matches([' ', ','])).collect()
    }

    #[test]
    fn what_asks_for_different_things_is_cut() {
        for (text, expected) in [
            (
                "What may a hatch hold, and who seals it?",
                &["What may a hatch hold", "who seals it?"][..],
            ),
            (
                "How are dives limited and why do they stop?",
                &["How are dives limited", "why do they stop?"],
            ),
            ("What is a lamp? How do I light one?", &["What is a lamp?", "How do I light one?"]),
            (
                "What happens when it leaks, and is it closed again?",
                &["What happens when it leaks", "is it closed again?"],
            ),
            (
                "Which tanks are there, in which order are they blown, and by which valves?",
                &["Which tanks are there, in which order are they blown", "by which valves?"],
            ),
            ("Explain the winch. Who built it?", &["Explain the winch.", "Who built it?"]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn what_asks_for_one_thing_stays_whole() {
        for text in [
            "",
            "?",
            "What is a ballast tank?",
            "What are hulls and hatches?",
            "How do I coil and stow it?",
            "Which ropes are coiled and are kept?",
            "Who decides what to haul and when to stop?",
            "Who decides what is hauled and when it stops?",
            "In the store, how many ropes are there?",
            "When the hull leaks, what happens?",
            "Is 1.95 faster than 1.94?",
            "hull and hatch",
            "The hull leaks. Why?",
        ] {
            assert_eq!(parts(text), [text], "{text}");
        }
        assert_eq!(split(&"Why ballast? ".repeat(6)).len(), 1);
        assert_eq!(split(&"Why ballast? ".repeat(80_000)).len(), 1);
    }

    #[test]
    fn the_thing_is_what_the_part_is_about() {
        for (text, expected) in [
            ("What may a hatch hold", &["hatch"][..]),
            ("Where is the anchor stowed", &["anchor"]),
            ("How are lamps lit", &["lamps"]),
            ("What is a ballast tank", &["ballast", "tank"]),
            ("How do I blow a ballast tank", &["ballast", "tank"]),
            ("Which winches are greased", &["winches"]),
            ("What happens when a rope tears", &["rope", "tears"]),
            ("What does the pilot do", &["pilot"]),
            ("Why", &[]),
        ] {
            assert_eq!(thing(text), expected, "{text}");
        }
    }

    #[test]
    fn only_some_parts_point_back() {
        assert!(points_back("who seals it?") && points_back("how long may each take?"));
        assert!(!points_back("why does the winch stop?"));
    }
}
