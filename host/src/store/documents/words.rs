//! Turns text into the words the index is made of, so that a question and a
//! document meet although they are written differently: case, accents, British
//! and American spelling and endings are levelled, identifiers are taken apart
//! and kept whole. Documents and questions go through the same code; whatever
//! changes here needs a new schema version, for old indexes hold old words.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use rust_stemmers::{Algorithm, Stemmer};

use super::spelling::{american, fold, is_combining, is_unspaced};
use super::stop_words::STOP_WORDS;

/// Words a question is wrapped in, which say nothing about what is asked.
const QUESTION_WORDS: &[&str] = &[
    "anybody", "anyone", "explain", "ok", "okay", "pleas", "please", "somebody", "tell", "thank",
    "thanks",
];

/// Longer runs are keys, hashes or encoded data, which no one asks for.
const LONGEST_WORD: usize = 48;

/// Past this many words the memory of stems starts over.
const REMEMBERED_WORDS: usize = 120_000;

/// What a word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A word of the running text.
    Plain,
    /// Two or more neighbouring plain words taken as one: `read_file`, `utf-8`.
    Whole,
}

/// Splits and levels text. Keeps a memory of the words it has seen, so one is
/// kept for each thread.
pub struct Words {
    stemmer: Stemmer,
    /// The levelled form of each written one; empty for a stop word.
    seen: HashMap<Box<str>, Box<str>, RandomState>,
    lower: String,
    whole: String,
}

impl Default for Words {
    fn default() -> Self {
        let mut words = Self {
            stemmer: Stemmer::create(Algorithm::English),
            seen: HashMap::default(),
            lower: String::new(),
            whole: String::new(),
        };
        words.forget();
        words
    }
}

impl Words {
    fn forget(&mut self) {
        self.seen.clear();
        for word in STOP_WORDS {
            self.seen.insert((*word).into(), "".into());
        }
    }

