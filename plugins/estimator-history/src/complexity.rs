//! How complex a question is, from its words alone: how long it is, how many parts
//! it has, whether it compares, how broad it is, and whether it spans time. Words of
//! the larger European languages, and of Chinese and Japanese, count; a question in
//! another language is judged by its length and its parts.

use bathysphere_sdk::types::{Question, Scope, TaskType};

use crate::settings::Settings;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Complexity {
    Simple,
    Medium,
    Complex,
}

impl Complexity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Medium => "medium",
            Self::Complex => "complex",
        }
    }

    /// Of a whole question.
    pub fn of(settings: &Settings, question: &Question) -> Self {
        let mut score = points(settings, &question.text);
        score += match question.scope {
            Some(Scope::Tiny) => -1,
            Some(Scope::Large) => 1,
            Some(Scope::Normal) | None => 0,
        };
        if matches!(question.task_type, Some(TaskType::Research | TaskType::Architecture)) {
            score += 1;
        }
        Self::of_score(settings, score)
    }

    /// Of a question of which only the words are known.
    pub fn of_text(settings: &Settings, text: &str) -> Self {
        Self::of_score(settings, points(settings, text))
    }

    fn of_score(settings: &Settings, score: i64) -> Self {
        if score >= i64::from(settings.complex_score) {
            Self::Complex
        } else if score >= i64::from(settings.medium_score) {
            Self::Medium
        } else {
            Self::Simple
        }
    }
}

/// More of a text is not looked at: it is complex by then.
const MOST_CHARACTERS: usize = 20_000;

fn points(settings: &Settings, text: &str) -> i64 {
    let lower: String = text.chars().take(MOST_CHARACTERS).collect::<String>().to_lowercase();
    // With a blank at both ends every word has one on either side.
    let spaced = format!(" {} ", lower.split(|c: char| !is_word(c)).collect::<Vec<_>>().join(" "));
    let words = word_count(&lower);
    let mut score = 0;
    score += i64::from(words >= settings.long_question_words as usize);
    score += i64::from(words >= settings.very_long_question_words as usize);
    let parts = parts(&lower, &spaced);
    score += i64::from(parts >= 2) + i64::from(parts >= 4);
    if mentions(&lower, &spaced, COMPARISONS) > 0 {
        score += 2;
    }
    score += match mentions(&lower, &spaced, BREADTH) {
        0 => 0,
        1 => 2,
        _ => 3,
    };
    score += i64::from(spans_time(&lower, &spaced));
    score
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '-'
}

/// Chinese and Japanese write no blanks: two characters make a word there.
fn word_count(lower: &str) -> usize {
    let dense = lower.chars().filter(|character| is_dense(*character)).count();
    let plain = lower
        .split(|character: char| !is_word(character) || is_dense(character))
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .count();
    plain + dense.div_ceil(2)
}

