//! Calling plugins without a process around them: what a fresh instance costs,
//! and what the sandbox costs a plugin that works hard.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bathysphere::plugins::contract::Question;

use crate::figures::{at_least, at_most, largest, median, plain, time};
use crate::support::builtins::plugins;

/// What the extractor looks for in `model_outputs`.
const SCHEMA: &str = r#"{"type":"object","properties":{"findings":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},"line":{"type":"integer"}},"required":["text","line"]}}},"required":["findings"]}"#;

pub fn run() {
    let home = tempfile::tempdir().expect("there is room for temporary files");
    let plugins = plugins(home.path());
    let runtime = tokio::runtime::Runtime::new().expect("there are threads left");
    let (deciding, extracting) = runtime.block_on(async {
        let deciding = plugins.strategy().await.expect("the built-in strategy loads");
        let extracting = plugins.extractor().await.expect("the built-in extractor loads");
        (deciding, extracting)
    });
    let question = Question {
        text: "How are spring tides predicted, and who publishes the tables?".to_owned(),
        ..Question::default()
    };
    strategy(|| {
        let plan = runtime.block_on(deciding.make_plan(&question));
        std::hint::black_box(plan.expect("the strategy makes a plan"));
    });
    extraction(
        |text| {
            let found = runtime.block_on(extracting.extract(text, SCHEMA));
            std::hint::black_box(found.expect("the extractor finds the object"));
        },
        |text| {
            let found = extractor_json::extract(text, SCHEMA);
            assert!(std::hint::black_box(found).is_ok(), "the extractor finds the object");
        },
    );
}

/// `make_plan` of the built-in strategy, each call on an instance of its own.
fn strategy(mut call: impl FnMut()) {
    let times = measure(1000, &mut call);
    at_most(
        "a strategy's call on a fresh instance",
        &format!("{} (max {})", time(median(&times)), time(largest(&times))),
        median(&times),
        200e-6,
        "200 µs",
    );
}

/// The built-in extractor on the same texts, in the sandbox and compiled natively.
fn extraction(mut sandboxed: impl FnMut(&str), mut native: impl FnMut(&str)) {
    for text in model_outputs() {
        let inside = median(&measure(200, &mut || sandboxed(&text)));
        let outside = median(&measure(200, &mut || native(&text)));
        let size = format!("extraction from {} KB", text.len() / 1000);
        plain(&format!("{size}, in the sandbox"), &time(inside));
        plain(&format!("{size}, natively"), &time(outside));
        at_least(
            &format!("{size}, speed as a part of native"),
            &format!("{:.2}", outside / inside),
            outside / inside,
            0.5,
            "0.5",
        );
    }
}

fn measure(runs: usize, call: &mut dyn FnMut()) -> Vec<Duration> {
    // What is lazily loaded is loaded, and the caches are warm.
    for _ in 0..runs / 10 {
        call();
    }
    (0..runs)
        .map(|_| {
            let began = Instant::now();
            call();
            began.elapsed()
        })
        .collect()
}

/// Talk, a fence, JSON with the mistakes that models make, and more talk: from a
/// short answer to a long one.
fn model_outputs() -> Vec<String> {
    [8, 120, 2000]
        .map(|findings| {
            let mut text = String::from(
                "Sure! Here is what I found in the sources {all of them} you gave me:\n\n```json\n{\"findings\": [\n",
            );
            for number in 0..findings {
                let _ = writeln!(
                    text,
                    "  {{\"text\": \"the gauge at station {number} reads \\\"low\\\" before noon\", 'line': {},}},",
                    number * 7
                );
            }
            text.push_str("]}\n```\n\nLet me know if you need anything else.\n");
            text
        })
        .to_vec()
}
