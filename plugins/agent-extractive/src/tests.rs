//! The whole way from passages to a reply.

use bathysphere_sdk::agent::{Purpose, Request};
use bathysphere_sdk::types::{ErrorKind, Location, Passage, Source};

use crate::{Settings, answer, find};

fn passage(url: &str, line: u32, heading: &str, text: &str, score: f64) -> Passage {
    let lines = text.lines().count().max(1) as u32;
    Passage {
        source: Source {
            url: url.into(),
            title: url.into(),
            location: Some(Location {
                start_line: line,
                end_line: line + lines - 1,
                heading: Some(heading.into()),
            }),
            published: None,
            extra: Vec::new(),
        },
        text: text.into(),
        score,
    }
}

fn handbook() -> Vec<Passage> {
    vec![
        passage(
            "docs/ballast.md",
            10,
            "Ballast",
            "## Ballast\n\nThe ballast tank is the part that lets the sphere sink and rise. It holds\n1200 litres of sea water.\n\nTo blow the ballast tank, run:\n\n```sh\nsphere blow --tank main\n```\n",
            9.0,
        ),
        passage(
            "docs/hull.md",
            1,
            "Hull",
            "The hull is cast steel. See the [yard](https://yard.example) for drawings.\nThe hatch is sealed from outside because the pressure would press it open\notherwise. The hull was cast in 1929 by Otis Barton.\n",
            7.0,
        ),
        passage(
            "docs/copy.md",
            1,
            "",
            "The ballast tank is the part that lets the sphere sink and rise.\n",
            5.0,
        ),
        passage(
            "src/lamp.rs",
            40,
            "",
            "/// Turns the lamp on for at most `seconds`.\npub fn light(seconds: u32) -> Lamp {\n    todo\n}\n",
            3.0,
        ),
    ]
}

fn ask(question: &str) -> bathysphere_sdk::agent::Reply {
    find(&Settings::default(), question, &handbook())
}

#[test]
fn a_definition_is_found_once_with_its_lines() {
    let reply = ask("What is a ballast tank?");
    let first = &reply.findings[0];
    assert_eq!(first.quote, "The ballast tank is the part that lets the sphere sink and rise.");
    assert_eq!(first.source.location.as_ref().unwrap().start_line, 12);
    assert_eq!(first.source.location.as_ref().unwrap().end_line, 12);
    assert_eq!(first.source.location.as_ref().unwrap().heading.as_deref(), Some("Ballast"));
    let copies =
        reply.findings.iter().filter(|finding| finding.quote.contains("sink and rise")).count();
    assert_eq!(copies, 1, "the copy in another file adds nothing");
    assert!(reply.quality.unwrap().coverage > 0.9);
    assert!(reply.follow_ups.is_empty());
    assert_eq!(reply.model.as_deref(), Some("extractive"));
    assert!(reply.text.starts_with("- The ballast tank is"));
}

#[test]
fn a_number_is_found_with_the_sentence_it_leans_on() {
    let reply = ask("How many litres does the ballast tank hold?");
    let first = &reply.findings[0];
    assert!(first.quote.ends_with("It holds\n1200 litres of sea water."), "{}", first.quote);
    assert!(first.text.ends_with("It holds 1200 litres of sea water."), "{}", first.text);
    let place = first.source.location.as_ref().unwrap();
    assert_eq!((place.start_line, place.end_line), (12, 13));
}

#[test]
fn a_command_comes_with_the_sentence_that_leads_to_it() {
    let reply = ask("How do I blow the ballast tank?");
    let first = &reply.findings[0];
    assert_eq!(first.text, "To blow the ballast tank, run: `sphere blow --tank main`");
    let place = first.source.location.as_ref().unwrap();
    assert_eq!((place.start_line, place.end_line), (15, 19));
}

#[test]
fn reasons_dates_and_names_are_preferred() {
    assert!(ask("Why is the hatch sealed from outside?").findings[0].quote.contains("because"));
    assert!(ask("When was the hull cast?").findings[0].quote.contains("1929"));
    assert!(ask("Who cast the hull?").findings[0].quote.contains("Otis Barton"));
}

