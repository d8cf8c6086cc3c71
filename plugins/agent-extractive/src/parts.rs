//! Questions of several parts: each part is read by itself, and looked up by
//! itself where the sentences that answer the whole leave it open. A part may
//! bring findings, but never one that only asks the whole question again.

use crate::question::Question;
use crate::quote::{self, Stretch};
use crate::reading::{Material, Reading};
use crate::select;
use crate::settings::Settings;
use crate::split::{points_back, split, thing};
use crate::words::Vocabulary;

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
        if let Some(first) = parts.first()
            && points_back(part)
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
