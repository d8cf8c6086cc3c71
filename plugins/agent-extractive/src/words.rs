//! Words as the scoring sees them: lower case, stemmed, numbered. Each distinct
//! word is stemmed once per call, because stemming is what would cost the time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use rust_stemmers::{Algorithm, Stemmer};

/// Fixed keys: the same input gives the same order of everything, and the
/// component needs no random numbers from the host.
type Hasher = BuildHasherDefault<DefaultHasher>;

/// A stem's number within one call.
pub type Term = u32;

/// A word where it stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    pub start: usize,
    pub end: usize,
    /// None for a word that says nothing by itself.
    pub term: Option<Term>,
}

/// Every stem that was met, by number.
pub struct Vocabulary {
    stemmer: Stemmer,
    known: HashMap<String, Option<Term>, Hasher>,
    stems: HashMap<String, Term, Hasher>,
    names: Vec<String>,
    buffer: String,
}

/// Longer runs of letters are data (a key, a hash), not words.
const LONGEST_WORD: usize = 48;

impl Vocabulary {
    pub fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            known: HashMap::default(),
            stems: HashMap::default(),
            names: Vec::new(),
            buffer: String::new(),
        }
    }

    /// The stem behind a number.
    #[cfg(test)]
    pub fn name(&self, term: Term) -> &str {
        &self.names[term as usize]
    }

    /// The number of a word, unless it says nothing (`the`, `of`).
    pub fn term(&mut self, word: &str) -> Option<Term> {
        self.buffer.clear();
        if word.is_ascii() {
            self.buffer.push_str(word);
            self.buffer.make_ascii_lowercase();
        } else {
            self.buffer.extend(word.chars().flat_map(char::to_lowercase));
        }
        if let Some(known) = self.known.get(self.buffer.as_str()) {
            return *known;
        }
        let term = if is_stop_word(&self.buffer) {
            None
        } else {
            let stem = if self.buffer.contains('_') {
                self.buffer.clone()
            } else {
                stem(&self.stemmer, &self.buffer)
            };
            let next = self.names.len() as Term;
            let names = &mut self.names;
            Some(*self.stems.entry(stem).or_insert_with_key(|stem| {
                names.push(stem.clone());
                next
            }))
        };
        self.known.insert(self.buffer.clone(), term);
        term
    }

    /// All words of a text in order. An identifier (`max_cost`, `maxCost`) is
    /// followed by its parts, so that either way of writing finds the other; a
    /// version by what it is a version of.
    pub fn words(&mut self, text: &str) -> Vec<Word> {
        let mut words = Vec::with_capacity(text.len() / 6);
        for (start, end) in runs(text) {
            let word = &text[start..end];
            if word.len() > LONGEST_WORD {
                continue;
            }
            words.push(Word { start, end, term: self.term(word) });
            if is_version(word) {
                // `2.0.0` is also a `2.0` and a `2`.
                for (dot, _) in word.match_indices('.') {
                    let term = self.term(&word[..dot]);
                    words.push(Word { start, end: start + dot, term });
                }
            } else if is_compound(word) {
                for (from, to) in parts(word) {
                    let term = self.term(&word[from..to]);
                    if term.is_some() {
                        words.push(Word { start: start + from, end: start + to, term });
                    }
                }
            }
        }
        words
    }
}

/// `http2` and `IPv6` stay whole; only letters take endings.
fn stem(stemmer: &Stemmer, word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let stem = stemmer.stem(word);
    // The stemmer keeps `configuration` and `config` apart; documents do not.
    match stem.as_ref() {
        "configur" => "config".to_owned(),
        "document" | "documentat" => "doc".to_owned(),
        "directori" => "dir".to_owned(),
        "repositori" => "repo".to_owned(),
        "paramet" => "param".to_owned(),
        "maximum" => "max".to_owned(),
        "minimum" => "min".to_owned(),
        "licens" | "licenc" => "licenc".to_owned(),
        other => other.to_owned(),
    }
}

/// Runs of letters, digits and underscores; scripts that write no spaces give
/// pairs of characters.
fn runs(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, first) = rest.next()?;
            if is_unspaced(first) {
                let end = match rest.peek() {
                    Some(&(at, next)) if is_unspaced(next) => at + next.len_utf8(),
                    _ => start + first.len_utf8(),
                };
                return Some((start, end));
            }
            if !is_word(first) {
                continue;
            }
            let mut end = start + first.len_utf8();
            let mut start = start;
            // `v2.0` is `2.0`.
            if matches!(first, 'v' | 'V') && is_version(dotted(&text[end..])) {
                start = end;
            }
            let mut number = first.is_ascii_digit() || start == end;
            while let Some(&(at, next)) = rest.peek() {
                // A dot within a number belongs to it: `2.0.0`, `1.95`.
                let dot = next == '.'
                    && number
                    && text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
                if !dot && (!is_word(next) || is_unspaced(next)) {
                    break;
                }
                number &= dot || next.is_ascii_digit();
                end = at + next.len_utf8();
                rest.next();
            }
            return Some((start, end));
        }
    })
}

/// The digits and dots that a text begins with.
fn dotted(text: &str) -> &str {
    let end =
        text.bytes().take(LONGEST_WORD).take_while(|byte| byte.is_ascii_digit() || *byte == b'.');
    text[..end.count()].trim_end_matches('.')
}

