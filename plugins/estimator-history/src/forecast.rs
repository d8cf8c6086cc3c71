//! The forecast: what is likely, between what and what, on what it rests, and what
//! to make of it, in words.

use bathysphere_sdk::estimator::{Forecast, PastRun, Range};
use bathysphere_sdk::types::{Plan, Question};

use crate::complexity::Complexity;
use crate::extra;
use crate::history::{Alike, alike, costs, seconds};
use crate::interval::{Coverage, Interval};
use crate::rule::thumb;
use crate::settings::Settings;

pub fn estimate(
    settings: &Settings,
    question: &Question,
    plan: &Plan,
    history: &[PastRun],
) -> Forecast {
    let complexity = Complexity::of(settings, question);
    let (thumb_time, thumb_cost) = thumb(settings, question, plan, complexity);
    let alike = alike(settings, question, plan, complexity, history);
    let times = seconds(&alike.runs);
    let prices = costs(&alike.runs);
    let time = settled(settings, alike.enough, &times, thumb_time);
    let enough_prices = prices.len() >= settings.min_runs as usize;
    let mut cost = settled(settings, alike.enough && enough_prices, &prices, thumb_cost);
    if let Some(most) = question.max_cost_usd {
        // The host ends a run before it costs more.
        cost = cost.capped(most);
    }
    let least = settings.min_runs as usize;
    let coverage = Coverage::of_values(&times, settings.min_width, least);
    let cost_coverage = Coverage::of_values(&prices, settings.min_width, least);
    let waits = extra(&question.extra, "wait_seconds")
        .and_then(|seconds| seconds.parse::<f64>().ok())
        .filter(|seconds| seconds.is_finite())
        .unwrap_or(settings.async_after_seconds);
    let goes_on = time.likely > waits;
    Forecast {
        complexity: complexity.as_str().to_owned(),
        seconds: Range { low: time.low, high: time.high },
        cost_usd: Range { low: cost.low, high: cost.high },
        runs: alike.runs.len() as u32,
        reason: reason(&alike, complexity, coverage),
        extra: [
            ("likely_seconds", time.likely.to_string()),
            ("likely_cost_usd", cost.likely.to_string()),
            ("coverage", coverage.to_string()),
            ("cost_coverage", cost_coverage.to_string()),
            ("will_likely_go_async", goes_on.to_string()),
            ("recommendation", recommendation(complexity, &time, goes_on)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec(),
    }
}

/// From past runs where there are enough; a few of them only widen the rule.
fn settled(settings: &Settings, enough: bool, values: &[f64], thumb: Interval) -> Interval {
    if values.is_empty() {
        return thumb;
    }
    let own = Interval::of_values(values, settings.min_width);
    if enough { own } else { thumb.widened_to(own) }
}

fn reason(alike: &Alike<'_>, complexity: Complexity, coverage: Coverage) -> String {
    let runs = match alike.runs.len() {
        0 => {
            return format!(
                "a rule of thumb for a {} question: there are no past runs yet",
                complexity.as_str()
            );
        }
        1 => "1 past run".to_owned(),
        many => format!("{many} past runs"),
    };
    if !alike.enough {
        return format!(
            "a rule of thumb for a {} question, widened by {runs}",
            complexity.as_str()
        );
    }
    let held = if coverage.of == 0 {
        String::new()
    } else {
        format!("; such a range would have held for {coverage}")
    };
    format!("what four out of five of {runs} {} took{held}", alike.in_common)
}

fn recommendation(complexity: Complexity, time: &Interval, goes_on: bool) -> String {
    if !goes_on {
        return "Likely done while you wait.".to_owned();
    }
    let takes = about(time.likely);
    match complexity {
        Complexity::Simple => {
            format!("Takes about {takes}: it goes on in the background.")
        }
        Complexity::Medium => {
            format!(
                "Takes about {takes}: it goes on in the background, and can be looked at or cancelled at any time."
            )
        }
        Complexity::Complex => format!(
            "Complex query detected. Takes about {takes} in the background; narrower questions, one at a time, take less."
        ),
    }
}

fn about(seconds: f64) -> String {
    let unit = |count: f64, name: &str| {
        let count = count.round().max(1.0);
        if count <= 1.0 { format!("1 {name}") } else { format!("{count} {name}s") }
    };
    if seconds < 90.0 {
        unit(seconds, "second")
    } else if seconds < 5400.0 {
        unit(seconds / 60.0, "minute")
    } else {
        unit(seconds / 3600.0, "hour")
    }
}
