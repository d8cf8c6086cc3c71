//! What was gathered over all rounds: merged from several result lists, each
//! passage once, best first.

use std::collections::HashMap;

use crate::plugins::contract::Passage;

/// How fast a rank loses weight; the usual constant of reciprocal rank fusion.
const RANK_OFFSET: f64 = 60.0;

#[derive(Default)]
pub struct Passages {
    places: HashMap<String, usize>,
    collected: Vec<Collected>,
}

struct Collected {
    passage: Passage,
    weight: f64,
}

impl Passages {
    /// Takes a list in, best first, and tells which references were new. A
    /// passage that several lists hold rises.
    pub fn merge(&mut self, passages: impl IntoIterator<Item = Passage>) -> Vec<bool> {
        passages
            .into_iter()
            .enumerate()
            .map(|(rank, passage)| {
                let weight = 1.0 / (RANK_OFFSET + rank as f64 + 1.0);
                let reference = passage.source.reference();
                if let Some(&place) = self.places.get(&reference) {
                    let known = &mut self.collected[place];
                    known.weight += weight;
                    known.passage.score = known.passage.score.max(passage.score);
                    return false;
                }
                self.places.insert(reference, self.collected.len());
                self.collected.push(Collected { passage, weight });
                true
            })
            .collect()
    }

    /// The best so far.
    pub fn best(&self, most: usize) -> Vec<Passage> {
        let mut order: Vec<&Collected> = self.collected.iter().collect();
        // Stable: of equals the first found stays first.
        order.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        order.into_iter().take(most).map(|collected| collected.passage.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::contract::Source;

    fn passage(url: &str) -> Passage {
        Passage {
            source: Source {
                url: url.to_owned(),
                title: String::new(),
                location: None,
                published: None,
                extra: Vec::new(),
            },
            text: url.to_owned(),
            score: 1.0,
        }
    }

    fn urls(passages: &Passages) -> Vec<String> {
        passages.best(10).into_iter().map(|passage| passage.source.url).collect()
    }

    #[test]
    fn one_list_keeps_its_order() {
        let mut passages = Passages::default();
        assert_eq!(passages.merge(["a", "b", "c"].map(passage)), [true, true, true]);
        assert_eq!(urls(&passages), ["a", "b", "c"]);
    }

    #[test]
    fn what_two_lists_hold_rises_and_stands_once() {
        let mut passages = Passages::default();
        passages.merge(["a", "b"].map(passage));
        assert_eq!(passages.merge(["b", "c"].map(passage)), [false, true]);
        assert_eq!(urls(&passages), ["b", "a", "c"]);
    }
}