/// Numbers with dots between them.
fn is_version(word: &str) -> bool {
    word.contains('.')
        && word
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Chinese and Japanese characters.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

fn is_compound(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.windows(2).any(|pair| {
        (pair[0] == b'_' || pair[1] == b'_')
            || (pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
    })
}

fn parts(word: &str) -> Vec<(usize, usize)> {
    let bytes = word.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 0..=bytes.len() {
        let cut = at == bytes.len()
            || bytes[at] == b'_'
            || (at > 0 && bytes[at - 1].is_ascii_lowercase() && bytes[at].is_ascii_uppercase());
        if cut {
            if at > start {
                parts.push((start, at));
            }
            start = if at < bytes.len() && bytes[at] == b'_' { at + 1 } else { at };
        }
    }
    parts
}

/// Words that carry no subject, in lower case. Question words are here too: what
/// they ask for is read by `question`.
fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok() || FOREIGN_STOP_WORDS.binary_search(&word).is_ok()
}

/// The same in German, French, Spanish, Italian, Portuguese and Dutch, where they
/// are no English words of weight.
#[rustfmt::skip]
const FOREIGN_STOP_WORDS: &[&str] = &[
    "aan", "als", "auf", "aux", "avec", "bei", "bij", "che", "chi", "combien", "comment", "como",
    "con", "cosa", "cuando", "cuándo", "cuánto", "cómo", "da", "das", "dat", "de", "dei", "del",
    "della", "dem", "den", "der", "des", "di", "dove", "du", "dónde", "een", "ein", "eine", "einem",
    "einen", "einer", "el", "es", "est", "et", "hebben", "het", "hoe", "ich", "ihr", "il", "ist",
    "kann", "la", "las", "le", "les", "los", "mit", "naar", "nach", "nicht", "o", "oder", "oft",
    "onde", "où", "para", "per", "perché", "por", "porque", "pour", "pourquoi", "qu", "quais",
    "qual", "quale", "quali", "quando", "quanto", "que", "quel", "quelle", "quelles", "quels",
    "quem", "qui", "quien", "quién", "quoi", "qué", "sich", "sie", "sind", "sont", "um", "un",
    "una", "und", "une", "van", "viele", "vom", "von", "voor", "waar", "waarom", "wann", "wanneer",
    "warum", "wat", "welche", "welcher", "welches", "welke", "wem", "wen", "wer", "werden", "wie",
    "wird", "wo", "zu", "zum", "zur", "é",
];

#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "_", "a", "about", "above", "after", "again", "all", "already", "also", "although", "am", "an", "and",
    "any", "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "cannot", "could", "d", "did", "do", "does", "doesn", "doing", "don", "done",
    "during", "each", "either", "etc", "even", "ever", "every", "few", "for", "from", "further", "get",
    "gets", "give", "given", "gives", "had", "has", "have", "having", "he", "her", "here", "hers", "him",
    "his", "how", "however", "i", "if", "in", "into", "is", "isn", "it", "its", "itself", "just", "let",
    "lets", "like", "ll", "m", "made", "make", "makes", "many", "may", "me", "might", "more", "most",
    "much", "must", "my", "neither", "no", "nor", "not", "now", "of", "off", "on", "once", "one", "only",
    "onto", "or", "other", "others", "our", "out", "over", "own", "per", "please", "rather", "re", "s",
    "same", "shall", "she", "should", "since", "so", "some", "such", "t", "tell", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "through", "thus", "to", "too",
    "under", "until", "up", "upon", "us", "used", "ve", "very", "via", "was", "way", "we", "were", "what",
    "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within",
    "without", "would", "yet", "you", "your", "yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_can_be_searched() {
        assert!(STOP_WORDS.is_sorted());
        assert!(FOREIGN_STOP_WORDS.is_sorted());
    }

    #[test]
    fn forms_of_a_word_share_a_term() {
        let mut vocabulary = Vocabulary::new();
        assert_eq!(vocabulary.term("Indexing"), vocabulary.term("indexed"));
        assert_eq!(vocabulary.term("configuration"), vocabulary.term("config"));
        assert_ne!(vocabulary.term("plan"), vocabulary.term("plant"));
        assert_eq!(vocabulary.term("the"), None);
    }

    #[test]
    fn an_identifier_is_found_whole_and_by_its_parts() {
        let mut vocabulary = Vocabulary::new();
        let words = vocabulary.words("set max_cost_usd and readFile");
        let names: Vec<_> =
            words.iter().filter_map(|word| word.term).map(|term| vocabulary.name(term)).collect();
        assert_eq!(names, ["set", "max_cost_usd", "max", "cost", "usd", "readfil", "read", "file"]);
    }

    #[test]
    fn a_version_is_one_word() {
        let mut vocabulary = Vocabulary::new();
        let words = vocabulary.words("In v2.0.1, 3.11. Then 4.x");
        let names: Vec<_> =
            words.iter().filter_map(|word| word.term).map(|term| vocabulary.name(term)).collect();
        assert_eq!(names, ["2.0.1", "2", "2.0", "3.11", "3", "4", "x"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        let mut vocabulary = Vocabulary::new();
        let words = vocabulary.words("深海潜水");
        assert_eq!(words.len(), 4);
        assert_eq!(vocabulary.name(words[0].term.unwrap()), "深海");
    }
}
