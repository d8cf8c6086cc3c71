//! What the vendor says, in the form that was captured from it: interactions, their
//! steps, reports with citations, and errors.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// An error, in the vendor's form.
pub fn error(code: impl Into<Value>, message: &str) -> Value {
    json!({ "error": { "code": code.into(), "message": message } })
}

pub fn wrong_key() -> Value {
    json!({ "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
        }],
    } })
}

pub fn retry_info(seconds: u32) -> Value {
    json!({ "error": {
        "code": 429,
        "message": "You exceeded your current quota.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s"),
        }],
    } })
}

/// Rounds of thought, search and reading, as the agent does them.
pub fn steps(input: &str, rounds: usize) -> Vec<Value> {
    let mut steps = Vec::new();
    for round in 1..=rounds {
        let (site, page) = page(round);
        steps.extend([
            json!({
                "type": "thought",
                "summary": [{
                    "type": "text",
                    "text": format!(
                        "**Looking into part {round}**\n\nI compare what is said about it: {input}"
                    ),
                }],
                "signature": "ZmFrZQ==",
            }),
            json!({
                "type": "google_search_call",
                "id": format!("s{round}"),
                "arguments": { "queries": [format!("{} {round}", short(input)), format!("{site} review")] },
            }),
            json!({
                "type": "google_search_result",
                "call_id": format!("s{round}"),
                "result": [{ "search_suggestions": "<div/>" }],
            }),
            json!({
                "type": "url_context_call",
                "id": format!("u{round}"),
                "arguments": { "urls": [page] },
            }),
            json!({
                "type": "url_context_result",
                "call_id": format!("u{round}"),
                "result": [{ "url": page, "status": "success" }],
            }),
        ]);
    }
    steps
}

fn short(input: &str) -> String {
    input.split_whitespace().take(6).collect::<Vec<_>>().join(" ")
}

fn page(round: usize) -> (String, String) {
    let site = format!("site{round}.example");
    let page = format!("https://{site}/pages/{round}");
    (site, page)
}

/// The report as a step: Markdown with marks such as `[cite: 1, 2]`, each of which is
/// also an annotation, in bytes, and the list of sources that the agent puts at the
/// end.
pub fn output(input: &str, rounds: usize) -> Value {
    let sources = rounds.max(1) + 1;
    let address = |source: usize| {
        format!("https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZIYQ{source:04}")
    };
    let mut text = format!("# {}\n\n## Summary\n\n", short(input));
    let mut annotations = Vec::new();
    for source in 1..=sources {
        let start = text.len();
        // Letters of more than one byte, so that bytes are not characters.
        let _ =
            write!(text, "Finding {source} is — according to the naïve reading — well supported");
        let others: Vec<usize> = if source > 1 { vec![source - 1, source] } else { vec![source] };
        for other in &others {
            annotations.push(json!({
                "type": "url_citation",
                "url": address(*other),
                "title": page(*other).0,
                "start_index": start,
                "end_index": text.len(),
            }));
        }
        let marks: Vec<String> = others.iter().map(ToString::to_string).collect();
        let _ = write!(text, " [cite: {}].\n\n", marks.join(", "));
    }
    text.push_str("| part | found |\n|---|---|\n");
    for source in 1..=sources {
        let _ = writeln!(text, "| {source} | yes [cite: {source}] |");
    }
    text.push_str("\n**Sources:**\n");
    for source in 1..=sources {
        let _ = writeln!(text, "{source}. [{}]({})", page(source).0, address(source));
    }
    of_text(&text, &annotations)
}

pub fn of_text(text: &str, annotations: &[Value]) -> Value {
    json!({
        "type": "model_output",
        "content": [{ "type": "text", "text": text, "annotations": annotations }],
    })
}

/// What an interaction of so many rounds costs.
pub fn usage(rounds: usize) -> Value {
    let rounds = rounds as u64;
    let (input, cached, output, thought) =
        (125_000 * rounds, 75_000 * rounds, 25_000 * rounds, 5000 * rounds);
    json!({
        "total_tokens": input + output + thought,
        "total_input_tokens": input,
        "input_tokens_by_modality": [{ "modality": "text", "tokens": input }],
        "total_cached_tokens": cached,
        "total_output_tokens": output,
        "output_tokens_by_modality": [{ "modality": "text", "tokens": output }],
        "total_tool_use_tokens": 0,
        "total_thought_tokens": thought,
        "grounding_tool_count": [{ "type": "google_search", "count": 2 * rounds }],
    })
}
