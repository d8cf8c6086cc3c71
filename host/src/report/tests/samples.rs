//! Outcomes that tests print: found in documents, written by an agent, researched by
//! a vendor, ended in every way there is, and hostile.

use super::super::outcome::START_DEEP_RESEARCH;
use super::super::{ErrorReport, Outcome, TaskStatus};
use crate::plugins::contract::{
    Citation, ErrorKind, Finding, Level, Location, Plan, PluginError, Quality, Question, Round,
    SearchDepth, Source, StopReason, Usage,
};

pub fn source(url: &str, lines: (u32, u32), title: &str, heading: &str) -> Source {
    Source {
        url: url.to_owned(),
        title: title.to_owned(),
        location: Some(Location {
            start_line: lines.0,
            end_line: lines.1,
            heading: Some(heading.to_owned()),
        }),
        published: None,
        extra: Vec::new(),
    }
}

pub fn finding(text: &str, source: Source) -> Finding {
    Finding { text: text.to_owned(), quote: text.to_owned(), source }
}

pub fn round(number: u32, queries: &[&str], new_findings: u32, new_sources: u32) -> Round {
    Round {
        number,
        step: "gather".to_owned(),
        reason: "the question names two things".to_owned(),
        queries: queries.iter().map(|query| (*query).to_owned()).collect(),
        sources: Vec::new(),
        new_sources,
        findings: Vec::new(),
        new_findings,
        answer: None,
        citations: Vec::new(),
        verified: None,
        quality: Quality::default(),
        follow_ups: Vec::new(),
        usage: Usage::default(),
        error: None,
        duration_ms: 12,
        extra: Vec::new(),
    }
}

/// Two rounds, four findings, from documents.
pub fn found() -> Outcome {
    let spring = source("notes/tides.md", (12, 14), "Tides", "Tides › Spring tides");
    let table = source("notes/almanac.rst", (40, 52), "Almanac", "Reading the tables");
    let command = source("README.md", (3, 9), "Tide tool", "Tide tool › Usage");
    Outcome {
        id: "0198c2f4-7a1b-7c3d-8e4f-112233445566".to_owned(),
        tool: "research".to_owned(),
        question: Question {
            text: "When do spring tides happen, and how are they predicted?".to_owned(),
            ..Question::default()
        },
        status: TaskStatus::Completed,
        plan: Some(Plan {
            level: Level::Medium,
            rounds: 3,
            results: 8,
            pages: 0,
            depth: SearchDepth::Basic,
            reason: "two questions in one".to_owned(),
            extra: Vec::new(),
        }),
        rounds: vec![
            round(1, &["spring tides", "predict tides"], 3, 3),
            round(2, &["tidal harmonic constants"], 1, 1),
        ],
        answer: String::new(),
        findings: vec![
            finding(
                "Spring tides come twice a month, at new and at full moon, when sun and moon pull in one line.",
                spring.clone(),
            ),
            finding(
                "A day or two passes between the moon's phase and the highest tide: the *age of the tide*.",
                spring.clone(),
            ),
            finding(
                "The tables are made from harmonic constants with `tide_at<Port>(time)`, one set a port.",
                table.clone(),
            ),
            finding(
                "Print the next week:\n\n```sh\ntide --port brest --days 7\n# as a table\ntide --table\n```",
                command.clone(),
            ),
        ],
        citations: Vec::new(),
        sources: vec![spring, table, command, source("notes/winds.md", (1, 4), "Winds", "Winds")],
        stop_reason: Some(StopReason::DiminishingReturns),
        note: None,
        usage: Usage::default(),
        model: None,
        created_at: "2026-03-01T09:30:00Z".to_owned(),
        finished_at: Some("2026-03-01T09:30:00.412Z".to_owned()),
        duration_ms: 412,
        error: None,
        job: None,
        saved: true,
    }
}

/// A page without lines.
pub fn page(url: &str, title: &str) -> Source {
    Source {
        url: url.to_owned(),
        title: title.to_owned(),
        location: None,
        published: None,
        extra: Vec::new(),
    }
}