    /// Calls `each` with every word of `text`, in order.
    pub fn each(&mut self, text: &str, mut each: impl FnMut(&str, Role)) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte < 0x80 {
                if CLASS[byte as usize] == BREAK {
                    at += 1;
                    continue;
                }
            } else {
                let character = text[at..].chars().next().unwrap_or(' ');
                if !character.is_alphanumeric() {
                    at += character.len_utf8();
                    continue;
                }
            }
            let end = compound_end(text, at);
            self.compound(&text[at..end], &mut each);
            at = end;
        }
    }

    /// A run of words joined by `-`, `_`, `'` or `.` with nothing between.
    fn compound(&mut self, run: &str, each: &mut impl FnMut(&str, Role)) {
        if run.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.word(run, each);
            return;
        }
        if !run.is_ascii() {
            self.unicode(run, each);
            return;
        }
        let mut parts = 0;
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        let mut rest = run;
        while let Some((part, after)) = next_part(rest) {
            rest = after;
            parts += 1;
            if whole.len() <= LONGEST_WORD {
                whole.push_str(part);
            }
            self.word(part, each);
        }
        if parts > 1 && parts < 6 && whole.len() <= LONGEST_WORD {
            whole.make_ascii_lowercase();
            self.known(&whole, &mut |word, _| each(word, Role::Whole));
        }
        self.whole = whole;
    }

    fn word(&mut self, part: &str, each: &mut impl FnMut(&str, Role)) {
        if part.len() > LONGEST_WORD {
            return;
        }
        if part.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'\'') {
            // `don't` is one word, and `user's` is the word `user`.
            let part = part.strip_suffix("'s").or_else(|| part.strip_suffix("'S")).unwrap_or(part);
            let mut lower = std::mem::take(&mut self.lower);
            lower.clear();
            lower.extend(part.chars().filter(|character| *character != '\''));
            lower.make_ascii_lowercase();
            self.known(&lower, each);
            self.lower = lower;
        } else {
            self.known(part, each);
        }
    }

    fn known(&mut self, lower: &str, each: &mut impl FnMut(&str, Role)) {
        if let Some(level) = self.seen.get(lower) {
            if !level.is_empty() {
                each(level, Role::Plain);
            }
            return;
        }
        let level = self.level(lower);
        each(&level, Role::Plain);
        if self.seen.len() >= REMEMBERED_WORDS {
            self.forget();
        }
        self.seen.insert(lower.into(), level.into());
    }

    /// The levelled form of a lower-case word; empty for a stop word.
    fn level(&self, lower: &str) -> String {
        if let Some(level) = self.seen.get(lower) {
            return level.to_string();
        }
        if lower.len() < 3 || !lower.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return lower.to_owned();
        }
        match american(lower) {
            Some(spelling) => self.stemmer.stem(&spelling).into_owned(),
            None => self.stemmer.stem(lower).into_owned(),
        }
    }

    /// Folds accents away and takes scripts without spaces two characters at a
    /// time.
    fn unicode(&mut self, run: &str, each: &mut impl FnMut(&str, Role)) {
        let mut folded = String::new();
        let mut previous: Option<char> = None;
        let mut alone = false;
        let mut flush = |words: &mut Self, folded: &mut String| {
            if !folded.is_empty() {
                if folded.is_ascii() {
                    words.compound(folded, each);
                } else if folded.len() <= LONGEST_WORD * 2 {
                    each(folded, Role::Plain);
                }
                folded.clear();
            }
        };
        for character in run.chars() {
            if is_unspaced(character) {
                flush(self, &mut folded);
                if let Some(before) = previous {
                    folded.push(before);
                    folded.push(character);
                    flush(self, &mut folded);
                    alone = false;
                } else {
                    alone = true;
                }
                previous = Some(character);
                continue;
            }
            if let (true, Some(single)) = (alone, previous) {
                folded.push(single);
                flush(self, &mut folded);
            }
            previous = None;
            alone = false;
            if character == '\u{2019}' {
                folded.push('\'');
            } else if character.is_alphanumeric() || character.is_ascii() {
                fold(character, &mut folded);
            } else if !is_combining(character) {
                flush(self, &mut folded);
            }
        }
        if let (true, Some(single)) = (alone, previous) {
            folded.push(single);
        }
        flush(self, &mut folded);
    }

    /// The words of a question, each once, with how often it stands there; the
    /// words it is merely wrapped in left out.
    pub fn question(&mut self, text: &str) -> Vec<QuestionWord> {
        let mut found: Vec<QuestionWord> = Vec::new();
        let mut sequence = Vec::new();
        self.each(text, |word, role| {
            let place = found.iter().position(|known| known.word == word);
            let place = place.unwrap_or_else(|| {
                found.push(QuestionWord {
                    word: word.to_owned(),
                    count: 0,
                    role,
                    follows: Vec::new(),
                });
                found.len() - 1
            });
            found[place].count += 1;
            if role == Role::Plain {
                sequence.push(place);
            }
        });
        for pair in sequence.windows(2) {
            if pair[0] != pair[1] && !found[pair[1]].follows.contains(&pair[0]) {
                found[pair[1]].follows.push(pair[0]);
            }
        }
        if found.iter().any(|word| !QUESTION_WORDS.contains(&word.word.as_str())) {
            for word in &mut found {
                if QUESTION_WORDS.contains(&word.word.as_str()) {
                    word.count = 0;
                }
            }
        }
        found
    }
}

/// A word of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionWord {
    pub word: String,
    /// 0 for one that is not to be looked for.
    pub count: u32,
    pub role: Role,
    /// Which words (by index) stand right before it somewhere in the question.
    pub follows: Vec<usize>,
}

const BREAK: u8 = 0;
const WORD: u8 = 1;
const JOINER: u8 = 2;

/// What an ASCII byte does to a word.
static CLASS: [u8; 128] = {
    let mut class = [BREAK; 128];
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            class[byte] = WORD;
        }
        byte += 1;
    }
    class
};

fn class_of(byte: u8) -> u8 {
    match byte {
        b'-' | b'_' | b'\'' | b'.' => JOINER,
        byte if byte < 0x80 => CLASS[byte as usize],
        _ => WORD,
    }
}

/// Where the run of words and joiners that starts at `start` ends. A joiner
/// belongs to it only between two word characters.
fn compound_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte >= 0x80 {
            let character = text[at..].chars().next().unwrap_or(' ');
            let apostrophe = character == '\u{2019}' && followed_by_letter(text, at + 3);
            if !(character.is_alphanumeric() || is_combining(character) || apostrophe) {
                return at;
            }
            at += character.len_utf8();
            continue;
        }
        match class_of(byte) {
            WORD => at += 1,
            JOINER if followed_by_letter(text, at + 1) => at += 1,
            _ => return at,
        }
    }
    at
}

