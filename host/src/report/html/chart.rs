//! Small charts, drawn as SVG inside the page: what each round brought, and where the
//! sources are from. A chart that would say nothing is not drawn.

use std::fmt::Write as _;

use super::super::Outcome;
use super::super::citations::web_host;
use super::super::cited::Cited;
use super::super::words::{count, one_line, shortened};
use super::body::escaped;
use crate::plugins::contract::Source;

/// Units of the drawing; the page scales it.
const WIDTH: usize = 520;
const ROW: usize = 26;
/// Where bars begin, and how far they may reach.
const LABEL: usize = 170;
const LONGEST: usize = WIDTH - LABEL - 60;

/// Rows of a chart; what is more is summed up in the last.
const ROWS: usize = 8;

/// Rounds of a chart: the last ones, where there were more.
const ROUNDS: usize = 24;

/// The charts that there is data for.
pub fn charts(outcome: &Outcome, cited: Option<&Cited>) -> Vec<String> {
    rounds(outcome).into_iter().chain(places(outcome, cited)).collect()
}

/// A row: its name, and the two parts of its bar.
struct Row {
    name: String,
    first: u64,
    second: u64,
    said: String,
}

fn rounds(outcome: &Outcome) -> Option<String> {
    if outcome.rounds.len() < 2 {
        return None;
    }
    let skipped = outcome.rounds.len().saturating_sub(ROUNDS);
    let rows: Vec<Row> = outcome.rounds[skipped..]
        .iter()
        .map(|round| {
            let (sources, findings) = (u64::from(round.new_sources), u64::from(round.new_findings));
            let said = match (round.error.is_some(), findings) {
                (true, _) => "failed".to_owned(),
                (false, 0) => count(sources, "source"),
                (false, _) => {
                    format!("{}, {}", count(sources, "source"), count(findings, "finding"))
                }
            };
            Row { name: format!("Round {}", round.number), first: sources, second: findings, said }
        })
        .collect();
    let total: u64 = rows.iter().map(|row| row.first + row.second).sum();
    let findings = rows.iter().any(|row| row.second > 0);
    let caption =
        if findings { "New sources and findings, by round" } else { "New sources, by round" };
    let legend: &[&str] = if findings { &["sources", "findings"] } else { &[] };
    (total > 0).then(|| bars(caption, legend, &rows))
}

/// Where the sources are from; by how often the report cites them, where it says so.
fn places(outcome: &Outcome, cited: Option<&Cited>) -> Option<String> {
    let mut found: Vec<(String, u64)> = Vec::new();
    let mut add = |source: &Source, weight: u64| {
        let place = place(source);
        match found.iter_mut().find(|(known, _)| *known == place) {
            Some((_, total)) => *total += weight,
            None => found.push((place, weight)),
        }
    };
    let cited = cited.filter(|cited| !cited.numbered.is_empty());
    let (caption, unit) = if let Some(cited) = cited {
        for (source, uses) in cited.numbered.iter().zip(&cited.uses) {
            add(source, *uses as u64);
        }
        ("Citations, by site", "citation")
    } else {
        for source in &outcome.sources {
            add(source, 1);
        }
        ("Sources, by place", "source")
    };
    // One place, or each once: nothing to see.
    if found.len() < 2 || found.iter().all(|(_, total)| *total <= 1) {
        return None;
    }
    found.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    if found.len() > ROWS {
        let rest = found.split_off(ROWS - 1);
        let total = rest.iter().map(|(_, total)| total).sum();
        found.push((format!("{} others", rest.len()), total));
    }
    let rows: Vec<Row> = found
        .into_iter()
        .map(|(name, total)| Row { name, first: total, second: 0, said: count(total, unit) })
        .collect();
    Some(bars(caption, &[], &rows))
}

/// A site without its `www.`, or a file's name.
fn place(source: &Source) -> String {
    match web_host(&source.url) {
        Some(host) => host.strip_prefix("www.").unwrap_or(host).to_owned(),
        None => source.url.rsplit(['/', '\\']).next().unwrap_or(&source.url).to_owned(),
    }
}

