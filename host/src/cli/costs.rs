//! `costs`: what was spent, by day, backend or task, and what estimates were worth.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use unicode_width::UnicodeWidthStr as _;

use super::arguments::CostsArguments;
use super::desk::Desk;
use super::estimate::minutes;
use super::table::{Cell, fitting, table};
use super::terminal::{BOLD, CYAN, FAINT, GREEN, Look, Stop, Terminal, YELLOW};
use crate::report::short_id;
use crate::report::words::{count, duration, grouped, one_line};
use crate::tasks::{Amounts, CostRow, Costs, CostsBy, EstimateRow, Estimates, Held};

/// How many estimates are looked at.
const MOST_ESTIMATES: u32 = 1000;

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// All that there is.
    Ever,
    /// The midnight before, or that many days before it.
    Days(u32),
    Day(Date),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let wrong = || {
            "write a number of days such as 30d, weeks such as 2w, a day such as 2026-11-01, \
             today or all"
                .to_owned()
        };
        match text {
            "all" => return Ok(Self::Ever),
            "today" => return Ok(Self::Days(0)),
            _ => {}
        }
        for (unit, days) in [("d", 1), ("w", 7)] {
            if let Some(number) = text.strip_suffix(unit) {
                let number: u32 = number.parse().map_err(|_| wrong())?;
                // Longer ago than anybody has kept.
                return Ok(Self::Days(number.saturating_mul(days).min(36_500)));
            }
        }
        text.parse().map(Self::Day).map_err(|_| wrong())
    }
}

impl Since {
    fn timestamp(self, now: &Zoned) -> Option<Timestamp> {
        let start = match self {
            Self::Ever => return None,
            Self::Days(days) => now.checked_sub(Span::new().days(i64::from(days))).ok()?,
            Self::Day(date) => date.to_zoned(now.time_zone().clone()).ok()?,
        };
        Some(start.start_of_day().ok()?.timestamp())
    }
}

pub async fn run(
    arguments: &CostsArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    if arguments.estimates {
        let estimates = desk.estimates(MOST_ESTIMATES).await?;
        if arguments.json {
            terminal.print_json(&estimates)?;
        } else if estimates.rows.is_empty() {
            terminal.say("no task that was estimated has completed yet");
        } else {
            let look = terminal.out;
            terminal.print(&estimates_as_text(&estimates, look))?;
            let summary = terminal.err.paint(FAINT, &worth(&estimates));
            terminal.say(&summary);
        }
        return Ok(0);
    }
    let zone = TimeZone::system();
    let now = Timestamp::now().to_zoned(zone.clone());
    let since = arguments.since.timestamp(&now);
    let costs = desk.costs(arguments.by.into(), since, zone).await?;
    if arguments.json {
        terminal.print_json(&costs)?;
    } else if costs.rows.is_empty() {
        terminal.say("nothing was spent in this time; --since all looks at everything");
    } else {
        let look = terminal.out;
        terminal.print(&as_text(&costs, look))?;
        for line in footnotes(&costs) {
            let line = terminal.err.paint(FAINT, &line);
            terminal.say(&line);
        }
    }
    Ok(0)
}

fn as_text(costs: &Costs, look: Look) -> String {
    let (first, last) = match costs.by {
        CostsBy::Day => ("DAY", None),
        CostsBy::Backend => ("BACKEND", None),
        CostsBy::Task => ("ID", Some("QUESTION")),
    };
    let mut headers = vec![(first, 0), ("COST", 0), ("CALLS", 60), ("READ", 80), ("WRITTEN", 80)];
    headers.push(("SEARCHES", 90));
    headers.extend(last.map(|header| (header, 0)));
    let headers = fitting(&headers, look);
    let total =
        CostRow { key: "total".to_owned(), tool: None, question: None, amounts: costs.total };
    // One row is its own total.
    let shown: Vec<&CostRow> =
        costs.rows.iter().chain((costs.rows.len() > 1).then_some(&total)).collect();
    let decimals = decimals(&shown);
    let columns: Vec<Vec<String>> = headers
        .iter()
        .map(|header| {
            let texts = shown.iter().map(|row| text(row, header, decimals));
            let texts = std::iter::once((*header).to_owned()).chain(texts).collect();
            if is_number(header) { right_aligned(texts) } else { texts }
        })
        .collect();
    let titles: Vec<&str> = columns.iter().map(|column| column[0].trim_end()).collect();
    let rows: Vec<Vec<Cell>> = (0..shown.len())
        .map(|at| {
            let is_total = at == costs.rows.len();
            headers
                .iter()
                .zip(&columns)
                .map(|(header, column)| {
                    let style = match *header {
                        _ if is_total => BOLD,
                        "ID" | "BACKEND" | "DAY" => CYAN,
                        "COST" | "QUESTION" => anstyle::Style::new(),
                        _ => FAINT,
                    };
                    Cell::styled(column[at + 1].clone(), style)
                })
                .collect()
        })
        .collect();
    table(&titles, &rows, look)
}