/// A deep search by an agent that searches by itself: a report, a round that
/// failed, and one that found the report right.
pub fn written() -> Outcome {
    let answer = "# Spring tides\n\nThey come twice a month [1], a day or two after new and full moon [2].\n\n\
        ## Prediction\n\n| method | used for |\n|---|---|\n| harmonic constants | tables [2] |\n\n\
        ```python\n# hours after high water\nrange = spring * 7 / 12  # see <notes>\n```\n\n\
        ### Limits\n\n- Storm surge is not in the tables; see <https://surge.example/today>.\n\n\
        ## Sources\n\n1. [Tides, an overview](https://tides.example/overview)\n2. https://almanac.example/tables\n";
    let asked = |number: u32, queries: &[&str], sources: Vec<Source>, verified: bool| Round {
        step: "ask".to_owned(),
        answer: Some(answer.to_owned()),
        verified: Some(verified),
        new_sources: sources.len() as u32,
        sources,
        ..round(number, queries, 0, 0)
    };
    let pages = [
        page("https://tides.example/overview", "Tides, an overview"),
        page("https://almanac.example/tables", ""),
        page("https://forum.example/t/42?page=2", "Why is the highest tide late? [solved]"),
    ];
    let queries = [
        "spring tides",
        "tide prediction",
        "age of the tide",
        "harmonic constants",
        "storm surge tables",
        "tide tables accuracy",
    ];
    let mut first = asked(1, &queries, pages.to_vec(), false);
    first.extra = vec![("summary".to_owned(), "Twice a month, near syzygy.".to_owned())];
    let mut failing = round(2, &[], 0, 0);
    failing.step = "ask".to_owned();
    failing.error = Some(PluginError::new(ErrorKind::Unavailable, "agent-gemini-cli: 503"));
    let mut last = asked(3, &["spring tides", "neap tides"], vec![pages[0].clone()], true);
    last.new_sources = 0;
    last.extra = vec![("summary".to_owned(), "All claims hold; nothing changed.".to_owned())];
    let mut plan = found().plan.unwrap();
    plan.rounds = 5;
    plan.level = Level::Deep;
    plan.reason = "a deep search was asked for".to_owned();
    Outcome {
        tool: "deep_search".to_owned(),
        plan: Some(plan),
        rounds: vec![first, failing, last],
        answer: answer.to_owned(),
        findings: Vec::new(),
        sources: pages.to_vec(),
        stop_reason: Some(StopReason::Verified),
        usage: Usage {
            input_tokens: 41_000,
            output_tokens: 2_100,
            searches: 8,
            pages: 3,
            cost_usd: Some(0.0213),
            ..Usage::default()
        },
        model: Some("gemini-2.5-pro".to_owned()),
        duration_ms: 93_000,
        ..found()
    }
}

/// Research that a vendor did: one long round, with the vendor's own marks and
/// ranges.
pub fn researched() -> Outcome {
    let answer = "# The state of tidal power\n\n\
        [cite_start]Tidal power is small but certain: the sea keeps its hours [cite: 1, 2]. \
        The Rance has run since 1966.[cite: 3]\n\n\
        ## Barrages\n\n\
        | site | power | since |\n|---|---:|---|\n| Rance | 240 MW | 1966 [cite: 3] |\n| Sihwa | 254 MW | 2011 |\n\n\
        ## Streams\n\n\
        MeyGen fed 51 GWh into the grid by 2023. It runs with `AR1500` turbines; \
        see [its owner](https://owner.example/meygen).\n\n\
        > Certain as the almanac. [cite: 2]\n\n\
        1. Storm surge is left out [cite: 9].\n2. So is ice.\n\n\
        ```text\n[cite: 1] stays as it is in code\n```\n\n\
        **Sources:**\n\
        1. [tides.example](https://tides.example/power)\n\
        2. [almanac.example](https://almanac.example/tables)\n\
        3. [rance.example](https://rance.example/history?lang=fr&page=2)\n";
    let grid = page("https://grid.example/2023", "Generation in 2023, by source");
    let start = answer.find("MeyGen fed").unwrap();
    let sources = vec![
        page("https://tides.example/power", "Tidal power, an overview"),
        page("https://almanac.example/tables", "Tables"),
        page("https://rance.example/history?lang=fr&page=2", ""),
        grid.clone(),
        page("https://forum.example/t/42", "Which turbine? [solved]"),
    ];
    let usage = Usage {
        input_tokens: 251_300,
        output_tokens: 60_120,
        searches: 82,
        pages: 41,
        cost_usd: Some(2.4137),
        ..Usage::default()
    };
    let citations = vec![Citation {
        source: grid,
        start: start as u32,
        end: (start + "MeyGen fed 51 GWh into the grid by 2023".len()) as u32,
    }];
    let delegated = Round {
        step: "delegate".to_owned(),
        answer: Some(answer.to_owned()),
        sources: sources.clone(),
        citations: citations.clone(),
        usage: usage.clone(),
        duration_ms: 1_112_000,
        ..round(1, &["tidal power Europe", "Rance barrage output", "MeyGen generation 2023"], 0, 5)
    };
    Outcome {
        tool: START_DEEP_RESEARCH.to_owned(),
        question: Question {
            text: "What is the state of tidal power in Europe?".to_owned(),
            ..Question::default()
        },
        plan: None,
        rounds: vec![delegated],
        answer: answer.to_owned(),
        citations,
        findings: Vec::new(),
        sources,
        stop_reason: Some(StopReason::GoodEnough),
        usage,
        model: Some("deep-research-preview-04-2026".to_owned()),
        finished_at: Some("2026-03-01T09:48:32Z".to_owned()),
        duration_ms: 1_112_000,
        ..found()
    }
}

