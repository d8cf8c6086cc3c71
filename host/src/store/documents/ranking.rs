//! How well documents and passages fit a question: pure arithmetic over counts,
//! without a database, so that it can be tried out and tested.
//!
//! The ground is BM25 over weighted fields. A document is judged as a whole and
//! by its best passage; words of the question that stand close together, and in
//! its order, count extra.

use super::words::QuestionWord;

/// The numbers the ranking turns on. They were chosen together, on collections
/// of questions with known answers.
#[derive(Debug, Clone, Copy)]
pub struct Weights {
    /// How soon more of the same word stops counting.
    pub saturation: f32,
    /// How much a long document is held against it.
    pub document_length: f32,
    /// The same for a passage.
    pub passage_length: f32,
    /// A word in the title, in a heading or in the path, against one in the text.
    pub title: f32,
    pub heading: f32,
    pub path: f32,
    /// The best passage against the whole document, from 0 to 1.
    pub passage: f32,
    /// Two neighbouring words of the question, found side by side.
    pub pair: f32,
    /// The same, found near each other.
    pub near: f32,
    /// A compound (`read_file`) found whole, beside its parts.
    pub whole: f32,
    /// How fast a word that stands several times in the question gains weight.
    pub repeated: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            saturation: 1.1,
            document_length: 0.75,
            passage_length: 0.5,
            title: 2.5,
            heading: 0.5,
            path: 0.1,
            passage: 0.3,
            pair: 0.2,
            near: 0.1,
            whole: 0.4,
            repeated: 0.8,
        }
    }
}

/// How often a word stands in the fields of one row of the index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub title: u16,
    pub path: u16,
    pub heading: u16,
    pub body: u16,
}

impl Weights {
    /// How much a word tells, when `with` of `all` passages have it.
    pub fn rarity(with: f32, all: f32) -> f32 {
        ((all - with + 0.5) / (with + 0.5)).ln_1p().max(0.0)
    }

    /// How much weight a word has by its place in the question.
    pub fn in_question(&self, word: &QuestionWord) -> f32 {
        let role = match word.role {
            super::words::Role::Plain => 1.0,
            super::words::Role::Whole => self.whole,
        };
        (word.count as f32).powf(self.repeated) * role
    }

    /// From a weighted count to a share of the word's weight, from 0 to under
    /// `saturation + 1`.
    pub fn saturate(&self, count: f32) -> f32 {
        count * (self.saturation + 1.0) / (count + self.saturation)
    }

    /// The weighted count of a word in a text of `length` words, where texts
    /// have `usual` words; `held` says how much length is held against it.
    pub fn count(&self, counts: Counts, length: f32, usual: f32, held: f32) -> f32 {
        let body = f32::from(counts.body) / (1.0 - held + held * length / usual.max(1.0));
        body + self.title * f32::from(counts.title)
            + self.heading * f32::from(counts.heading.min(2))
            + self.path * f32::from(counts.path.min(1))
    }

    /// The extra for words of the question that stand together. `sequence` is
    /// the passage as indexes into the question's words, with none for others;
    /// `rarity` is each word's.
    pub fn together(
        &self,
        question: &[QuestionWord],
        sequence: &[Option<u16>],
        rarity: &[f32],
    ) -> f32 {
        const NEAR: usize = 8;
        let mut score = 0.0;
        let mut places: Vec<Vec<u32>> = vec![Vec::new(); question.len()];
        for (place, word) in sequence.iter().enumerate() {
            if let Some(word) = word {
                places[usize::from(*word)].push(place as u32);
            }
        }
        let pairs: usize = question.iter().map(|word| word.follows.len()).sum();
        if pairs == 0 {
            return 0.0;
        }
        for (second, word) in question.iter().enumerate() {
            for &first in &word.follows {
                if places[first].is_empty() || places[second].is_empty() || word.count == 0 {
                    continue;
                }
                let (mut beside, mut near) = (0.0_f32, 0.0_f32);
                for &place in &places[first] {
                    let after = places[second].partition_point(|&other| other <= place);
                    let ahead = places[second]
                        .get(after)
                        .map_or(usize::MAX, |&other| (other - place) as usize);
                    let behind = after
                        .checked_sub(1)
                        .map_or(usize::MAX, |before| (place - places[second][before]) as usize);
                    if ahead == 1 {
                        beside += 1.0;
                    }
                    if ahead.min(behind) <= NEAR {
                        near += 1.0;
                    }
                }
                let weight = rarity[first].min(rarity[second]);
                score +=
                    weight * (self.pair * self.saturate(beside) + self.near * self.saturate(near));
            }
        }
        // Long questions have many pairs; together they weigh as a few do.
        score * (4.0 / pairs as f32).min(1.0).sqrt()
    }
}
