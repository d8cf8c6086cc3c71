//! Chooses answers that are good, that add something to one another, and that do
//! not all come from one place.

use crate::question::Question;
use crate::reading::{Material, Reading};
use crate::settings::Settings;
use crate::units::Unit;
use crate::words::Term;

/// More candidates than this are never looked at: the choice compares each with
/// all that were chosen.
const MOST_CANDIDATES: usize = 120;
/// Two units that share more than this of their words say the same.
const SAME: f64 = 0.72;
/// What a word that no chosen unit speaks of yet is worth.
const NEW_GROUND: f64 = 0.25;
const SAME_SOURCE: f64 = 0.04;

/// A question of few words must be met in most of them; one of many words is
/// seldom met in all. 1 for a long question, nearly 2 for a single word.
fn stricter(strong: usize) -> f64 {
    1.0 + 0.8 / strong.max(1) as f64
}

/// The relevance from which on a unit answers.
pub fn needed(settings: &Settings, question: &Question) -> f64 {
    settings.min_relevance * stricter(question.telling())
}

/// Which units answer, at most `most` and best first, beside those that are taken
/// already.
pub fn choose(
    settings: &Settings,
    reading: &Reading,
    most: usize,
    taken: &[usize],
    material: &Material<'_>,
) -> Vec<usize> {
    let Reading { question, weights, scores } = reading;
    let Material { passages, units, .. } = *material;
    let needed = needed(settings, question);
    let mut candidates: Vec<usize> =
        (0..units.len()).filter(|unit| scores[*unit].relevance >= needed).collect();
    // Equal scores keep the order of the passages: the same input, the same answer.
    candidates.sort_by(|a, b| scores[*b].overall.total_cmp(&scores[*a].overall).then(a.cmp(b)));
    candidates.truncate(MOST_CANDIDATES);
    let Some(&top) = candidates.first() else {
        return Vec::new();
    };
    let floor = scores[top].overall * settings.relative_relevance;
    let relevant = scores[top].relevance * settings.relative_relevance;
    candidates.retain(|unit| scores[*unit].overall >= floor && scores[*unit].relevance >= relevant);
    let sets: Vec<Vec<Term>> = candidates.iter().map(|unit| terms(&units[*unit])).collect();
    let taken_sets: Vec<Vec<Term>> = taken.iter().map(|unit| terms(&units[*unit])).collect();
    let total: f64 = weights.iter().sum::<f64>().max(1e-9);
    let mut covered = vec![0.0_f64; weights.len()];
    let mut chosen: Vec<usize> = Vec::new();
    let mut open = vec![true; candidates.len()];
    while chosen.len() < most {
        let mut best: Option<(f64, usize)> = None;
        for index in 0..candidates.len() {
            if !open[index] {
                continue;
            }
            let unit = candidates[index];
            let url = &passages[units[unit].passage].source.url;
            let mut likeness = 0.0_f64;
            let mut beside = 0_usize;
            let others = chosen.iter().map(|other| (candidates[*other], &sets[*other]));
            for (other, set) in others.chain(taken.iter().copied().zip(&taken_sets)) {
                likeness = likeness.max(overlap(&sets[index], set));
                if passages[units[other].passage].source.url == *url {
                    beside += 1;
                }
            }
            if likeness > SAME || beside >= settings.max_per_source {
                open[index] = false;
                continue;
            }
            let new: f64 = scores[unit]
                .direct
                .iter()
                .zip(&covered)
                .zip(weights)
                .map(|((direct, covered), weight)| (direct - covered).max(0.0) * weight)
                .sum::<f64>()
                / total;
            let value = scores[unit].overall + NEW_GROUND * new
                - settings.diversity * likeness
                - SAME_SOURCE * beside as f64;
            if best.is_none_or(|(top, _)| value > top) {
                best = Some((value, index));
            }
        }
        let Some((value, index)) = best else { break };
        // What is left repeats what is there: fewer findings are better.
        if !chosen.is_empty() && value < floor * 0.72 {
            break;
        }
        open[index] = false;
        for (covered, direct) in covered.iter_mut().zip(&scores[candidates[index]].direct) {
            *covered = covered.max(*direct);
        }
        chosen.push(index);
    }
    chosen.into_iter().map(|index| candidates[index]).collect()
}

fn terms(unit: &Unit) -> Vec<Term> {
    let mut terms: Vec<_> = unit.words.iter().filter_map(|word| word.term).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// How much of the smaller set is in the other, from 0 to 1.
fn overlap(a: &[Term], b: &[Term]) -> f64 {
    let mut shared = 0;
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
        }
    }
    let smaller = a.len().min(b.len());
    if smaller == 0 { 0.0 } else { f64::from(shared) / smaller as f64 }
}
