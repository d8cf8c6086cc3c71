//! How good an answer is, for agents that do not tell: no model, only whether the
//! question's own words are in what was found.

use std::collections::HashSet;

use crate::plugins::contract::{Finding, Quality};

/// Words too common to tell anything.
const COMMON: &[&str] = &[
    "about", "does", "from", "have", "into", "that", "their", "there", "this", "what", "when",
    "where", "which", "while", "with", "would", "your",
];

pub fn estimate(question: &str, findings: &[Finding]) -> Quality {
    if findings.is_empty() {
        return Quality::default();
    }
    let asked: HashSet<String> = words(question).collect();
    if asked.is_empty() {
        return Quality { relevance: 0.5, coverage: 0.5, confidence: 0.5 };
    }
    let mut found = HashSet::new();
    let mut relevant = 0;
    for finding in findings {
        let spoken: HashSet<String> =
            words(&finding.text).filter(|word| asked.contains(word)).collect();
        relevant += usize::from(!spoken.is_empty());
        found.extend(spoken);
    }
    let sources: HashSet<&str> =
        findings.iter().map(|finding| finding.source.url.as_str()).collect();
    let coverage = found.len() as f64 / asked.len() as f64;
    Quality {
        relevance: relevant as f64 / findings.len() as f64,
        coverage,
        confidence: coverage * (1.0 - 0.5f64.powi(sources.len() as i32)),
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.chars().count() > 3)
        .map(str::to_lowercase)
        .filter(|word| !COMMON.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::contract::Source;

    fn finding(text: &str, url: &str) -> Finding {
        Finding {
            text: text.to_owned(),
            quote: text.to_owned(),
            source: Source {
                url: url.to_owned(),
                title: String::new(),
                location: None,
                published: None,
                extra: Vec::new(),
            },
        }
    }

    #[test]
    fn nothing_found_is_worth_nothing() {
        assert_eq!(estimate("spring tides", &[]), Quality::default());
    }

    #[test]
    fn more_of_the_question_answered_is_more_coverage() {
        let half = estimate("spring tides", &[finding("Tides turn.", "a")]);
        let whole = estimate("spring tides", &[finding("Spring tides are high.", "a")]);
        assert!((half.coverage - 0.5).abs() < 1e-9);
        assert!((whole.coverage - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_second_source_adds_confidence() {
        let one = estimate("tides", &[finding("Tides turn.", "a"), finding("Tides.", "a")]);
        let two = estimate("tides", &[finding("Tides turn.", "a"), finding("Tides.", "b")]);
        assert!(two.confidence > one.confidence);
    }
}