fn is_dense(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Questions, sentences of a list, and what "and" or a semicolon joins.
fn parts(lower: &str, spaced: &str) -> usize {
    let questions = lower.matches(['?', '？']).count().max(1);
    let joints = JOINTS.iter().map(|joint| spaced.matches(joint).count()).sum::<usize>();
    let marks = lower.matches([';', '；', '、']).count();
    let items = lower
        .lines()
        .map(str::trim_start)
        .filter(|line| {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            line.starts_with(['-', '*', '•'])
                || (digits.len() < line.len() && digits.starts_with(['.', ')']))
        })
        .count();
    questions + joints + marks + items
}

/// How many of these are there. One that ends in `*` is the beginning of a word;
/// one of dense characters may stand anywhere.
fn mentions(lower: &str, spaced: &str, wanted: &[&str]) -> usize {
    let found = |word: &&&str| match word.strip_suffix('*') {
        _ if word.chars().any(is_dense) => lower.contains(**word),
        Some(beginning) => spaced.contains(&format!(" {beginning}")),
        None => spaced.contains(&format!(" {word} ")),
    };
    wanted.iter().filter(found).count()
}

/// Two different years, or words for a span.
fn spans_time(lower: &str, spaced: &str) -> bool {
    let mut years: Vec<&str> = spaced
        .split(|character: char| !character.is_ascii_digit())
        .filter(|number| number.len() == 4 && (number.starts_with('1') || number.starts_with("20")))
        .collect();
    years.sort_unstable();
    years.dedup();
    years.len() >= 2 || mentions(lower, spaced, SPANS) > 0
}

const JOINTS: &[&str] = &[" and ", " as well as ", " und ", " sowie ", " et ", " y ", " e ", " и "];

#[rustfmt::skip]
const COMPARISONS: &[&str] = &[
    "compar*", "versus", "vs", "difference*", "differ", "trade-off*", "tradeoff*", "pros and cons", "better than",
    "advantages", "alternatives", "benchmark*", "vergleich*", "unterschied*", "vor- und nachteile", "différence*",
    "avantages", "diferencia*", "ventajas", "confront*", "vantagens", "сравн*", "отлич*",
    "比較", "比较", "对比", "違い", "区别",
];

#[rustfmt::skip]
const BREADTH: &[&str] = &[
    "state of", "overview", "survey*", "landscape", "market*", "industry", "history of", "impact*", "comprehensive*",
    "in depth", "in-depth", "systematic*", "every", "all known", "worldwide", "global*", "trend*", "future of",
    "analy*", "evaluat*", "assess*", "literature", "strateg*", "implications", "ecosystem*", "überblick", "stand der",
    "entwicklung*", "markt*", "auswirkung*", "état", "panorama", "marché", "évolution", "estado del", "mercado",
    "tendencia*", "impacto", "обзор", "рынок", "влияние", "概要", "動向", "市場", "市场", "综述", "趋势", "影响",
];

#[rustfmt::skip]
const SPANS: &[&str] = &[
    "since", "decade*", "century", "centuries", "over the last", "over the past", "over time", "from the beginning",
    "until today", "through the years", "seit", "jahrzehnt*", "jahrhundert*", "depuis", "décennie*", "siècle*",
    "desde", "década*", "siglo*", "с тех пор", "десятилет*", "以来", "年間", "年来",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Complexity {
        Complexity::of_text(&Settings::default(), text)
    }

    #[test]
    fn one_fact_is_simple() {
        for text in [
            "",
            "tides",
            "What is a spring tide?",
            "When was the bathysphere built?",
            "How deep did it dive, and who was aboard?",
            "大潮とは何ですか？",
            "Wie hoch ist die Tide in Brest?",
        ] {
            assert_eq!(of(text), Complexity::Simple, "{text}");
        }
    }

    #[test]
    fn a_broad_or_a_comparing_question_is_medium() {
        for text in [
            "The state of tidal power",
            "Compare neap tides with spring tides",
            "What are the trade-offs of WAL mode?",
            "Der Unterschied zwischen Nipptide und Springtide",
            "大潮と小潮の違い",
        ] {
            assert_eq!(of(text), Complexity::Medium, "{text}");
        }
    }

    #[test]
    fn several_of_it_together_are_complex() {
        for text in [
            "Compare the economics of tidal and offshore wind power in Europe since 2010",
            "Give an overview of the market for submersibles from 1990 to 2020, the main makers, \
             and how prices developed",
            "Vergleiche die Entwicklung der Gezeitenkraft in Frankreich und Korea seit 1966",
        ] {
            assert_eq!(of(text), Complexity::Complex, "{text}");
        }
        let long = "why does the tide rise here and not there ".repeat(20);
        assert_eq!(of(&long), Complexity::Complex);
    }

    #[test]
    fn what_is_known_of_the_work_counts_too() {
        let settings = Settings::default();
        let mut question = Question {
            text: "The state of tidal power".to_owned(),
            goal: None,
            scope: Some(Scope::Large),
            task_type: Some(TaskType::Research),
            context: None,
            max_rounds: None,
            max_cost_usd: None,
            extra: Vec::new(),
        };
        assert_eq!(Complexity::of(&settings, &question), Complexity::Complex);
        question.scope = Some(Scope::Tiny);
        question.task_type = None;
        assert_eq!(Complexity::of(&settings, &question), Complexity::Simple);
    }

    #[test]
    fn a_word_inside_another_does_not_count() {
        // "vs", "every", "e", "y"
        assert_eq!(of("revs everyone yes"), Complexity::Simple);
    }

    #[test]
    fn a_huge_question_is_read_in_part() {
        assert_eq!(of(&"深".repeat(1_000_000)), Complexity::Medium);
        assert_eq!(of(&"? ".repeat(500_000)), Complexity::Medium);
    }
}
