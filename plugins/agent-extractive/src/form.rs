//! The form a question asks for: a definition, a number, a reason, an order.
//! Gives a sentence of that form an advantage over others that speak of the same.

use crate::blocks::Kind as BlockKind;
use crate::question::{Kind, Question};
use crate::score::leans_on_previous;
use crate::units::{Cut, Unit};

/// Whether a unit has what an answer must have: a number for "how many", a name
/// for "who", a date for "when was".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    Itself,
    /// The heading above it has it.
    ByHeading,
    No,
}

/// Bytes before a sentence that leans on the one before it.
const PULLED: usize = 300;

/// Whether the unit, or what is quoted with it, has the form that is asked for.
pub fn met(question: &Question, unit: &Unit, text: &str, cut: &Cut) -> Met {
    let has: fn(&Question, &str) -> bool = match question.kind {
        Kind::Who => |_, text| has_name(text) || text.contains('@'),
        Kind::Quantity => |_, text| has_number(text),
        Kind::When => |question, text| {
            has_date(text) || (!question.dated && has_occasion(&text.to_ascii_lowercase()))
        },
        _ => return Met::Itself,
    };
    let attached = cut.below[unit.block].is_some() || text.ends_with(':');
    let next = attached.then(|| cut.joined.get(unit.block + 1)).flatten();
    // Only what may be pulled in with it.
    let earlier = &cut.joined[unit.block].text[..unit.range.start];
    let from = (earlier.len().saturating_sub(PULLED)..earlier.len())
        .find(|at| earlier.is_char_boundary(*at))
        .unwrap_or(0);
    let before = leans_on_previous(text).then_some(&earlier[from..]);
    if has(question, text)
        || next.is_some_and(|next| has(question, &next.text))
        || before.is_some_and(|before| has(question, before))
    {
        return Met::Itself;
    }
    // A date in a heading holds for all of the section; a number or a name does not.
    let above = &cut.above[unit.block];
    let dated = question.kind == Kind::When && above.named.as_deref().is_some_and(has_date);
    if dated { Met::ByHeading } else { Met::No }
}

/// What a question without an answer of its form is told to lack.
pub fn wanted(question: &Question) -> Option<&'static str> {
    match question.kind {
        Kind::Who => Some("a name"),
        Kind::Quantity => Some("a number"),
        Kind::When => Some("a date or a time"),
        _ => None,
    }
}

/// Whether code has an asked word exactly as it was asked for.
pub fn names_exactly(question: &Question, text: &str) -> bool {
    let identifier = |character: char| !character.is_alphanumeric() && character != '_';
    question
        .asked
        .iter()
        .filter(|asked| asked.specific > 0.5)
        .any(|asked| text.split(identifier).any(|word| word == asked.word))
}

/// Whether the question asks for the place of a name in code, and the unit, with
/// the declaration that is quoted with it, does not have that name.
pub fn names_another(question: &Question, unit: &Unit, text: &str, cut: &Cut) -> bool {
    // A capital or an underscore: a name, not a word.
    let named = question.asked.iter().any(|asked| asked.specific > 1.0);
    let below = cut.below[unit.block].is_some().then(|| cut.joined.get(unit.block + 1)).flatten();
    named
        && question.asks_for_code()
        && !names_exactly(question, text)
        && !below.is_some_and(|below| names_exactly(question, &below.text))
}

/// Whether a declaration declares what the question asks the place of.
pub fn declares(question: &Question, text: &str) -> bool {
    if question.kind != Kind::Where {
        return false;
    }
    let mut words = text
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty());
    let keyword = words.by_ref().any(|word| {
        matches!(
            word,
            "struct"
                | "enum"
                | "trait"
                | "fn"
                | "type"
                | "class"
                | "def"
                | "function"
                | "func"
                | "interface"
                | "record"
                | "const"
                | "static"
                | "variant"
                | "macro_rules"
                | "resource"
                | "mod"
        )
    });
    let name = words.next();
    keyword
        && question
            .asked
            .iter()
            .any(|asked| asked.specific > 0.5 && name == Some(asked.word.as_str()))
}

