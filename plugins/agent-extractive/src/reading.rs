//! A question weighed against everything that could be quoted.

use bathysphere_sdk::types::Passage;

use crate::form::Met;
use crate::question::Question;
use crate::quote::Stretch;
use crate::score::{self, Score};
use crate::select;
use crate::settings::Settings;
use crate::units::{Cut, Unit};

/// What can be quoted.
pub struct Material<'a> {
    pub passages: &'a [Passage],
    pub cuts: &'a [Cut],
    pub units: &'a [Unit],
}

/// A question, or a part of one, and how well each unit answers it.
pub struct Reading {
    pub question: Question,
    pub weights: Vec<f64>,
    pub scores: Vec<Score>,
}

/// How far findings answer a question.
pub struct Answered {
    /// For each asked word, how far they speak of it.
    pub credit: Vec<f64>,
    /// Of the best of them.
    pub relevance: f64,
    /// They have the form that was asked for.
    pub met: bool,
}

impl Reading {
    /// Weighs `question`, which may be a part of `whole`.
    pub fn new(
        settings: &Settings,
        material: &Material<'_>,
        question: Question,
        whole: Option<&Question>,
    ) -> Self {
        let Material { passages, cuts, units } = *material;
        let weights = score::weights(&question, passages, units, cuts);
        let scale = score::Scale {
            question: &question,
            whole,
            weights: &weights,
            passages,
            cuts,
            units,
            needed: settings.min_relevance,
            best: passages.iter().map(|passage| passage.score).fold(0.0, f64::max),
        };
        let scores = units.iter().map(|unit| score::score(&scale, unit)).collect();
        Self { question, weights, scores }
    }

    /// How well a stretch answers; none when it does not.
    fn relevance(&self, settings: &Settings, stretch: &Stretch) -> Option<f64> {
        let best =
            stretch.units.iter().map(|unit| self.scores[*unit].relevance).fold(0.0, f64::max);
        (best >= select::needed(settings, &self.question)).then_some(best)
    }

    /// How far the stretches answer; none when none of them does.
    pub fn answered(&self, settings: &Settings, stretches: &[Stretch]) -> Option<Answered> {
        let mut credit = vec![0.0_f64; self.question.asked.len()];
        let mut best: Vec<f64> = Vec::new();
        let mut met = false;
        for stretch in stretches {
            let Some(relevance) = self.relevance(settings, stretch) else { continue };
            if best.len() < 3 {
                best.push(relevance);
            }
            for unit in &stretch.units {
                let score = &self.scores[*unit];
                met |= score.met != Met::No;
                for (credit, own) in credit.iter_mut().zip(&score.credit) {
                    *credit = credit.max(*own);
                }
            }
        }
        (!best.is_empty()).then(|| Answered {
            credit,
            relevance: best.iter().sum::<f64>() / best.len() as f64,
            met,
        })
    }
}