#[test]
fn documentation_in_code_comes_with_its_declaration() {
    let first = &ask("How long may the lamp be on?").findings[0];
    assert_eq!(
        first.text,
        "Turns the lamp on for at most `seconds`. — `pub fn light(seconds: u32) -> Lamp`"
    );
    assert_eq!(first.source.location.as_ref().unwrap().end_line, 41);
}

#[test]
fn without_an_answer_it_says_so_and_names_what_is_missing() {
    let reply = ask("What does a ticket to Bermuda cost?");
    assert!(reply.findings.is_empty(), "{:?}", reply.findings);
    assert!(reply.text.contains("do not answer"), "{}", reply.text);
    assert!(reply.text.contains("Bermuda") && reply.text.contains("ticket"), "{}", reply.text);
    assert!(reply.quality.unwrap().relevance < 0.01);
    assert!(reply.follow_ups.iter().any(|query| query.contains("Bermuda")));
    let nothing = find(&Settings::default(), "Where is the hatch?", &[]);
    assert!(nothing.findings.is_empty() && nothing.text.contains("hatch"));
}

#[test]
fn what_is_still_missing_is_asked_next() {
    let reply = ask("How heavy is the ballast tank of the sphere when flooded with mercury?");
    assert!(reply.follow_ups.len() <= 3);
    assert!(reply.follow_ups[0].contains("mercury"), "{:?}", reply.follow_ups);
    assert!(reply.quality.unwrap().coverage < 0.8);
}

#[test]
fn the_question_quoted_in_a_document_is_no_finding() {
    let question = "What may a plugin reach, and who checks it?";
    let readme = "# Start\n\nAsk your documents:\n\n```sh\nbathysphere research --docs . \"What may a plugin reach, and who checks it?\"\n```\n\nOr type `research \"What may a plugin reach, and who checks it?\"` in a client.\n";
    let design = "A plugin may reach only the hosts that its grant names. The host checks every call of a plugin.\n";
    let passages =
        [passage("README.md", 1, "Start", readme, 9.0), passage("DESIGN.md", 1, "", design, 5.0)];
    let reply = find(&Settings::default(), question, &passages);
    assert!(reply.findings[0].quote.contains("only the hosts"), "{:?}", reply.findings);
    for finding in &reply.findings {
        assert!(!finding.quote.contains("who checks it?"), "{}", finding.quote);
    }
    let alone = find(&Settings::default(), question, &passages[..1]);
    assert!(alone.findings.is_empty(), "{:?}", alone.findings);
}

#[test]
fn a_heading_that_asks_points_to_what_follows() {
    let text = "## How do I get out of the sphere?\n\nKnock three times and wait for the crew. Stay calm.\n";
    let reply = find(
        &Settings::default(),
        "How do I get out of the sphere?",
        &[passage("faq.md", 1, "", text, 1.0)],
    );
    assert!(reply.findings[0].quote.starts_with("Knock three times"), "{:?}", reply.findings);
}

#[test]
fn a_prompt_is_refused_with_a_hint() {
    for purpose in [Purpose::Answer, Purpose::Correct, Purpose::Other("sing".into())] {
        let request = Request {
            purpose,
            prompt: "You are …".into(),
            question: "hull".into(),
            passages: handbook(),
            schema: None,
            model: None,
            files: Vec::new(),
            extra: Vec::new(),
        };
        let error = answer(&Settings::default(), &request).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidInput);
        assert!(error.hint.unwrap().contains("plugins.toml"));
    }
}

#[test]
fn settings_are_obeyed() {
    let one = Settings { max_findings: 1, ..Settings::default() };
    assert_eq!(find(&one, "ballast tank", &handbook()).findings.len(), 1);
    let strict = Settings { min_relevance: 1.0, ..Settings::default() };
    assert!(find(&strict, "hull steel drawings mercury", &handbook()).findings.is_empty());
    let bare = Settings { attach_code_lines: 0, ..Settings::default() };
    let reply = find(&bare, "How do I blow the ballast tank?", &handbook());
    assert!(!reply.findings[0].quote.contains("```"));
}

/// A small generator with a fixed seed: the same inputs every time.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