fn followed_by_letter(text: &str, at: usize) -> bool {
    match text.as_bytes().get(at) {
        Some(&byte) if byte < 0x80 => class_of(byte) == WORD,
        Some(_) => text[at..].chars().next().is_some_and(char::is_alphanumeric),
        None => false,
    }
}

/// The next part of an ASCII compound: up to a joiner other than an apostrophe,
/// or up to where `camelCase` changes.
fn next_part(run: &str) -> Option<(&str, &str)> {
    let run = run.trim_start_matches(['-', '_', '.', '\'']);
    if run.is_empty() {
        return None;
    }
    let bytes = run.as_bytes();
    let mut end = 1;
    while end < bytes.len() {
        let (before, here) = (bytes[end - 1], bytes[end]);
        if matches!(here, b'-' | b'_' | b'.') {
            break;
        }
        let rises = before.is_ascii_lowercase() && here.is_ascii_uppercase();
        // The last capital of `HTTPServer` starts the next word, that of `APIs`
        // does not.
        let ends_acronym = before.is_ascii_uppercase()
            && here.is_ascii_uppercase()
            && bytes
                .get(end + 1..end + 3)
                .is_some_and(|next| next.iter().all(u8::is_ascii_lowercase));
        if rises || ends_acronym {
            break;
        }
        end += 1;
    }
    Some(run.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Words::default().each(text, |word, role| {
            found.push(if role == Role::Whole { format!("+{word}") } else { word.to_owned() });
        });
        found
    }

    #[test]
    fn endings_case_and_stop_words_are_levelled() {
        assert_eq!(words("The Indexing of indexes: INDEXED!"), ["index", "index", "index"]);
        assert_eq!(words("don't the user's files’ it’s"), ["user", "file"]);
    }

    #[test]
    fn identifiers_are_taken_apart_and_kept_whole() {
        assert_eq!(words("readFile"), ["read", "file", "+readfil"]);
        assert_eq!(words("read_file()"), ["read", "file", "+readfil"]);
        assert_eq!(words("HTTPServer"), ["http", "server", "+httpserver"]);
        assert_eq!(words("APIs"), ["api"]);
        assert_eq!(words("utf-8 utf8"), ["utf", "8", "+utf8", "utf8"]);
        assert_eq!(words("end. -Start- v1.2"), ["end", "start", "v1", "2", "+v12"]);
    }

    #[test]
    fn accents_and_spellings_meet() {
        assert_eq!(words("Café naïve Übung"), ["cafe", "naiv", "ubung"]);
        assert_eq!(words("cafe\u{301}"), words("cafe"));
        assert_eq!(
            words("behaviour organisation haemoglobin centres modelling analysed"),
            words("behavior organization hemoglobin centers modeling analyzed")
        );
    }

    #[test]
    fn other_scripts_are_found() {
        assert_eq!(words("Привет МИР"), ["привет", "мир"]);
        assert_eq!(words("全文検索 x"), ["全文", "文検", "検索", "x"]);
        assert_eq!(words("水"), ["水"]);
    }

    #[test]
    fn hostile_text_neither_panics_nor_yields_giant_words() {
        let long = "x".repeat(1_000_000);
        assert_eq!(words(&long), Vec::<String>::new());
        words("--__''..’’\u{300}\u{200d}é-é_é'é.é’");
        words(&"a.".repeat(10_000));
    }

    #[test]
    fn a_question_counts_words_and_knows_their_order() {
        let question =
            Words::default().question("Please tell me how fossil merges segments, Fossil!");
        let looked_for: Vec<_> = question
            .iter()
            .filter(|word| word.count > 0)
            .map(|word| (word.word.as_str(), word.count))
            .collect();
        assert_eq!(looked_for, [("fossil", 2), ("merg", 1), ("segment", 1)]);
        let merges = question.iter().find(|word| word.word == "merg").unwrap();
        assert_eq!(question[merges.follows[0]].word, "fossil");
    }
}