fn text(row: &CostRow, header: &str, decimals: usize) -> String {
    let amounts = &row.amounts;
    match header {
        "COST" => dollars(amounts, decimals),
        "CALLS" => grouped(amounts.calls),
        "READ" => grouped(amounts.input_tokens),
        "WRITTEN" => grouped(amounts.output_tokens),
        "SEARCHES" => grouped(amounts.searches),
        "ID" if row.question.is_some() => short_id(&row.key).to_owned(),
        "QUESTION" => row.question.as_deref().map(one_line).unwrap_or_default(),
        _ => one_line(&row.key),
    }
}

fn is_number(header: &str) -> bool {
    matches!(header, "COST" | "CALLS" | "READ" | "WRITTEN" | "SEARCHES")
}

/// Digits stand below each other, and the header above their end.
fn right_aligned(texts: Vec<String>) -> Vec<String> {
    let width = |text: &String| text.trim_end_matches('+').width();
    let widest = texts.iter().map(width).max().unwrap_or(0);
    // What stands behind the digits stands behind them in every row.
    let marked = texts.iter().any(|text| text.ends_with('+'));
    texts
        .into_iter()
        .map(|text| {
            let mark = if marked && !text.ends_with('+') { " " } else { "" };
            format!("{}{text}{mark}", " ".repeat(widest - width(&text)))
        })
        .collect()
}

/// Cents, or hundredths of them where there is less than a cent to tell.
fn decimals(rows: &[&CostRow]) -> usize {
    let is_small = |row: &&CostRow| row.amounts.cost_usd > 0.0 && row.amounts.cost_usd < 0.01;
    if rows.iter().any(is_small) { 4 } else { 2 }
}

/// `$2.07`, with a `+` where more than is known may have been spent.
fn dollars(amounts: &Amounts, decimals: usize) -> String {
    if amounts.calls > 0 && amounts.calls == amounts.unpriced_calls {
        return "?".to_owned();
    }
    let open = if amounts.unpriced_calls > 0 { "+" } else { "" };
    format!("${:.decimals$}{open}", amounts.cost_usd)
}

fn footnotes(costs: &Costs) -> Vec<String> {
    let today = &costs.today;
    let of = today.limit_usd.map(|limit| format!(" of ${limit:.2}")).unwrap_or_default();
    let held = if today.reserved_usd > 0.0 {
        format!(", ${:.2} held for tasks that run", today.reserved_usd)
    } else {
        String::new()
    };
    let mut lines = vec![format!(
        "today: ${:.2}{of} spent{held} · list prices of {}, no free allowance counted",
        today.spent_usd,
        one_line(&costs.prices_dated)
    )];
    if costs.total.unpriced_calls > 0 {
        lines.push(format!(
            "{} without a known price (+, ?): the model is not in the price list, or there was no \
             answer",
            count(costs.total.unpriced_calls, "call")
        ));
    }
    lines
}

fn estimates_as_text(estimates: &Estimates, look: Look) -> String {
    let headers = fitting(
        &[
            ("ID", 0),
            ("TIME", 0),
            ("EXPECTED", 0),
            ("COST", 70),
            ("EXPECTED COST", 70),
            ("RUNS", 100),
            ("QUESTION", 0),
        ],
        look,
    );
    let verdict = |held: bool| if held { GREEN } else { YELLOW };
    let cell = |row: &EstimateRow, header: &str| match header {
        "ID" => Cell::styled(short_id(&row.task_id), CYAN),
        "TIME" => Cell::styled(
            format!("{} {}", duration(milliseconds(row.actual_seconds)), mark(row.time_held)),
            verdict(row.time_held),
        ),
        "EXPECTED" => Cell::styled(
            format!("{} – {}", minutes(row.min_seconds / 60.0), minutes(row.max_seconds / 60.0)),
            FAINT,
        ),
        "COST" => match (row.actual_usd, row.cost_held) {
            (Some(cost), Some(held)) => {
                Cell::styled(format!("${cost:.2} {}", mark(held)), verdict(held))
            }
            _ => Cell::new("?"),
        },
        "EXPECTED COST" => {
            Cell::styled(format!("${:.2} – ${:.2}", row.min_usd, row.max_usd), FAINT)
        }
        "RUNS" => Cell::new(row.runs.to_string()),
        _ => Cell::new(one_line(&row.question)),
    };
    let rows: Vec<Vec<Cell>> = estimates
        .rows
        .iter()
        .map(|row| headers.iter().map(|header| cell(row, header)).collect())
        .collect();
    table(&headers, &rows, look)
}

fn mark(held: bool) -> &'static str {
    if held { "✓" } else { "✗" }
}