const PIECES: &[&str] = &[
    "ballast",
    "tank",
    "The hull is",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\0",
    ". ",
    "? ",
    "``",
    "```",
    "`",
    "~~~",
    "- ",
    "1. ",
    "| a | b |",
    "|---|",
    "# ",
    "===",
    "    ",
    "\t",
    "> ",
    "[",
    "](",
    ")",
    "<b>",
    "<!--",
    "*",
    "_",
    "__",
    ":",
    "::",
    ".. note::",
    "///",
    "/*",
    "*/",
    "\"\"\"",
    "שלום",
    "مرحبا؟",
    "🙂",
    "👩‍🚀",
    "é",
    "。",
    "深海",
    "…",
    "https://a.example/b.c?d",
    "1.95",
    "e.g.",
    "fn tank() {",
    "}",
    "---",
    "{#id}",
    "&amp;",
    ":ref:`",
    "\\",
    "\u{202e}",
    "\u{feff}",
    "It ",
    "So ",
    "0",
    ";",
    "max_tank_depth",
    "maxTank",
];

#[test]
fn hostile_passages_never_panic_and_quotes_are_always_verbatim() {
    let mut seeded = Seeded(0x5eed_1929);
    let settings = Settings { min_relevance: 0.05, attach_code_lines: 3, ..Settings::default() };
    for _ in 0..1500 {
        let mut passages = Vec::new();
        for number in 0..=seeded.next(4) {
            let length = seeded.next(60);
            let text: String = (0..length).map(|_| PIECES[seeded.next(PIECES.len())]).collect();
            let url = ["a.md", "b.rs", "c.py", "d.toml", "e", "f.lua"][seeded.next(6)];
            passages.push(passage(url, 5, "Tank", &text, [f64::NAN, 0.0, 1.0, -1.0][number % 4]));
        }
        let question: String =
            (0..seeded.next(8)).map(|_| PIECES[seeded.next(PIECES.len())]).collect();
        let question = format!("ballast {question}");
        let reply = find(&settings, &question, &passages);
        assert_eq!(reply, find(&settings, &question, &passages));
        for finding in &reply.findings {
            let place = finding.source.location.as_ref().unwrap();
            let fits = passages.iter().any(|passage| {
                let lines: Vec<&str> = passage.text.split('\n').collect();
                let (from, to) = (place.start_line as usize - 5, place.end_line as usize - 5);
                passage.source.url == finding.source.url
                    && to < lines.len()
                    && lines[from..=to].join("\n").contains(&finding.quote)
            });
            assert!(fits, "{finding:?} in {passages:?}");
        }
        let quality = reply.quality.unwrap();
        for figure in [quality.relevance, quality.coverage, quality.confidence] {
            assert!((0.0..=1.0).contains(&figure), "{quality:?}");
        }
    }
}

#[test]
fn large_and_shapeless_passages_stay_linear() {
    for piece in [
        "ballast ", "[", "`", "*", "<", "|", ". ", "!", "\n", ":`", "_a", "&", "(", "é", "```\n",
        "> ",
    ] {
        let text = piece.repeat(1_000_000 / piece.len());
        let reply =
            find(&Settings::default(), "ballast tank", &[passage("a.md", 1, "", &text, 1.0)]);
        assert!(reply.findings.len() <= 6);
    }
    let question = "why ballast? ".repeat(80_000);
    assert!(find(&Settings::default(), &question, &handbook()).findings.len() <= 6);
}

#[test]
fn a_declaration_brings_the_documentation_string_below_it() {
    let text = "def correct_for_tide(depth, height):\n    \"\"\"Brings a sounding down to chart datum.\"\"\"\n    return depth - height\n";
    let passages = [passage("src/soundings.py", 25, "", text, 5.0)];
    let reply = find(&Settings::default(), "How is depth corrected for the tide?", &passages);
    let first = &reply.findings[0];
    assert!(first.text.contains("chart datum"), "{}", first.text);
    assert!(text.contains(&first.quote));
    let place = first.source.location.as_ref().unwrap();
    assert_eq!((place.start_line, place.end_line), (25, 26));
}

#[test]
fn question_words_of_other_languages_ask_for_nothing() {
    let text = "Die Gezeiten werden alle sechs Minuten gemessen.\n";
    let passages = [passage("notes/übersicht.md", 3, "Übersicht", text, 5.0)];
    let reply = find(&Settings::default(), "Wie oft werden die Gezeiten gemessen?", &passages);
    assert!(reply.findings[0].text.contains("sechs Minuten"));
}