#[rustfmt::skip]
const AMOUNTS: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve",
    "hundred", "thousand", "unlimited", "twice", "zero", "zwei", "drei",
    "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "deux", "trois", "quatre", "cinq",
    "dos", "tres", "cuatro", "cinco",
];

fn has_number(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut before = ' ';
    for character in text.chars() {
        if character.is_numeric() && !before.is_alphabetic() && before != '_' {
            return true;
        }
        before = character;
    }
    lower.split(|character: char| !character.is_alphanumeric()).any(|word| AMOUNTS.contains(&word))
        || ["no limit", "at most", "at least", "up to", "as many as"]
            .iter()
            .any(|phrase| lower.contains(phrase))
}

fn has_date(text: &str) -> bool {
    let years = text
        .split(|c: char| !c.is_ascii_digit())
        .any(|run| run.len() == 4 && (run.starts_with('1') || run.starts_with("20")));
    years || MONTHS.iter().any(|month| text.contains(month))
}

const MONTHS: &[&str] = &[
    "January",
    "February",
    "March ",
    "April ",
    "June ",
    "July ",
    "August ",
    "September",
    "October",
    "November",
    "December",
];

fn has_occasion(lower: &str) -> bool {
    [
        "when ", "after", "before", "once ", "until", "during", "at start", "every ", "if ",
        "as soon", "while ",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

/// How far the unit has the form that is asked for; below 0 where it lacks what
/// an answer must have.
pub fn form(question: &Question, unit: &Unit, text: &str, kind: BlockKind, cut: &Cut) -> f64 {
    let lower = text.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match question.kind {
        Kind::Definition => {
            // The first sentence above a declaration says what is declared.
            let declared = cut.below[unit.block].iter().flatten().take(3).any(|term| {
                question.matched(*term).is_some_and(|(index, credit)| {
                    credit > 0.99 && question.asked[index].specific > 0.5
                })
            });
            let names_a_thing =
                cut.joined.get(unit.block + 1).is_some_and(|next| !next.text.contains('('));
            if declared && names_a_thing && unit.previous.is_none() {
                0.28
            } else {
                definition(question, unit, text, kind)
            }
        }
        Kind::HowTo => {
            let leads_to_code = unit.last
                && cut.blocks.get(unit.block + 1).is_some_and(|next| next.kind == BlockKind::Code);
            let mut bonus: f64 = 0.0;
            if starts_with_order(text) {
                bonus += 0.14;
            }
            if text.contains('`') {
                bonus += 0.05;
            }
            if leads_to_code || kind == BlockKind::Code {
                bonus += 0.1;
            }
            if has(&["you can", "to do this", "by using", "use the"]) {
                bonus += 0.06;
            }
            bonus.min(0.25)
        }
        Kind::Why => {
            let reason = [
                "because",
                "since ",
                "so that",
                "in order to",
                "due to",
                "therefore",
                "to avoid",
                "otherwise",
                "reason",
                "to prevent",
                "this means",
                "which means",
                "would otherwise",
                "so a ",
                "so the ",
            ];
            if has(&reason) { 0.22 } else { 0.0 }
        }
        Kind::When => {
            let dated = has_date(text);
            let timed = has_occasion(&lower);
            if dated {
                0.22
            } else if timed {
                0.12
            } else {
                0.0
            }
        }
        Kind::Who => {
            if has_name(text) || text.contains('@') {
                0.15
            } else {
                0.0
            }
        }
        Kind::Where if kind == BlockKind::Signature && declares(question, text) => 0.35,
        Kind::Where => {
            let path = text.contains('/')
                || text.contains('~')
                || has(&["directory", "folder", "located", "under "]);
            let in_code = unit_is_code(unit, cut)
                && question.asks_for_code()
                && names_exactly(question, text);
            if path || in_code { 0.15 } else { 0.0 }
        }
        Kind::Quantity => {
            let number = has_number(text);
            let default = question.mentions(&["default"]) && has(&["default"]);
            if number && default {
                0.25
            } else if number {
                0.15
            } else {
                -0.12
            }
        }
        Kind::Several => {
            let listed = matches!(kind, BlockKind::Item | BlockKind::Row)
                || text.ends_with(':')
                || text.matches(", ").count() >= 2;
            // A table's head names what its rows are.
            let headed = cut.above[unit.block].table.iter().any(|term| {
                question
                    .matched(*term)
                    .is_some_and(|(index, _)| question.asked[index].specific > 0.5)
            });
            if headed {
                0.35
            } else if listed {
                0.12
            } else {
                0.0
            }
        }
        Kind::YesNo => {
            let firm = [
                "must",
                "never",
                " not ",
                "cannot",
                "always",
                "only ",
                "may ",
                "can ",
                "supports",
                "does n't",
                "doesn't",
                "don't",
                "no longer",
                "required",
            ];
            if has(&firm) { 0.1 } else { 0.0 }
        }
        Kind::Plain => 0.0,
    }
}

/// Stands in a source file.
fn unit_is_code(unit: &Unit, cut: &Cut) -> bool {
    let block = &cut.blocks[unit.block];
    block.comment || !block.shown
}

/// "X is …": the asked words stand before the verb.
fn definition(question: &Question, unit: &Unit, text: &str, kind: BlockKind) -> f64 {
    let first = unit
        .words
        .iter()
        .position(|word| word.term.is_some_and(|term| question.matched(term).is_some()));
    let Some(first) = first else { return 0.0 };
    let strong = |word: &crate::words::Word| {
        word.term
            .and_then(|term| question.matched(term))
            .is_some_and(|(index, _)| question.asked[index].specific > 0.5)
    };
    let asked = question.asked.iter().filter(|asked| asked.specific > 0.5).count();
    let verb = unit.words.iter().take(14).position(|word| {
        matches!(
            &text[word.start..word.end],
            "is" | "are"
                | "means"
                | "refers"
                | "describes"
                | "provides"
                | "represents"
                | "lets"
                | "allows"
                | "defines"
                | "holds"
                | "contains"
                | "turns"
                | "does"
                | "was"
                | "gives"
                | "decides"
        )
    });
    if matches!(kind, BlockKind::Item | BlockKind::Row) && first == 0 {
        let after = &text[unit.words[0].end..];
        let mark = after.trim_start_matches(['`', '*', ')', '"', '_', ' ']);
        if mark.starts_with([':', '|', '—', '–', '-']) {
            return 0.25;
        }
    }
    if let Some(verb) = verb {
        let before = unit.words[..verb].iter().filter(|word| strong(word)).count();
        if before >= asked.clamp(1, 2) && verb <= first + asked + 3 && first <= 2 {
            return 0.28;
        }
        if before > 0 {
            return 0.1;
        }
    }
    if first <= 1 { 0.06 } else { 0.0 }
}

fn starts_with_order(text: &str) -> bool {
    let start = text.trim_start_matches(|character: char| !character.is_alphanumeric());
    let word = start.split(|character: char| !character.is_alphanumeric()).next().unwrap_or("");
    ORDERS.contains(&word)
}

#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "Add", "Build", "Call", "Change", "Choose", "Clone", "Configure", "Copy", "Create", "Declare",
    "Define", "Derive", "Download", "Enable", "Ensure", "Execute", "Export", "First", "Implement",
    "Import", "Include", "Install", "Make", "Open", "Pass", "Place", "Put", "Read", "Replace", "Run",
    "See", "Select", "Set", "Simply", "Specify", "Start", "Then", "To", "Turn", "Type", "Update", "Use",
    "Using", "Write", "You", "If", "Just", "Give", "Name", "Point", "Send", "Register", "Annotate",
    "Wrap",
];

/// Two words in a row with capitals, not at the start of the sentence.
fn has_name(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().take(200).collect();
    let capital = |word: &str| {
        let mut characters = word.trim_matches(|c: char| !c.is_alphanumeric()).chars();
        characters.next().is_some_and(char::is_uppercase)
            && characters.next().is_some_and(char::is_lowercase)
    };
    words.windows(2).skip(1).any(|pair| capital(pair[0]) && capital(pair[1]))
        || words.windows(2).any(|pair| pair[0] == "by" && capital(pair[1]))
}
