//! `estimate`: what research would take, before it is started. Nothing is sent.

use std::io::Read;

use super::arguments::EstimateArguments;
use super::desk::Desk;
use super::pretty::hanging;
use super::question;
use super::terminal::{BOLD, FAINT, Look, Stop, Terminal};
use crate::plugins::contract::Question;
use crate::report::words::{count, one_line};
use crate::tasks::{Estimate, START_DEEP_RESEARCH};

pub async fn run(
    arguments: &EstimateArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
    stdin: &mut (impl Read + Send),
) -> Result<u8, Stop> {
    let text = question::read("question", &arguments.question, stdin)?;
    let model = arguments.model.iter().map(|model| ("model".to_owned(), model.clone()));
    let question = Question { text, extra: model.collect(), ..Question::default() };
    let estimate = desk.estimate(START_DEEP_RESEARCH, question).await?;
    if arguments.json {
        terminal.print_json(&estimate)?;
    } else {
        let look = terminal.out;
        terminal.print(&as_text(&estimate, look))?;
    }
    Ok(0)
}

fn as_text(estimate: &Estimate, look: Look) -> String {
    let (time, cost) = (&estimate.estimated_duration, &estimate.estimated_cost);
    let mut rests_on = one_line(&estimate.reason);
    // The reason says how often; another estimator's may not.
    if let Some(held) = estimate.past_intervals_held.as_deref()
        && !rests_on.contains(held)
    {
        rests_on = format!("{rests_on}; such ranges held for {held}");
    }
    if estimate.based_on_runs > 0 && !rests_on.contains(&estimate.based_on_runs.to_string()) {
        let runs = count(estimate.based_on_runs.into(), "past run");
        rests_on = format!("{rests_on} ({runs})");
    }
    let lines = [
        ("Complexity", one_line(&estimate.query_complexity)),
        (
            "Time",
            format!(
                "{} to {}, likely {}",
                minutes(time.min_minutes),
                minutes(time.max_minutes),
                minutes(time.likely_minutes)
            ),
        ),
        (
            "Cost",
            format!("${:.2} to ${:.2}, likely ${:.2}", cost.min_usd, cost.max_usd, cost.likely_usd),
        ),
        ("Rests on", rests_on),
        ("Prices", format!("list prices of {}", one_line(&estimate.prices_dated))),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        let label = format!("{}  ", look.paint(BOLD, &format!("{name:<10}")));
        text.push_str(&hanging(&value, &label, "            ", look));
        text.push('\n');
    }
    text.push('\n');
    let advice = hanging(&one_line(&estimate.recommendation), "", "", look);
    text.push_str(&look.paint(FAINT, &advice));
    text.push('\n');
    text
}

/// `45 s`, `12 min`, `1.5 h`
pub(super) fn minutes(minutes: f64) -> String {
    if minutes < 1.0 {
        format!("{:.0} s", minutes * 60.0)
    } else if minutes < 90.0 {
        format!("{minutes:.0} min")
    } else {
        format!("{:.1} h", minutes / 60.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tasks::{EstimatedCost, EstimatedDuration};

    pub fn estimate() -> Estimate {
        Estimate {
            query_complexity: "medium".to_owned(),
            estimated_duration: EstimatedDuration {
                min_minutes: 5.0,
                max_minutes: 30.0,
                likely_minutes: 12.2,
            },
            estimated_cost: EstimatedCost { min_usd: 1.03, max_usd: 3.11, likely_usd: 2.07 },
            will_likely_go_async: true,
            recommendation: "Takes about 12 minutes: it goes on in the background.".to_owned(),
            based_on_runs: 20,
            past_intervals_held: Some("17 of 20".to_owned()),
            reason: "what four out of five of 20 past runs of the same complexity took; such a \
                     range would have held for 17 of 20"
                .to_owned(),
            prices_dated: "2026-10-31".to_owned(),
        }
    }

    #[test]
    fn the_estimate_in_a_pipe_and_in_a_terminal() {
        insta::assert_snapshot!("estimate_pipe", as_text(&estimate(), Look::default()));
        let look = Look { is_terminal: true, styled: false, width: Some(60), columns: Some(60) };
        insta::assert_snapshot!("estimate_terminal", as_text(&estimate(), look));
    }

    #[test]
    fn times_are_told_in_what_fits_them() {
        let told: Vec<String> = [0.0, 0.3, 1.0, 12.2, 89.0, 90.0, 600.0].map(minutes).to_vec();
        assert_eq!(told, ["0 s", "18 s", "1 min", "12 min", "89 min", "1.5 h", "10.0 h"]);
    }
}