#[test]
fn a_heading_lends_its_subject_to_what_opens_its_section() {
    let passages = [
        passage(
            "README.md",
            9,
            "Pumps › Licence",
            "[MIT](LICENSE-MIT) or [Apache-2.0](LICENSE-APACHE), at your choice.\n",
            4.0,
        ),
        passage(
            "CHANGELOG.md",
            3,
            "Changelog › 2.0.0 (2025-03-04)",
            "- Removed the old pump driver.\n- Added valves.\n",
            3.0,
        ),
        passage(
            "CHANGELOG.md",
            8,
            "Changelog › 1.9.0 (2024-01-02)",
            "- Removed the paper log.\n",
            2.0,
        ),
        passage("docs/author.md", 1, "Author", "MIT\n", 1.0),
    ];
    let reply = find(&Settings::default(), "What is the licence?", &passages);
    assert_eq!(reply.findings[0].text, "MIT or Apache-2.0, at your choice.");
    assert_eq!(reply.findings.len(), 1, "{:?}", reply.findings);
    let reply = find(&Settings::default(), "What was removed in 2.0.0?", &passages);
    assert_eq!(reply.findings[0].text, "Removed the old pump driver.");
    assert_eq!(reply.findings.len(), 1, "{:?}", reply.findings);
    // The date stands in the heading only, so the finding tells it.
    let reply = find(&Settings::default(), "When was 2.0.0 released?", &passages);
    assert_eq!(reply.findings[0].text, "2.0.0 (2025-03-04): Removed the old pump driver.");
    assert_eq!(reply.findings[0].quote, "Removed the old pump driver.");
}

#[test]
fn settings_answer_with_the_keys_around_them() {
    let text = "server:\n  host: localhost\n  port: 8080\ndatabase:\n  port: 5432\n";
    let passages = [passage("config.yaml", 1, "", text, 1.0)];
    let reply = find(&Settings::default(), "Which port does the server use?", &passages);
    assert_eq!(reply.findings[0].text, "server: `port: 8080`");
    assert_eq!(reply.findings[0].quote, "port: 8080");
    assert_eq!(reply.findings[0].source.location.as_ref().unwrap().start_line, 3);
    assert_eq!(reply.findings.len(), 1, "{:?}", reply.findings);
}

#[test]
fn without_the_form_that_was_asked_for_nothing_is_covered() {
    for (question, wanted) in [
        ("How many hatches are there?", "a number"),
        ("Who painted the hatches?", "a name"),
        ("When were the hatches painted?", "a date"),
    ] {
        let text = "The hatches were painted again, and the hatches are green.\n";
        let reply = find(&Settings::default(), question, &[passage("a.md", 1, "", text, 1.0)]);
        let coverage = reply.quality.as_ref().unwrap().coverage;
        assert!(coverage < 0.85, "{question}: {coverage}");
        if reply.findings.is_empty() {
            assert!(reply.text.contains(wanted), "{question}: {}", reply.text);
        }
    }
    let text = "There are 4 hatches.\n";
    let found = find(
        &Settings::default(),
        "How many hatches are there?",
        &[passage("a.md", 1, "", text, 1.0)],
    );
    assert!(found.quality.unwrap().coverage > 0.9);
}

#[test]
fn the_place_of_a_declaration_is_its_declaration() {
    let text = "/// Where a value is from.\npub struct Origin {\n    line: u32,\n}\n\n/// What a plugin may reach.\npub struct Grants {\n    hosts: Vec<String>,\n}\n";
    let passages = [
        passage("src/resolved.rs", 60, "pub struct Origin", text, 2.0),
        passage(
            "docs/a.md",
            1,
            "",
            "The Grants are read by the host, and the struct is defined well.\n",
            3.0,
        ),
    ];
    let reply = find(&Settings::default(), "Where is the struct Grants defined?", &passages);
    let first = &reply.findings[0];
    assert!(first.text.ends_with("`pub struct Grants`"), "{}", first.text);
    let place = first.source.location.as_ref().unwrap();
    assert_eq!((place.start_line, place.end_line), (66, 66));
    assert_eq!(place.heading.as_deref(), Some("pub struct Grants"));
}

