//! Questions of several parts: each part is read by itself, and looked up by
//! itself where the sentences that answer the whole leave it open. A part may
//! bring findings, but never one that only asks the whole question again.

use crate::question::Question;
use crate::quote::{self, Stretch};
use crate::reading::{Material, Reading};
use crate::select;
use crate::settings::Settings;
use crate::split::{names_a_thing, points_back, split, thing};
use crate::words::Vocabulary;

/// A part has few words, and much speaks of them somehow: further findings must be
/// nearly as good as its best.
const NEARLY_AS_GOOD: f64 = 0.78;

/// The parts of a question, each as a question of its own; none when it has only
/// one.
pub fn read(text: &str, vocabulary: &mut Vocabulary) -> Vec<Question> {
    let mut ranges = split(text);
    // What names nothing by itself ("…, and why?") belongs to what it stands by.
    let mut at = 0;
    while at < ranges.len() && ranges.len() > 1 {
        let part = &text[ranges[at].clone()];
        let question = Question::read(part, vocabulary);
        let refers = at > 0 && points_back(part) && !question.asked.is_empty();
        if question.telling() > 0 || refers {
            at += 1;
            continue;
        }
        let after = ranges.remove(at.max(1));
        at = at.max(1) - 1;
        ranges[at].end = after.end;
    }
    if ranges.len() < 2 {
        return Vec::new();
    }
    let mut parts: Vec<Question> = Vec::new();
    for range in ranges {
        let part = &text[range.clone()];
        let mut question = Question::read(part, vocabulary);
        // "…, and what is left out?" names no thing of its own either.
        let of_the_first = points_back(part) || question.telling() == 1 && !names_a_thing(part);
        if let Some(first) = parts.first()
            && of_the_first
        {
            let opening = &text[..range.start];
            question.refer_to(first, &carried(first, &question, opening));
        }
        parts.push(question);
    }
    parts
}

/// Which words of the first part a later one means by "it". One that hardly has
/// words of its own ("how long does it take") means all of the first.
fn carried(first: &Question, later: &Question, opening: &str) -> Vec<usize> {
    let telling = |index: &usize| first.asked[*index].specific > 0.5;
    let all = || (0..first.asked.len()).filter(telling).collect();
    if later.telling() == 0 {
        return all();
    }
    let thing = thing(opening);
    let named: Vec<usize> = (0..first.asked.len())
        .filter(telling)
        .filter(|index| thing.contains(&first.asked[*index].word.as_str()))
        .collect();
    if named.is_empty() { all() } else { named }
}

/// Adds to the stretches that answer the whole question those that answer the
/// parts which these leave open. Each part has its share of the room, and one
/// finding at least as far as there are enough.
pub fn complete(
    settings: &Settings,
    material: &Material<'_>,
    parts: &[Reading],
    stretches: &mut Vec<Stretch>,
) {
    let open: Vec<&Reading> =
        parts.iter().filter(|part| part.answered(settings, stretches).is_none()).collect();
    if open.is_empty() {
        return;
    }
    let share = settings.max_findings.div_ceil(parts.len());
    let kept = share * (parts.len() - open.len());
    stretches.truncate(kept.clamp(1, settings.max_findings));
    let relative_relevance = settings.relative_relevance.max(NEARLY_AS_GOOD);
    let settings = &Settings { relative_relevance, ..settings.clone() };
    for part in open {
        let taken: Vec<usize> =
            stretches.iter().flat_map(|stretch| stretch.units.iter().copied()).collect();
        let room = settings.max_findings.saturating_sub(stretches.len()).min(share);
        let chosen = select::choose(settings, part, room, &taken, material);
        let kind = part.question.kind;
        for stretch in
            quote::stretches(settings, kind, material.cuts, material.units, &part.scores, &chosen)
        {
            quote::merge(settings, stretches, stretch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Kind;

    fn parts(text: &str) -> Vec<(Kind, Vec<String>)> {
        let words = |question: Question| {
            (question.kind, question.asked.into_iter().map(|asked| asked.word).collect())
        };
        read(text, &mut Vocabulary::new()).into_iter().map(words).collect()
    }

    #[test]
    fn each_part_asks_in_its_own_way() {
        let both = parts("What is a winch, and how many ropes are coiled?");
        assert_eq!(both[0], (Kind::Definition, vec!["winch".to_owned()]));
        assert_eq!(both[1], (Kind::Quantity, vec!["ropes".to_owned(), "coiled".to_owned()]));
    }

    #[test]
    fn it_is_the_thing_of_the_first_part() {
        let both = parts("What may a hatch hold, and who seals it?");
        assert_eq!(both[1], (Kind::Who, vec!["seals".to_owned(), "hatch".to_owned()]));
        let both = parts("How is the hatch oiled, and what is left out?");
        assert_eq!(both[1].1, ["left", "hatch"]);
        let both = parts("What is a hatch? What is a winch?");
        assert_eq!(both[1].1, ["winch"]);
        // With hardly a word of its own it means all of the first part.
        let both = parts("How many divers go down, and how long does each take?");
        assert_eq!(both[1].1, ["long", "take", "divers", "down"]);
    }

    #[test]
    fn what_is_said_of_the_thing_nearly_names_it() {
        let mut vocabulary = Vocabulary::new();
        let both = read("What may a hatch hold, and who seals it?", &mut vocabulary);
        let mut matched = |word| both[1].matched(vocabulary.term(word).unwrap());
        assert_eq!(matched("hatch"), Some((1, 1.0)));
        let (index, credit) = matched("hold").unwrap();
        assert!(index == 1 && 0.0 < credit && credit < 1.0);
    }

    #[test]
    fn what_names_nothing_is_no_part() {
        for text in ["Is the hull cold, and why?", "What is it, and who cast the hull?", "Why?"] {
            assert!(parts(text).is_empty(), "{text}");
        }
        assert_eq!(parts("What is it? Who cast the hull? Where is the winch?").len(), 2);
    }
}