fn milliseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0) as u64
}

fn worth(estimates: &Estimates) -> String {
    let share = |Held { held, of }: Held| match of {
        0 => "none is known".to_owned(),
        _ => format!("{held} of {of} ({:.0}%)", held as f64 * 100.0 / of as f64),
    };
    format!(
        "ranges that held: time {}, cost {}; four out of five are meant to",
        share(estimates.time),
        share(estimates.cost)
    )
}

#[cfg(test)]
pub(super) mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::tasks::Today;

    fn amounts(calls: u64, unpriced_calls: u64, cost_usd: f64) -> Amounts {
        Amounts {
            calls,
            unpriced_calls,
            input_tokens: calls * 12_345,
            output_tokens: calls * 678,
            searches: calls * 3,
            pages: 0,
            cost_usd,
        }
    }

    fn row(key: &str, question: Option<&str>, amounts: Amounts) -> CostRow {
        CostRow {
            key: key.to_owned(),
            tool: question.map(|_| "deep_search".to_owned()),
            question: question.map(str::to_owned),
            amounts,
        }
    }

    pub fn costs(by: CostsBy) -> Costs {
        let rows = match by {
            CostsBy::Day => vec![
                row("2026-11-15", None, amounts(3, 0, 2.0716)),
                row("2026-11-14", None, amounts(120, 1, 0.0042)),
            ],
            CostsBy::Backend => vec![
                row("research-gemini", None, amounts(3, 0, 2.0716)),
                row("agent-gemini-cli", None, amounts(1, 1, 0.0)),
            ],
            CostsBy::Task => vec![row(
                "0198c2f4-7a1b-7c3d-8e4f-112233445566",
                Some("When do spring\ntides happen, and how are they predicted in the almanac?"),
                amounts(3, 0, 2.0716),
            )],
        };
        Costs {
            by,
            since: None,
            total: amounts(123, 1, 2.1137),
            rows,
            today: Today { spent_usd: 2.0716, reserved_usd: 3.0, limit_usd: Some(10.0) },
            prices_dated: "2026-10-31".to_owned(),
        }
    }

    pub fn estimates() -> Estimates {
        let row = |seconds: f64, cost: Option<f64>| EstimateRow {
            task_id: "0198c2f4-7a1b-7c3d-8e4f-112233445566".to_owned(),
            tool: "start_deep_research".to_owned(),
            question: "The state of tidal power".to_owned(),
            complexity: "medium".to_owned(),
            runs: 4,
            made_at: "2026-11-15T00:00:00Z".to_owned(),
            min_seconds: 300.0,
            max_seconds: 1800.0,
            actual_seconds: seconds,
            time_held: (300.0..=1800.0).contains(&seconds),
            min_usd: 1.03,
            max_usd: 3.11,
            actual_usd: cost,
            cost_held: cost.map(|cost| (1.03..=3.11).contains(&cost)),
        };
        Estimates {
            time: Held { held: 2, of: 3 },
            cost: Held { held: 1, of: 2 },
            rows: vec![row(754.0, Some(2.2)), row(61.0, Some(0.4)), row(900.0, None)],
        }
    }

    #[test]
    fn the_tables_in_a_pipe_and_in_a_terminal() {
        let look = Look { is_terminal: true, styled: false, width: Some(70), columns: Some(70) };
        let mut shown = String::new();
        for by in [CostsBy::Day, CostsBy::Backend, CostsBy::Task] {
            let costs = costs(by);
            shown.push_str(&as_text(&costs, Look::default()));
            let notes = footnotes(&costs).join("\n");
            let _ = writeln!(shown, "{notes}\n\n{}", as_text(&costs, look));
        }
        shown.push_str(&estimates_as_text(&estimates(), Look::default()));
        let _ = writeln!(shown, "{}\n", worth(&estimates()));
        shown.push_str(&estimates_as_text(&estimates(), look));
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_time_can_be_given_in_several_ways() {
        let now: Zoned = "2026-11-15T12:34:56+02:00[+02:00]".parse().unwrap();
        let since = |text: &str| {
            let since: Since = text.parse().unwrap();
            since.timestamp(&now).map(|time| time.to_string())
        };
        assert_eq!(since("all"), None);
        assert_eq!(since("today").as_deref(), Some("2026-11-14T22:00:00Z"));
        assert_eq!(since("1d").as_deref(), Some("2026-11-13T22:00:00Z"));
        assert_eq!(since(" 2w ").as_deref(), Some("2026-10-31T22:00:00Z"));
        assert_eq!(since("2026-11-01").as_deref(), Some("2026-10-31T22:00:00Z"));
        assert!(since("4294967295w").is_some());
        for wrong in ["", "d", "-1d", "yesterday", "2026-13-01", "3h"] {
            assert!(wrong.parse::<Since>().is_err(), "{wrong}");
        }
    }
}
