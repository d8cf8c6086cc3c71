//! Reads a question: what it asks for, and which of its words tell.

use std::ops::Range;

use crate::echo;
use crate::words::{Term, Vocabulary};

/// The form of answer a question wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// "what is a …"
    Definition,
    /// "how do I …"
    HowTo,
    Why,
    When,
    Who,
    Where,
    /// "how many", "how long", "what is the default"
    Quantity,
    /// "which …", "what are the …"
    Several,
    /// "does it …", "can I …"
    YesNo,
    Plain,
}

/// A word of the question that an answer should speak of.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub term: Term,
    /// As the question writes it.
    pub word: String,
    /// How telling the word is, before the passages are known.
    pub specific: f64,
}

/// A question that was read.
#[derive(Debug)]
pub struct Question {
    pub kind: Kind,
    /// Asks for a point in time, and not for an occasion: "when was …".
    pub dated: bool,
    pub asked: Vec<Asked>,
    /// Which of them an earlier part of the question names and this one means.
    pub thing: Range<usize>,
    /// All its words in lower case and in order; none when it is no question but
    /// a topic.
    pub words: Vec<String>,
    /// In bytes.
    pub length: usize,
    /// Which asked word a term stands for, and how well: 1 for the word itself,
    /// less for one of like meaning. By number: the question is read first, so its
    /// terms have the lowest ones.
    matches: Vec<Option<(usize, f64)>>,
}

/// More words than this and the question is a text; its beginning says most.
const MOST_WORDS: usize = 32;
/// No one repeats a longer question word for word, in bytes.
const LONGEST_REPEATED: usize = 600;
const LIKE_MEANING: f64 = 0.6;
/// What a word that is said of a thing counts for its name.
const OF_THE_THING: f64 = 0.8;
const WEAK: f64 = 0.35;
/// How telling a word is that the question's kind already says.
pub const SAID_ANYWAY: f64 = 0.15;

impl Question {
    pub fn read(text: &str, vocabulary: &mut Vocabulary) -> Self {
        let text = &text[..text.len().min(floor(text, 20_000))];
        let kind = kind(text);
        let mut asked: Vec<Asked> = Vec::new();
        let mut skip_until = 0;
        for word in vocabulary.words(text) {
            let Some(term) = word.term else { continue };
            // The parts of an identifier come after it: the whole is what counts.
            if word.start < skip_until {
                continue;
            }
            skip_until = word.end;
            if asked.iter().any(|other| other.term == term) {
                continue;
            }
            let written = &text[word.start..word.end];
            asked.push(Asked {
                term,
                word: written.to_owned(),
                specific: specific(kind, written, word.start),
            });
            if asked.len() == MOST_WORDS {
                break;
            }
        }
        let mut matches = Vec::new();
        for group in LIKE {
            let terms: Vec<_> = group.iter().filter_map(|word| vocabulary.term(word)).collect();
            for (index, word) in asked.iter().enumerate() {
                if terms.contains(&word.term) {
                    for term in &terms {
                        slot(&mut matches, *term).get_or_insert((index, LIKE_MEANING));
                    }
                }
            }
        }
        for (index, word) in asked.iter().enumerate() {
            *slot(&mut matches, word.term) = Some((index, 1.0));
        }
        let asks = kind != Kind::Plain || text.trim_end().ends_with('?');
        let words =
            if asks && text.len() <= LONGEST_REPEATED { echo::words(text) } else { Vec::new() };
        Self {
            kind,
            dated: kind == Kind::When && asks_for_date(text),
            asked,
            thing: 0..0,
            words,
            length: text.len(),
            matches,
        }
    }

    /// Asks for words of another question too: what "it" stands for. Its other
    /// telling words nearly do: who speaks of what is done with the thing, speaks
    /// of the thing.
    pub fn refer_to(&mut self, other: &Self, carried: &[usize]) {
        let thing = self.asked.len();
        for &from in carried {
            let word = &other.asked[from];
            if self.asked.iter().any(|own| own.term == word.term) {
                continue;
            }
            let index = self.asked.len();
            self.asked.push(word.clone());
            for (term, matched) in other.matches.iter().enumerate() {
                if let Some((_, credit)) = matched.filter(|(to, _)| *to == from) {
                    slot(&mut self.matches, term as Term).get_or_insert((index, credit));
                }
            }
        }
        self.thing = thing..self.asked.len();
        if self.thing.is_empty() {
            return;
        }
        for (from, word) in other.asked.iter().enumerate() {
            if word.specific > 0.5 && !carried.contains(&from) {
                slot(&mut self.matches, word.term).get_or_insert((thing, OF_THE_THING));
            }
        }
    }

    /// How many of its words are telling.
    pub fn telling(&self) -> usize {
        self.asked.iter().filter(|asked| asked.specific > 0.5).count()
    }

    /// Which asked word a term speaks of, and how well.
    pub fn matched(&self, term: Term) -> Option<(usize, f64)> {
        self.matches.get(term as usize).copied().flatten()
    }