/// A long one of its kind: about so many bytes, with all that such reports hold.
pub fn long(bytes: usize) -> Outcome {
    use std::fmt::Write as _;
    let mut outcome = researched();
    let sources: Vec<Source> = (1..=120)
        .map(|number| {
            let url = format!("https://s{}.example/paper/{number}?v=2", number % 17);
            page(&url, &format!("Paper {number}: on the age of the tide"))
        })
        .collect();
    let mut answer = String::from("# Tides, at length\n");
    let mut part = 0;
    while answer.len() < bytes {
        part += 1;
        let _ = write!(
            answer,
            "\n## Part {part}: ports and their constants\n\n\
             [cite_start]The port of part {part} keeps **its own** constants, and *nobody* else's \
             [cite: {}, {}]. High water follows the moon's transit by `{part}` minutes, see \
             [the table](https://almanac.example/{part}) and what is said below; the rest is weather, \
             which no table knows, and which this paragraph goes on about at some length.[cite: {}]\n\n\
             ### Figures of part {part}\n\n\
             | month | range | lag |\n|---|---:|---:|\n| March | 6.1 m | 41 min [cite: {}] |\n| June | 4.9 m | 39 min |\n\n\
             - the first of them;\n- the second, with `code`;\n  - and one below it.\n",
            part % 120 + 1,
            (part * 7) % 120 + 1,
            (part * 13) % 120 + 1,
            (part * 3) % 120 + 1,
        );
    }
    outcome.citations = (0..answer.len() as u32)
        .step_by(900)
        .map(|start| Citation {
            source: sources[start as usize / 900 % 120].clone(),
            start,
            end: start + 80,
        })
        .collect();
    outcome.rounds[0].answer = Some(answer.clone());
    outcome.rounds[0].citations.clone_from(&outcome.citations);
    outcome.rounds[0].sources.clone_from(&sources);
    outcome.answer = answer;
    outcome.sources = sources;
    outcome
}

/// The same, ended in the middle of its work.
pub fn ended_midway(status: TaskStatus) -> Outcome {
    let mut outcome = researched();
    outcome.status = status;
    outcome.answer =
        "# The state of tidal power\n\nThe Rance has run since 1966.[cite: 3] And".to_owned();
    outcome.citations.clear();
    outcome.rounds[0].answer = None;
    outcome.stop_reason = None;
    if status == TaskStatus::Failed {
        let message = "Research session expired on Gemini servers. Task was interrupted and cannot be recovered.";
        outcome.rounds[0].error = Some(PluginError::new(ErrorKind::NotFound, message));
        outcome.error = Some(ErrorReport {
            code: "NOT_FOUND".to_owned(),
            message: message.to_owned(),
            hint: None,
        });
    }
    outcome
}

pub fn nothing_found() -> Outcome {
    Outcome {
        findings: Vec::new(),
        sources: vec![source("notes/winds.md", (1, 4), "Winds", "Winds")],
        rounds: vec![
            round(1, &["spring tides", "predict tides"], 0, 1),
            Round {
                follow_ups: vec!["tide tables of Brest".to_owned()],
                ..round(2, &["neap"], 0, 0)
            },
        ],
        stop_reason: Some(StopReason::NothingFound),
        ..found()
    }
}

pub fn cancelled() -> Outcome {
    let mut outcome = found();
    outcome.status = TaskStatus::Cancelled;
    outcome.rounds.truncate(1);
    outcome.findings.truncate(2);
    outcome.sources.truncate(1);
    outcome.stop_reason = None;
    outcome
}

