//! Tells a text that only asks the question again from one that answers it: a
//! command line or an example that quotes it, a heading that puts it. An echo is
//! never a finding, but what follows such a heading is the likeliest one.

use crate::question::Question;

/// Fewer words are a topic, and a sentence that holds them may well answer.
const FEWEST_WORDS: usize = 4;
/// How many of the asked words a question must repeat, in order, to be the same.
const MOST_OF_THEM: f64 = 0.75;
/// A text this much longer than the question has room for an answer.
const LONGEST: usize = 400;

/// Whether `text` holds the question and next to nothing else. Code that holds it
/// is an example of asking, whatever else stands in the command.
pub fn is_echo(question: &Question, text: &str, code: bool) -> bool {
    let Some(words) = comparable(question, text) else {
        return false;
    };
    let others = others(question, &words);
    if holds(question, &words) {
        code || others <= question.asked.len().max(3)
    } else {
        asks(text) && others <= 1 && repeats(question, &words)
    }
}

/// Whether `text` asks the question, so that an answer is to follow.
pub fn asks_the_same(question: &Question, text: &str) -> bool {
    asks(text)
        && comparable(question, text).is_some_and(|words| {
            others(question, &words) <= 1 && (holds(question, &words) || repeats(question, &words))
        })
}

/// The words of a text that could be the question again.
fn comparable(question: &Question, text: &str) -> Option<Vec<String>> {
    let longest = LONGEST + 2 * question.length;
    (question.words.len() >= FEWEST_WORDS && text.len() <= longest).then(|| words(text))
}

/// Whether the question stands there word for word.
fn holds(question: &Question, words: &[String]) -> bool {
    words.windows(question.words.len()).any(|window| window == question.words.as_slice())
}

/// The words of a text in lower case, small ones too.
pub fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Ends with a question mark, markup and quotation marks aside.
fn asks(text: &str) -> bool {
    let end = text.trim_end_matches(|character: char| {
        !character.is_alphanumeric() && !matches!(character, '?' | '？' | '؟')
    });
    end.ends_with(['?', '？', '؟'])
}

/// How many words of some length the question does not have.
fn others(question: &Question, words: &[String]) -> usize {
    words.iter().filter(|word| word.len() > 3 && !question.words.contains(word)).count()
}

/// Whether most of the asked words come in the question's order.
fn repeats(question: &Question, words: &[String]) -> bool {
    let mut rest = words;
    let mut found = 0;
    for asked in &question.asked {
        let asked = asked.word.to_lowercase();
        if let Some(place) = rest.iter().position(|word| *word == asked) {
            rest = &rest[place + 1..];
            found += 1;
        }
    }
    found >= 2 && f64::from(found) >= MOST_OF_THEM * question.asked.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Vocabulary;

    fn question() -> Question {
        Question::read("What may a plugin reach, and who checks it?", &mut Vocabulary::new())
    }

    #[test]
    fn the_question_itself_is_an_echo() {
        for (text, code) in [
            ("What may a plugin reach, and who checks it?", false),
            ("**What may a plugin reach and who checks it?**", false),
            ("What can a plugin reach, and who checks that?", false),
            ("research --docs . \"What may a plugin reach, and who checks it?\"", false),
            (
                "cargo run --release -- research --format json --docs handbook \"What may a plugin reach, and who checks it?\"",
                true,
            ),
        ] {
            assert!(is_echo(&question(), text, code), "{text}");
        }
    }

    #[test]
    fn an_answer_in_the_words_of_the_question_is_none() {
        for text in [
            "A plugin may reach what is granted, and the host checks it.",
            "What may a plugin reach, and who checks it? Only granted hosts, and the gates of the program check each call.",
            "Who checks the signature of a downloaded plugin before it starts?",
        ] {
            assert!(!is_echo(&question(), text, false), "{text}");
        }
        let topic = Question::read("ballast tank", &mut Vocabulary::new());
        assert!(!is_echo(&topic, "The ballast tank.", false));
    }

    #[test]
    fn only_what_asks_points_to_what_follows() {
        assert!(asks_the_same(&question(), "What may a plugin reach, and who checks it?"));
        assert!(!asks_the_same(&question(), "What a plugin may reach and who checks it"));
        assert!(!asks_the_same(
            &question(),
            "For example, type research \"What may a plugin reach, and who checks it?\""
        ));
    }
}