    /// Whether it asks where something is declared in code.
    pub fn asks_for_code(&self) -> bool {
        self.kind == Kind::Where
            && self
                .asked
                .iter()
                .any(|asked| WHERE_WORDS.contains(&asked.word.to_lowercase().as_str()))
    }

    /// Whether the question itself uses one of these words.
    pub fn mentions(&self, words: &[&str]) -> bool {
        self.asked.iter().any(|asked| {
            let lower = asked.word.to_lowercase();
            words.iter().any(|word| lower.starts_with(word))
        })
    }
}

fn slot(matches: &mut Vec<Option<(usize, f64)>>, term: Term) -> &mut Option<(usize, f64)> {
    let index = term as usize;
    if matches.len() <= index {
        matches.resize(index + 1, None);
    }
    &mut matches[index]
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Names, numbers and identifiers say more than common words.
fn specific(kind: Kind, word: &str, at: usize) -> f64 {
    let lower = word.to_lowercase();
    // What a question of its kind says anyway, and an answer need not.
    let said_anyway = match kind {
        Kind::Where => WHERE_WORDS.contains(&lower.as_str()),
        Kind::Several | Kind::Quantity => SEVERAL_WORDS.contains(&lower.as_str()),
        Kind::When => matches!(lower.as_str(), "released" | "release" | "published" | "version"),
        _ => false,
    };
    if said_anyway {
        return SAID_ANYWAY;
    }
    if WEAK_WORDS.contains(&lower.as_str()) {
        return WEAK;
    }
    let identifier = word.contains('_') || word.chars().any(|character| character.is_ascii_digit());
    let capital = at > 0 && word.chars().next().is_some_and(char::is_uppercase);
    if identifier || capital { 1.3 } else { 1.0 }
}

fn asks_for_date(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["when was", "when were", "when did", "what year", "which year", "what date"]
        .iter()
        .any(|start| lower.contains(start))
}

fn kind(text: &str) -> Kind {
    let lower = text.trim().to_lowercase();
    let words: Vec<&str> = lower
        .split(|character: char| !character.is_alphanumeric() && character != '\'')
        .filter(|word| !word.is_empty())
        .take(40)
        .collect();
    // The question word may stand later: "in the store, how many …".
    let ask = words.iter().position(|word| {
        matches!(
            *word,
            "how" | "what" | "why" | "when" | "who" | "whose" | "where" | "which" | "what's"
        )
    });
    let Some(at) = ask.filter(|at| *at < 12) else {
        return match words.first().copied() {
            Some(
                "is" | "are" | "does" | "do" | "can" | "should" | "must" | "may" | "will" | "did"
                | "has" | "have" | "could",
            ) => Kind::YesNo,
            Some("define" | "explain" | "describe") => Kind::Definition,
            Some("list" | "name") => Kind::Several,
            _ => Kind::Plain,
        };
    };
    // A question may open with a verb and hold a question word further on:
    // "does it say why …" still asks why.
    let next = words.get(at + 1).copied().unwrap_or("");
    let third = words.get(at + 2).copied().unwrap_or("");
    match words[at] {
        "how" => match next {
            "many" | "much" | "long" | "large" | "big" | "often" | "fast" | "old" | "deep"
            | "far" | "high" | "small" => Kind::Quantity,
            "do" | "can" | "to" | "should" | "would" => Kind::HowTo,
            _ => Kind::Plain,
        },
        "why" => Kind::Why,
        "when" => Kind::When,
        "who" | "whose" => Kind::Who,
        "where" => Kind::Where,
        "which" | "what" if matches!(next, "version" | "versions" | "port") => Kind::Quantity,
        "what" | "which"
            if third == "version" && matches!(words.get(at + 3), Some(&("is" | "does" | "do"))) =>
        {
            Kind::Quantity
        }
        "which" => Kind::Several,
        "what's" => Kind::Definition,
        _ => match (next, third) {
            ("is" | "are", "the")
                if words.iter().any(|word| {
                    matches!(
                        *word,
                        "default" | "maximum" | "minimum" | "limit" | "size" | "number" | "version"
                    )
                }) =>
            {
                Kind::Quantity
            }
            ("is" | "does" | "means", _) if words.len() <= at + 7 => Kind::Definition,
            ("are", "the") => Kind::Several,
            ("are", _) => Kind::Definition,
            ("year" | "date" | "time", _) => Kind::When,
            // "what clients are supported", "what tools does it offer"
            (_, "are" | "do" | "does") if !matches!(next, "is" | "does" | "do" | "happens") => {
                Kind::Several
            }
            _ => Kind::Plain,
        },
    }
}

#[rustfmt::skip]
const WHERE_WORDS: &[&str] = &[
    "class", "code", "constant", "declared", "define", "defined", "definition", "enum", "file", "fn",
    "function", "implementation", "implemented", "located", "method", "read", "source",
    "struct", "trait", "type", "variable",
];

#[rustfmt::skip]
const SEVERAL_WORDS: &[&str] = &[
    "available", "exist", "listen", "listens", "need", "needed", "offer", "offered", "require", "required",
    "requires", "support", "supported", "supports", "use", "uses", "using", "version", "versions",
];

#[rustfmt::skip]
const WEAK_WORDS: &[&str] = &[
    "use", "uses", "using", "work", "works", "working", "happen", "happens", "mean", "means", "explain",
    "describe", "show", "list", "need", "needs", "want", "thing", "things", "kind", "kinds", "best", "good",
    "better", "example", "examples", "help", "possible", "know", "look", "called", "actually", "exactly",
    "currently", "define", "definition", "purpose", "reason", "reasons", "difference", "different", "mention",
    "say", "says", "project", "long", "number", "year", "date", "go", "goes", "take", "takes", "come", "first",
    "last", "two", "main", "own", "new", "still", "able", "want", "wants", "try", "tries", "find", "found",
    "keep", "put", "place", "point", "part", "someone", "something", "anything", "two", "three", "types",
    "type", "sort", "file", "code", "name", "allow", "allows", "provide", "provides", "there", "available", "offer", "offers", "include",
    "includes",
];

/// Words that documents use for one another.
const LIKE: &[&[&str]] = &[
    &["install", "setup", "installation"],
    &["configure", "settings", "setting", "option", "options", "customize", "set"],
    &["remove", "delete", "uninstall", "drop", "erase"],
    &["create", "generate", "build", "construct", "new"],
    &["run", "start", "launch", "execute", "invoke"],
    &["stop", "end", "finish", "terminate", "abort", "exit"],
    &["error", "failure", "fail", "panic", "exception"],
    &["limit", "maximum", "max", "cap", "bound", "most"],
    &["minimum", "min", "least"],
    &["fast", "speed", "performance", "quick", "slow", "throughput"],
    &["forbid", "refuse", "deny", "reject", "disallow", "prohibit", "block", "ban"],
    &["permit", "allow", "grant", "permission"],
    &["need", "require", "requirement", "must", "necessary", "prerequisite"],
    &["change", "modify", "alter", "edit", "update"],
    &["show", "display", "print", "render"],
    &["save", "store", "persist", "keep", "write"],
    &["secret", "key", "credential", "token", "password"],
    &["directory", "folder", "dir"],
    &["argument", "parameter", "flag", "param"],
    &["safe", "secure", "security", "safety"],
    &["convert", "transform", "translate", "cast"],
    &["parse", "read", "decode", "deserialize"],
    &["write", "develop", "create", "implement", "build", "built", "author"],
    &["write", "wrote", "written", "author"],
    &["serialize", "encode"],
    &["split", "cut", "divide", "separate"],
    &["combine", "merge", "join", "concatenate"],
    &["function", "method", "fn"],
    &["call", "invoke"],
    &["author", "maintainer", "creator", "written"],
    &["license", "licence", "licensed", "copyright"],
    &["cost", "price", "money", "spend"],
    &["support", "compatible", "compatibility"],
    &["default", "defaults"],
    &["cancel", "abort", "interrupt"],
    &["retry", "again", "repeat", "attempt"],
    &["disable", "off", "skip", "ignore", "suppress"],
    &["enable", "activate", "on"],
    &["begin", "start", "initialize", "init"],
    &["wait", "block", "sleep", "delay", "timeout"],
    &["check", "verify", "validate", "test"],
    &["big", "large", "size"],
    &["round", "iteration", "loop"],
];

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Kind, Vec<String>) {
        let question = Question::read(text, &mut Vocabulary::new());
        (question.kind, question.asked.into_iter().map(|asked| asked.word).collect())
    }

    #[test]
    fn the_form_of_answer_is_seen() {
        for (text, kind) in [
            ("What is a gate?", Kind::Definition),
            ("How do I add a plugin?", Kind::HowTo),
            ("How many rounds are there?", Kind::Quantity),
            ("What is the default limit of rounds?", Kind::Quantity),
            ("Why are secrets kept in the host?", Kind::Why),
            ("When was it released?", Kind::When),
            ("Who maintains this crate?", Kind::Who),
            ("Where are reports saved?", Kind::Where),
            ("Which tools are there?", Kind::Several),
            ("Does it work offline?", Kind::YesNo),
            ("What clients are supported?", Kind::Several),
            ("Which Python version is required?", Kind::Quantity),
            ("Which port does it use?", Kind::Quantity),
            ("plugin sandbox limits", Kind::Plain),
        ] {
            assert_eq!(read(text).0, kind, "{text}");
        }
    }

    #[test]
    fn only_telling_words_are_asked() {
        assert_eq!(
            read("How do I set max_cost_usd for the Gemini backend?").1,
            ["set", "max_cost_usd", "Gemini", "backend"]
        );
        assert!(read("what is it?").1.is_empty());
    }

    #[test]
    fn like_meaning_counts_less_than_the_word() {
        let mut vocabulary = Vocabulary::new();
        let question = Question::read("delete a task", &mut vocabulary);
        let remove = vocabulary.term("removed").unwrap();
        let delete = vocabulary.term("deleted").unwrap();
        assert_eq!(question.matched(delete), Some((0, 1.0)));
        assert_eq!(question.matched(remove), Some((0, LIKE_MEANING)));
        let other = vocabulary.term("submarine").unwrap();
        assert_eq!(question.matched(other), None);
    }
}