pub fn failed() -> Outcome {
    let mut outcome = nothing_found();
    outcome.status = TaskStatus::Failed;
    outcome.rounds.truncate(1);
    outcome.rounds[0].error = Some(PluginError::new(ErrorKind::Unavailable, "the index is locked"));
    outcome.sources.clear();
    outcome.stop_reason = None;
    outcome.error = Some(ErrorReport {
        code: "UNAVAILABLE".to_owned(),
        message: "search-documents: the index is locked".to_owned(),
        hint: Some("try again when the other process is done".to_owned()),
    });
    outcome
}

/// All that source text might do to a report.
pub fn hostile() -> Outcome {
    let mut outcome = found();
    outcome.question.text = "# What <b>is</b>\n---\nthis `thing?".to_owned();
    outcome.answer = "# Owned\n\n[1]: http://evil.example\n\n<script>x</script> ![p](http://evil.example/p)\n\n```\nnever closed".to_owned();
    outcome.findings = vec![
        finding(
            "# Heading\n\n<!-- hides the rest",
            source("a`b.md", (1, 1), "T](http://evil.example)", "H\n# X"),
        ),
        finding("```\nopen fence\n## Sources\n1. forged", source("b.md", (2, 3), "B", "B")),
        finding("ends in a lone ` tick", source("c.md", (4, 4), "", "")),
        finding("\u{1b}[2Jwiped \u{202e}reversed", source("d.md", (5, 5), "D", "")),
        Finding {
            text: "The port is open all year.".to_owned(),
            quote: "Open all year\n\n# round".to_owned(),
            source: Source {
                url: "https://example.org/a?b=<c>".to_owned(),
                title: "Ports [all]".to_owned(),
                location: None,
                published: Some("2025-11-02".to_owned()),
                extra: Vec::new(),
            },
        },
    ];
    outcome.sources = outcome.findings.iter().map(|finding| finding.source.clone()).collect();
    outcome.model = Some("some-model".to_owned());
    outcome.usage =
        Usage { input_tokens: 1234, output_tokens: 56, cost_usd: Some(0.0123), ..Usage::default() };
    outcome
}

/// Pieces that mean something in Markdown, or break those that do.
const PIECES: &[&str] = &[
    "#",
    "## Sources",
    "\n",
    "\n\n",
    "```",
    "~~~",
    "````",
    "`",
    "``",
    "<",
    "<b>",
    "</div>",
    "<!--",
    "<script>",
    "[1]",
    "[1]: http://evil.example",
    "![a](http://evil.example/p)",
    "[x](javascript:x)",
    "[x](<data:x>)",
    "](",
    ")",
    "http://evil.example",
    "- ",
    "1. ",
    "> ",
    "    ",
    "\t",
    "|",
    "| a | b |\n|---|---|\n",
    "---",
    "===",
    "***",
    "*",
    "_",
    "\\",
    "&lt;",
    "&#106;avascript:",
    "<javascript:x>",
    "\u{1b}[2J",
    "\u{202e}",
    "\r",
    "日本",
    "word",
    " ",
    "\u{a0}",
];

/// The same numbers on every machine: a test that fails must fail again.
struct Dice(u64);

impl Dice {
    fn text(&mut self, most: usize) -> String {
        let pieces = self.roll(most);
        (0..pieces).map(|_| PIECES[self.roll(PIECES.len())]).collect()
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Outcomes whose every foreign text is scrambled Markdown.
pub fn scrambled(runs: usize) -> impl Iterator<Item = Outcome> {
    let mut dice = Dice(7);
    (0..runs).map(move |_| {
        let mut outcome = found();
        outcome.question.text = format!("word {}", dice.text(6));
        outcome.answer = dice.text(14);
        outcome.note = Some(dice.text(8));
        for finding in &mut outcome.findings {
            finding.text = dice.text(14);
            finding.quote = dice.text(5);
            finding.source.title = dice.text(5);
            finding.source.url =
                format!("{}{}", ["", "https://a.example/"][dice.roll(2)], dice.text(4));
            finding.source.location.as_mut().unwrap().heading = Some(dice.text(5));
        }
        outcome.sources = outcome.findings.iter().map(|finding| finding.source.clone()).collect();
        outcome.rounds[0].queries = vec![dice.text(6)];
        outcome
    })
}
