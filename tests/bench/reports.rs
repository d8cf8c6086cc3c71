//! Rendering reports: as the terminal shows them, as a file that is kept, and as a
//! page.

use std::fmt::Write as _;
use std::time::Instant;

use bathysphere::report::{
    Format, Outcome, SaveOptions, Templates, render_html, render_markdown, save_to_library,
};

use crate::figures::{at_most, largest, median, time};

/// A long report for research that a vendor does.
const BYTES: usize = 200_000;

pub fn run() {
    let outcome = outcome();
    let home = tempfile::tempdir().expect("there is room for temporary files");
    let templates = Templates::built_in();
    let options = |format| SaveOptions {
        output_dir: home.path().to_owned(),
        format,
        ..SaveOptions::default()
    };
    measure("the report of 200 KB for the terminal", &mut || {
        std::hint::black_box(render_markdown(&outcome));
    });
    measure("the same as a page", &mut || {
        std::hint::black_box(render_html(&outcome, &templates).expect("our template is sound"));
    });
    for (what, format) in [("Markdown", Format::Markdown), ("HTML", Format::Html)] {
        measure(&format!("the same rendered and saved as {what}"), &mut || {
            save_to_library(&outcome, &options(format), &templates).expect("there is room");
        });
    }
}

fn measure(what: &str, call: &mut dyn FnMut()) {
    call();
    let times: Vec<_> = (0..20)
        .map(|_| {
            let began = Instant::now();
            call();
            began.elapsed()
        })
        .collect();
    let shown = format!("{} (max {})", time(median(&times)), time(largest(&times)));
    at_most(what, &shown, median(&times), 0.1, "100 ms");
}

fn outcome() -> Outcome {
    let mut answer = String::from("# Tides, at length\n");
    let mut part = 0;
    while answer.len() < BYTES {
        part += 1;
        let _ = write!(
            answer,
            "\n## Part {part}\n\n[cite_start]The port keeps **its own** constants [cite: {}, {}]; \
             see [the table](https://almanac.example/{part}) and `tide --port {part}`.\n\n\
             | month | range |\n|---|---:|\n| March | 6.1 m [cite: {}] |\n\n- one;\n- another.\n",
            part % 100 + 1,
            (part * 7) % 100 + 1,
            (part * 3) % 100 + 1,
        );
    }
    let sources: Vec<serde_json::Value> = (1..=100)
        .map(|number| {
            serde_json::json!({
                "url": format!("https://s{}.example/{number}", number % 17),
                "title": format!("Paper {number}"),
            })
        })
        .collect();
    let outcome = serde_json::json!({
        "id": "0198c2f4-7a1b-7c3d-8e4f-112233445566",
        "tool": "start_deep_research",
        "question": { "text": "What is known about tides?" },
        "status": "completed",
        "plan": null,
        "rounds": [],
        "answer": answer,
        "findings": [],
        "sources": sources,
        "stop_reason": null,
        "note": null,
        "usage": { "input_tokens": 250_000, "output_tokens": 60_000, "searches": 80, "cost_usd": 2.4 },
        "model": "deep-research",
        "created_at": "2026-03-01T09:30:00Z",
        "finished_at": "2026-03-01T09:48:32Z",
        "duration_ms": 1_112_000,
        "error": null,
    });
    serde_json::from_value(outcome).expect("an outcome is read as it is written")
}
