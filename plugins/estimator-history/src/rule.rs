//! What to expect where there are no past runs: the vendors' published sizes for a
//! research agent, and rounds for everything else.

use bathysphere_sdk::types::{Level, Plan, Question};

use crate::complexity::Complexity;
use crate::extra;
use crate::interval::Interval;
use crate::settings::{Settings, Three};

/// Of a plan's rounds, how many a search usually needs until its answer stands.
const USUAL_SHARE: f64 = 0.6;

const MINUTE: f64 = 60.0;

/// Seconds and US dollars.
pub fn thumb(
    settings: &Settings,
    question: &Question,
    plan: &Plan,
    complexity: Complexity,
) -> (Interval, Interval) {
    if plan.level == Level::None {
        return (Interval::default(), Interval::default());
    }
    if is_delegated(question) {
        let (minutes, shares) = match complexity {
            Complexity::Simple => (settings.simple_minutes, settings.simple_cost),
            Complexity::Medium => (settings.medium_minutes, settings.medium_cost),
            Complexity::Complex => (settings.complex_minutes, settings.complex_cost),
        };
        return (scaled(minutes, MINUTE), scaled(shares, typical_cost(settings, question)));
    }
    let most = f64::from(plan.rounds.max(1));
    let rounds = [1.0, (most * USUAL_SHARE).max(1.0), most];
    (by_round(settings.round_seconds, rounds), by_round(settings.round_cost_usd, rounds))
}

/// Whether a research agent takes the whole question.
fn is_delegated(question: &Question) -> bool {
    let steps = extra(&question.extra, "steps").unwrap_or_default();
    steps.split(',').any(|step| step == "delegate")
        || extra(&question.extra, "tool") == Some("start_deep_research")
}

/// What the host's price list says of this agent, or else the settings.
fn typical_cost(settings: &Settings, question: &Question) -> f64 {
    let told = extra(&question.extra, "typical_cost_usd").and_then(|cost| cost.parse::<f64>().ok());
    let is_max = extra(&question.extra, "model")
        .is_some_and(|model| model.split('-').any(|word| word.eq_ignore_ascii_case("max")));
    told.filter(|cost| cost.is_finite() && *cost >= 0.0).unwrap_or(if is_max {
        settings.typical_max_cost_usd
    } else {
        settings.typical_cost_usd
    })
}

fn scaled([low, likely, high]: Three, factor: f64) -> Interval {
    Interval::new(low * factor, likely * factor, high * factor)
}

fn by_round([low, likely, high]: Three, rounds: Three) -> Interval {
    Interval::new(low * rounds[0], likely * rounds[1], high * rounds[2])
}