fn bars(caption: &str, legend: &[&str], rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.first + row.second).max().unwrap_or(1).max(1);
    let length = |value: u64| {
        let length = (value as f64 / most as f64 * LONGEST as f64).round() as usize;
        if value > 0 { length.max(3) } else { 0 }
    };
    let mut text = String::from("<figure class=\"chart\"><figcaption>");
    text.push_str(&escaped(caption));
    for (index, name) in legend.iter().enumerate() {
        let _ = write!(text, " <span class=\"key key-{}\">{}</span>", index + 1, escaped(name));
    }
    let height = rows.len() * ROW;
    let _ = write!(
        text,
        "</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escaped(&described(caption, rows))
    );
    for (index, row) in rows.iter().enumerate() {
        let top = index * ROW;
        let (first, second) = (length(row.first), length(row.second));
        let _ = write!(
            text,
            "<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>",
            LABEL - 12,
            top + 17,
            escaped(&shortened(&one_line(&row.name), 22))
        );
        for (class, left, width) in [("bar-1", LABEL, first), ("bar-2", LABEL + first, second)] {
            if width > 0 {
                let _ = write!(
                    text,
                    "<rect class=\"{class}\" x=\"{left}\" y=\"{}\" width=\"{width}\" height=\"14\" rx=\"2\"/>",
                    top + 5
                );
            }
        }
        let value = if row.second > 0 {
            format!("{} + {}", row.first, row.second)
        } else {
            row.first.to_string()
        };
        let shown = if row.said == "failed" { "failed" } else { value.as_str() };
        let _ = writeln!(
            text,
            "<text class=\"value\" x=\"{}\" y=\"{}\">{}</text>",
            LABEL + first + second + 8,
            top + 17,
            escaped(shown)
        );
    }
    text.push_str("</svg></figure>\n");
    text
}

/// For those who hear the page.
fn described(caption: &str, rows: &[Row]) -> String {
    let rows: Vec<String> =
        rows.iter().map(|row| format!("{}: {}", one_line(&row.name), row.said)).collect();
    format!("{caption}. {}", rows.join("; "))
}

#[cfg(test)]
mod tests {
    use super::super::super::cited::Form;
    use super::super::super::tests as outcomes;
    use super::*;

    #[test]
    fn charts_are_drawn_where_there_is_something_to_see() {
        let of = |outcome: &Outcome| charts(outcome, Cited::new(outcome, Form::Footnotes).as_ref());
        let drawn = of(&outcomes::researched());
        assert_eq!(drawn.len(), 1, "one round is no course");
        assert!(
            drawn[0].contains("Citations, by site")
                && drawn[0].contains("grid.example: 1 citation")
        );
        let mut outcome = outcomes::found();
        let drawn = of(&outcome);
        assert!(drawn[0].contains("Round 1: 3 sources, 3 findings"), "{drawn:?}");
        assert_eq!(drawn.len(), 1, "a source from each place is no news");
        outcome.sources.push(outcome.sources[0].clone());
        assert!(of(&outcome)[1].contains("tides.md: 2 sources"));
        let mut empty = outcomes::failed();
        empty.sources.clear();
        assert!(of(&empty).is_empty());
    }

    #[test]
    fn names_stay_inside_the_drawing() {
        let mut outcome = outcomes::found();
        for (number, source) in outcome.sources.iter_mut().enumerate() {
            source.url = format!("https://<svg onload=x>\"'&{number}.example/{}", "x".repeat(300));
            source.location = None;
        }
        outcome.sources.push(outcome.sources[0].clone());
        let drawn = charts(&outcome, None).join("");
        assert!(!drawn.contains("<svg onload") && drawn.contains("&lt;svg"), "{drawn}");
    }

    #[test]
    fn many_places_are_summed_up() {
        let mut outcome = outcomes::found();
        outcome.sources = (0..40)
            .map(|number| {
                outcomes::page(&format!("https://s{}.example/{number}", number.max(20) - 20), "")
            })
            .collect();
        let drawn = charts(&outcome, None).pop().unwrap();
        assert_eq!(drawn.matches("class=\"name\"").count(), ROWS);
        assert!(drawn.contains("13 others"), "{drawn}");
    }
}