#[test]
fn follow_ups_are_the_questions_own_words() {
    let question = "How heavy is the ballast tank of the sphere when flooded with mercury?";
    for query in ask(question).follow_ups {
        assert!(query.split(' ').all(|word| question.contains(word)), "{query}");
    }
}

#[test]
fn a_list_comes_with_its_lead_as_far_as_there_is_room() {
    let items: Vec<String> =
        (1..40).map(|number| format!("{number}. The law of number {number}.\n")).collect();
    let text = format!("Laws that hold at every commit:\n\n{}", items.concat());
    let reply =
        find(&Settings::default(), "What are the laws?", &[passage("a.md", 1, "", &text, 1.0)]);
    let first = &reply.findings[0];
    assert!(first.text.starts_with("Laws that hold at every commit: The law of number 1; "));
    let place = first.source.location.as_ref().unwrap();
    assert_eq!((place.start_line, place.end_line), (1, 18));
    assert!(text.contains(&first.quote));
}

#[test]
fn a_table_whose_head_names_what_is_asked_comes_whole() {
    let text = "| client | how |\n|---|---|\n| Cursor | a file |\n| Gemini | a command |\n\nOther words.\n";
    let reply = find(
        &Settings::default(),
        "What clients are supported?",
        &[passage("a.md", 1, "", text, 1.0)],
    );
    assert_eq!(reply.findings.len(), 1, "{:?}", reply.findings);
    assert_eq!(reply.findings[0].text, "Cursor — a file; Gemini — a command");
    assert_eq!(reply.findings[0].source.location.as_ref().unwrap().end_line, 4);
    assert!(text.contains(&reply.findings[0].quote));
}

fn of_two_parts() -> Vec<Passage> {
    let winch = "The winch stands on the deck of the tender and is driven by steam. It was greased in May.\n";
    let crew = "Every winch is checked by John Tee-Van before the dive.\n";
    let cook = "Dinner is cooked below by William Beebe, who also checks the stove.\n";
    vec![
        passage("docs/winch.md", 1, "", winch, 5.0),
        passage("docs/crew.md", 1, "", crew, 4.0),
        passage("docs/cook.md", 1, "", cook, 3.0),
    ]
}

#[test]
fn each_part_of_a_question_is_answered() {
    let question = "How is the winch on the deck driven by steam, and who checks it?";
    let reply = find(&Settings::default(), question, &of_two_parts());
    let quotes: Vec<&str> = reply.findings.iter().map(|finding| finding.quote.as_str()).collect();
    assert!(quotes[0].contains("driven by steam"), "{quotes:?}");
    assert!(quotes[1].contains("John Tee-Van"), "{quotes:?}");
    assert_eq!(quotes.len(), 2, "the stove is not meant: {quotes:?}");
    assert!(reply.quality.unwrap().coverage > 0.85);
    assert!(reply.follow_ups.is_empty(), "{:?}", reply.follow_ups);
}

#[test]
fn a_part_without_an_answer_lowers_the_coverage_and_is_asked_next() {
    let question = "How is the winch on the deck driven by steam, and who painted it?";
    let reply = find(&Settings::default(), question, &of_two_parts());
    assert!(reply.findings[0].quote.contains("driven by steam"), "{:?}", reply.findings);
    assert_eq!(reply.findings.len(), 1, "{:?}", reply.findings);
    let coverage = reply.quality.unwrap().coverage;
    assert!((0.3..=0.5).contains(&coverage), "{coverage}");
    assert_eq!(reply.follow_ups, ["painted winch", "painted"]);
}

#[test]
fn a_sentence_that_answers_all_parts_is_given_once() {
    let text = "The log is kept in the chart room, and the log is read by Otis Barton.\n";
    let passages = [passage("docs/log.md", 1, "", text, 1.0)];
    let reply =
        find(&Settings::default(), "Where is the log kept, and who reads the log?", &passages);
    assert_eq!(reply.findings.len(), 1, "{:?}", reply.findings);
    assert!(reply.quality.unwrap().coverage > 0.9);
}

#[test]
fn parts_share_the_room_for_findings() {
    let question = "How is the winch on the deck driven by steam, and who checks it?";
    for (most, expected) in [(1, 1), (2, 2)] {
        let settings = Settings { max_findings: most, ..Settings::default() };
        assert_eq!(find(&settings, question, &of_two_parts()).findings.len(), expected);
    }
}
