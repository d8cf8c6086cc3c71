//! `find`: the passages that fit a query best, with the words that matched.

use std::io::Read;
use std::sync::Arc;

use serde_json::json;

use super::arguments::FindArguments;
use super::attend::{Attended, attend};
use super::desk::Desk;
use super::progress::Progress;
use super::snippet::Matcher;
use super::terminal::{BOLD, CYAN, FAINT, Look, Stop, Terminal};
use super::{documents, pretty, question};
use crate::plugins::contract::Passage;
use crate::report::words::{clean, one_line};

pub async fn run(
    arguments: FindArguments,
    desk: Arc<dyn Desk>,
    terminal: &mut Terminal,
    stdin: &mut (impl Read + Send),
    verbose: u8,
) -> Result<u8, Stop> {
    let query = question::read("query", &arguments.query, stdin)?;
    documents::check(&arguments.documents.documents)?;
    let limit = arguments.limit;
    let asked = query.clone();
    let Attended { result, signal } = attend(
        desk,
        terminal,
        Progress::new(terminal, verbose, None),
        |desk, events, cancel| async move { desk.passages(asked, limit, events, cancel).await },
    )
    .await?;
    let passages = match (result, signal) {
        (Ok(passages), _) => passages,
        (Err(_), Some(signal)) => return Ok(signal),
        (Err(report), None) => return Err(report.into()),
    };
    if arguments.json {
        terminal.print_json(&as_json(&query, &passages))?;
        return Ok(0);
    }
    if passages.is_empty() {
        terminal.say("nothing matches; try fewer or other words, or see `bathysphere doctor` for what is searched");
        return Ok(0);
    }
    let look = terminal.out;
    terminal.print(&as_text(&query, &passages, look))?;
    Ok(0)
}

fn as_json(query: &str, passages: &[Passage]) -> serde_json::Value {
    let hits: Vec<_> = passages
        .iter()
        .map(|passage| {
            let location = passage.source.location.as_ref();
            json!({
                "url": passage.source.url,
                "start_line": location.map(|location| location.start_line),
                "end_line": location.map(|location| location.end_line),
                "heading": location.and_then(|location| location.heading.as_deref()),
                "title": passage.source.title,
                "score": passage.score,
                "text": passage.text,
            })
        })
        .collect();
    json!({ "query": query, "hits": hits })
}

fn as_text(query: &str, passages: &[Passage], look: Look) -> String {
    let matcher = Matcher::new(query);
    let shown: Vec<String> = passages
        .iter()
        .map(|passage| {
            let heading = passage
                .source
                .location
                .as_ref()
                .and_then(|location| location.heading.as_deref())
                .filter(|heading| !heading.is_empty());
            let heading = one_line(heading.unwrap_or(&passage.source.title));
            let place = look.paint(CYAN, &one_line(&passage.source.reference()));
            let heading = if heading.is_empty() {
                heading
            } else {
                format!("  {}", look.paint(FAINT, &heading))
            };
            let snippet = matcher.snippet(&clean(&passage.text));
            let snippet = matcher.highlight(&snippet, |word| look.paint(BOLD, word));
            format!("{place}{heading}\n{}\n", pretty::hanging(&snippet, "  ", "  ", look))
        })
        .collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::source;

    fn passages() -> Vec<Passage> {
        vec![
            Passage {
                source: source("notes/tides.md", (12, 14), "Tides", "Tides › Spring tides"),
                text: "Spring tides come twice a month.\nThey are the highest\u{1b}[2J.".to_owned(),
                score: 9.25,
            },
            Passage {
                source: source("notes/almanac.rst", (40, 40), "Almanac", ""),
                text: "The tide of spring is a tidal matter.".to_owned(),
                score: 3.5,
            },
        ]
    }

    #[test]
    fn passages_in_a_pipe_and_in_a_terminal() {
        insta::assert_snapshot!("find_pipe", as_text("spring tides", &passages(), Look::default()));
        let look = Look { is_terminal: true, styled: true, width: Some(40), columns: Some(40) };
        insta::assert_snapshot!(
            "find_terminal",
            as_text("spring tides", &passages(), look).replace('\u{1b}', "␛")
        );
    }

    #[test]
    fn json_holds_whole_passages() {
        let value = as_json("spring tides", &passages());
        assert_eq!(value["hits"][0]["start_line"], 12);
        assert_eq!(value["hits"][0]["text"], passages()[0].text);
        assert_eq!(value["hits"][1]["score"], 3.5);
    }
}
