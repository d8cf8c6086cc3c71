//! Whole calls against a script: what Google's own SDK and a server said to each
//! other, and answers that lie in every way that came to mind.

use bathysphere_sdk::http::{Request, Response};
use bathysphere_sdk::research::{self, Job, Status};
use bathysphere_sdk::types::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::calls::{Outside, cancel, delete, poll, start};
use crate::settings::Settings;

const CAPTURE: &str =
    include_str!("../../../tests/fixtures/interactions/create-poll-complete.json");
const ID: &str = "v1_5a34279fca7442ef85c18aefc7ded417";

/// Answers in order, and keeps what was sent.
struct Script {
    answers: Vec<Result<Response, Error>>,
    sent: Vec<Request>,
}

impl Outside for Script {
    fn send(&mut self, request: &Request) -> Result<Response, Error> {
        self.sent.push(request.clone());
        assert!(!self.answers.is_empty(), "nothing more was expected: {}", request.url);
        self.answers.remove(0)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it stands beside errors of the gate")]
fn raw(status: u16, body: impl Into<Vec<u8>>) -> Result<Response, Error> {
    Ok(Response { status, headers: Vec::new(), body: body.into(), url: String::new() })
}

fn says(status: u16, body: &Value) -> Result<Response, Error> {
    raw(status, body.to_string())
}

fn script(answers: impl IntoIterator<Item = Result<Response, Error>>) -> Script {
    Script { answers: answers.into_iter().collect(), sent: Vec::new() }
}

fn question(input: &str, model: Option<&str>) -> research::Request {
    research::Request {
        input: input.into(),
        model: model.map(str::to_owned),
        extra: vec![("later".into(), "ignored".into())],
    }
}

fn started(answer: Result<Response, Error>) -> Result<Job, ErrorKind> {
    let mut outside = script([answer]);
    let result = start(&Settings::default(), &question("q", None), &mut outside);
    assert_eq!(outside.sent.len(), 1, "a start is sent once");
    result.map_err(|error| error.kind)
}

fn polled(answer: Result<Response, Error>) -> Result<Job, ErrorKind> {
    let mut outside = script([answer]);
    let result = poll(&Settings::default(), ID, &mut outside);
    assert_eq!(outside.sent.len(), 1);
    result.map_err(|error| error.kind)
}

/// A poll of an interaction with these fields beside its id.
fn seen(fields: &Value) -> Job {
    let mut interaction = json!({ "id": ID, "status": "in_progress" });
    for (key, value) in fields.as_object().expect("fields") {
        interaction[key] = value.clone();
    }
    polled(says(200, &interaction)).expect("an interaction")
}

fn extra<'a>(job: &'a Job, wanted: &str) -> Option<&'a str> {
    job.extra.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

fn output(text: &str) -> Value {
    json!([{ "type": "model_output", "content": [{ "type": "text", "text": text }] }])
}

fn captured(direction: &str) -> Vec<Value> {
    let capture: Vec<Value> = serde_json::from_str(CAPTURE).expect("the capture");
    capture.into_iter().filter(|part| part["dir"] == direction).collect()
}

#[test]
fn what_is_sent_is_what_googles_own_sdk_sends() {
    let settings = Settings { base_url: "http://127.0.0.1:1/".into(), ..Settings::default() };
    let answers = captured("res");
    let mut outside = script(answers.iter().map(|answer| says(200, &answer["body"])));
    start(&settings, &question("history of TPUs", None), &mut outside).expect("started");
    poll(&settings, ID, &mut outside).expect("polled");
    poll(&settings, ID, &mut outside).expect("polled");
    for (sent, expected) in outside.sent.iter().zip(captured("req")) {
        assert_eq!(sent.method, expected["method"].as_str().unwrap());
        let path = expected["path"].as_str().unwrap();
        assert_eq!(sent.url, format!("http://127.0.0.1:1{path}"));
        let body: Value = match &sent.body {
            Some(body) => serde_json::from_slice(body).expect("JSON"),
            None => Value::Null,
        };
        assert_eq!(body, expected["body"]);
        assert!(sent.headers.contains(&("accept".into(), "application/json".into())));
        assert!(sent.headers.iter().all(|(name, _)| name != "x-goog-api-key"));
    }
    let headers = &outside.sent[0].headers;
    assert!(headers.contains(&("content-type".into(), "application/json".into())));
    assert_eq!(
        (outside.sent[0].timeout_ms, outside.sent[1].timeout_ms),
        (Some(60_000), Some(30_000))
    );
}

#[test]
fn the_capture_is_read_whole() {
    let answers = captured("res");
    let first = started(says(200, &answers[0]["body"])).expect("started");
    assert_eq!((first.id.as_str(), &first.status), (ID, &Status::Running));
    assert_eq!(extra(&first, "model"), Some("deep-research-preview-04-2026"));
    assert_eq!((first.report, first.progress.len()), (None, 0));

    let job = polled(says(200, &answers[2]["body"])).expect("polled");
    assert_eq!(job.status, Status::Completed);
    assert_eq!(
        job.progress,
        [
            "Planning: looking for TPU history",
            "searching \"google tpu history\"",
            "reading https://example.com/tpu",
            "writing the report",
        ]
    );
    let report = job.report.as_deref().expect("a report");
    assert_eq!(report, "# Report\n\nTPU v1 was announced in 2016 [cite: 1].\n");
    assert_eq!(job.citations.len(), 1);
    let citation = &job.citations[0];
    let words = &report[citation.start as usize..citation.end as usize];
    assert_eq!(words, "TPU v1 was announced in 2016 [c");
    let sources: Vec<(&str, &str)> =
        job.sources.iter().map(|source| (source.url.as_str(), source.title.as_str())).collect();
    assert_eq!(
        sources,
        [
            ("https://vertexaisearch.cloud.google.com/grounding-api-redirect/AAA", "example.com"),
            ("https://example.com/tpu", "example.com"),
        ]
    );
    assert_eq!(citation.source, job.sources[0]);
    let usage = &job.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (250_000, 60_000));
    assert_eq!((usage.searches, usage.pages, usage.cost_usd), (80, 1, None));
    for (name, value) in [
        ("model", "deep-research-preview-04-2026"),
        ("vendor_status", "completed"),
        ("thoughts", "1"),
        ("searches", "1"),
        ("pages", "1"),
    ] {
        assert_eq!(extra(&job, name), Some(value), "{name}");
    }
    assert_eq!((job.error, extra(&seen(&json!({})), "note")), (None, None));
}

#[test]
fn the_agent_of_the_question_goes_before_the_setting() {
    let settings = Settings {
        agent: "deep-research-pro-preview-12-2025".into(),
        thinking_summaries: "none".into(),
        visualization: "auto".into(),
        ..Settings::default()
    };
    for (model, used) in [
        (None, "deep-research-pro-preview-12-2025"),
        (Some(" "), "deep-research-pro-preview-12-2025"),
        (Some("deep-research-max-preview-04-2026"), "deep-research-max-preview-04-2026"),
    ] {
        let mut outside = script([says(200, &json!({ "id": "x" }))]);
        let job = start(&settings, &question("q", model), &mut outside).expect("started");
        let body: Value =
            serde_json::from_slice(outside.sent[0].body.as_deref().expect("a body")).unwrap();
        assert_eq!(body["agent"], used);
        assert_eq!(body["agent_config"]["thinking_summaries"], "none");
        assert_eq!(body["agent_config"]["visualization"], "auto");
        // The answer does not say; what was asked for is what runs.
        assert_eq!(extra(&job, "model"), Some(used));
        assert_eq!(job.status, Status::Running);
    }
}

#[test]
fn each_status_means_something() {
    let written = output("text");
    for (word, with_report, without) in [
        ("in_progress", Status::Running, Status::Running),
        ("IN_PROGRESS", Status::Running, Status::Running),
        ("queued", Status::Queued, Status::Queued),
        ("completed", Status::Completed, Status::Failed),
        ("failed", Status::Failed, Status::Failed),
        ("cancelled", Status::Cancelled, Status::Cancelled),
        ("incomplete", Status::Completed, Status::Failed),
        ("budget_exceeded", Status::Completed, Status::Failed),
        (
            "requires_action",
            Status::Other("requires_action".into()),
            Status::Other("requires_action".into()),
        ),
        (
            "requires_continuation",
            Status::Other("requires_continuation".into()),
            Status::Other("requires_continuation".into()),
        ),
        (
            "something_new",
            Status::Other("something_new".into()),
            Status::Other("something_new".into()),
        ),
        ("", Status::Other(String::new()), Status::Other(String::new())),
    ] {
        let job = seen(&json!({ "status": word, "steps": written }));
        assert_eq!(job.status, with_report, "{word}");
        // What was written is there to be read, whatever became of the rest.
        assert_eq!(job.report.as_deref(), Some("text"), "{word}");
        assert_eq!(extra(&job, "vendor_status"), Some(word));
        assert_eq!(job.error.is_some(), word == "failed", "{word}");
        let early = matches!(word, "incomplete" | "budget_exceeded");
        assert_eq!(extra(&job, "note").is_some(), early, "{word}");

        let job = seen(&json!({ "status": word }));
        assert_eq!((&job.status, &job.report), (&without, &None), "{word}");
        assert_eq!(job.error.is_some(), without == Status::Failed, "{word}");
    }
    let kind = |word: &str| seen(&json!({ "status": word })).error.expect("an error").kind;
    assert_eq!(kind("completed"), ErrorKind::Other("empty-answer".into()));
    assert_eq!(kind("incomplete"), ErrorKind::Other("incomplete".into()));
    assert_eq!(kind("budget_exceeded"), ErrorKind::Other("budget-exceeded".into()));
}

#[test]
fn a_failed_interaction_says_why_in_the_vendors_words() {
    let job = seen(&json!({
        "status": "failed", "steps": output("half"),
        "errors": [{ "code": "internal_error", "message": "The agent broke down." }],
    }));
    let error = job.error.expect("an error");
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.message, "Gemini's research failed: The agent broke down");
    let mut steps = output("half");
    steps[0]["error"] = json!({ "code": 8, "message": "out of tokens" });
    let error = seen(&json!({ "status": "failed", "steps": steps })).error.expect("an error");
    assert_eq!(error.message, "Gemini's research failed: out of tokens");
}

#[test]
fn a_running_job_shows_what_it_has() {
    let steps = json!([
        { "type": "google_search_call", "arguments": { "queries": ["a", "b"] } },
        { "type": "model_output", "content": [{ "type": "text", "text": "So far" }] },
    ]);
    let job = seen(&json!({ "steps": steps, "agent": "x", "model": "y" }));
    assert_eq!((job.status, job.report.as_deref()), (Status::Running, Some("So far")));
    assert_eq!((job.usage.searches, job.progress.len()), (2, 2));
    assert_eq!(job.extra.iter().find(|(name, _)| name == "model").unwrap().1, "x");
}

#[test]
fn what_a_start_did_not_do_is_told_apart_from_what_it_may_have_done() {
    // Definite: nothing was started.
    for (status, kind) in [
        (400, ErrorKind::InvalidInput),
        (401, ErrorKind::Auth),
        (403, ErrorKind::Auth),
        (404, ErrorKind::NotFound),
        (413, ErrorKind::InvalidInput),
        (422, ErrorKind::InvalidInput),
        (429, ErrorKind::RateLimited(None)),
        (402, ErrorKind::Refused),
    ] {
        assert_eq!(started(says(status, &json!({ "error": { "code": "x" } }))), Err(kind));
    }
    // Open: it may have been.
    for answer in [
        raw(500, ""),
        raw(502, "<html>bad gateway</html>"),
        raw(503, "{}"),
        raw(504, ""),
        raw(408, ""),
        raw(302, ""),
        raw(200, ""),
        raw(200, "{"),
        raw(200, "[]"),
        raw(200, "null"),
        raw(200, b"\xff\xfe".to_vec()),
        raw(204, ""),
        says(200, &json!({})),
        says(200, &json!({ "id": 5 })),
        says(200, &json!({ "id": "" })),
        says(200, &json!({ "id": ".." })),
        says(200, &json!({ "id": null, "status": "completed" })),
        says(200, &json!({ "id": "x".repeat(5000) })),
        says(200, &json!({ "error": { "code": 400, "message": "no" } })),
        raw(200, "[".repeat(100_000)),
    ] {
        assert_eq!(started(answer.clone()), Err(ErrorKind::Unavailable), "{answer:?}");
    }
    // What the gate says goes through as it is.
    for kind in [
        ErrorKind::Other("not-sent".into()),
        ErrorKind::Other("timeout".into()),
        ErrorKind::Unavailable,
        ErrorKind::Auth,
        ErrorKind::Refused,
    ] {
        let error = Error { kind: kind.clone(), message: "m".into(), hint: Some("h".into()) };
        assert_eq!(started(Err(error)), Err(kind));
    }
}

#[test]
fn an_id_is_kept_whatever_else_the_answer_to_a_start_says() {
    for fields in [
        json!({}),
        json!({ "status": 5, "steps": "x", "usage": 7, "errors": {}, "agent": [] }),
        json!({ "status": "surprise", "steps": [null, 1, [], {}], "usage": [] }),
    ] {
        let mut interaction = fields.clone();
        interaction["id"] = "a/b?c".into();
        let job = started(says(200, &interaction)).expect("it was started");
        assert_eq!(job.id, "a/b?c");
        assert_eq!(extra(&job, "model"), Some("deep-research-preview-04-2026"));
    }
}

#[test]
fn what_is_gone_is_expired() {
    for status in [403, 404] {
        let job = polled(says(status, &json!({ "error": { "code": status, "message": "Gone." } })));
        let job = job.expect("a job");
        assert_eq!((job.id.as_str(), &job.status), (ID, &Status::Expired));
        let error = job.error.expect("an error");
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(error.message.ends_with(": Gone"), "{}", error.message);
    }
}

#[test]
fn a_poll_that_brings_no_interaction_is_an_error_and_no_verdict() {
    for (answer, kind) in [
        (raw(401, ""), ErrorKind::Auth),
        (raw(400, ""), ErrorKind::InvalidInput),
        (raw(429, ""), ErrorKind::RateLimited(None)),
        (raw(500, ""), ErrorKind::Unavailable),
        (raw(200, ""), ErrorKind::Unavailable),
        (raw(200, "{\"id\": \"v1_5a3"), ErrorKind::Unavailable),
        (raw(200, "\"completed\""), ErrorKind::Unavailable),
        (says(200, &json!({})), ErrorKind::Unavailable),
        (says(200, &json!({ "id": ID })), ErrorKind::Unavailable),
        (says(200, &json!({ "id": ID, "status": 1 })), ErrorKind::Unavailable),
        (says(200, &json!({ "id": "other", "status": "completed" })), ErrorKind::Unavailable),
        (raw(200, "{\"a\":".repeat(100_000)), ErrorKind::Unavailable),
    ] {
        assert_eq!(polled(answer.clone()), Err(kind), "{answer:?}");
    }
    // Whoever leaves its id out may still be believed.
    assert_eq!(polled(says(200, &json!({ "status": "queued" }))).unwrap().status, Status::Queued);
}

#[test]
fn a_cancelled_job_is_cancelled() {
    let mut outside = script([says(200, &json!({ "id": ID, "status": "cancelled" }))]);
    let job = cancel(&Settings::default(), ID, &mut outside).expect("cancelled");
    assert_eq!(job.status, Status::Cancelled);
    let sent = &outside.sent[0];
    assert_eq!((sent.method.as_str(), &sent.body), ("POST", &None));
    assert!(sent.url.ends_with(&format!("/v1/interactions/{ID}/cancel")));
}

#[test]
fn a_cancel_that_says_too_little_is_looked_after() {
    let done = json!({ "id": ID, "status": "completed", "steps": output("text") });
    let running = json!({ "id": ID, "status": "in_progress" });
    let outcome = |answers: Vec<Result<Response, Error>>| {
        let mut outside = script(answers);
        let result = cancel(&Settings::default(), ID, &mut outside);
        assert!(outside.answers.is_empty(), "it is looked at");
        result.map(|job| job.status).map_err(|error| error.kind)
    };
    // It had ended already: that is no fault.
    for status in [400, 403, 409, 412] {
        let refused = says(status, &json!({ "error": { "code": status } }));
        assert_eq!(outcome(vec![refused, says(200, &done)]), Ok(Status::Completed));
    }
    assert_eq!(outcome(vec![raw(403, ""), raw(404, "")]), Ok(Status::Expired));
    // It goes on: then the refusal stands.
    let refused = says(400, &json!({ "error": { "code": 400 } }));
    assert_eq!(outcome(vec![refused, says(200, &running)]), Err(ErrorKind::InvalidInput));
    // Yes, and nothing more.
    for body in ["", "{}", "[]", "{\"id\": \"other\", \"status\": \"cancelled\"}"] {
        let cancelled = says(200, &json!({ "id": ID, "status": "cancelled" }));
        assert_eq!(outcome(vec![raw(200, body), cancelled]), Ok(Status::Cancelled), "{body}");
        assert_eq!(outcome(vec![raw(200, body), says(200, &running)]), Ok(Status::Running));
    }
    assert_eq!(outcome(vec![raw(204, ""), raw(500, "")]), Err(ErrorKind::Unavailable));
    assert_eq!(outcome(vec![raw(404, "")]), Ok(Status::Expired));
    assert_eq!(outcome(vec![raw(500, "")]), Err(ErrorKind::Unavailable));
    assert_eq!(outcome(vec![raw(429, "")]), Err(ErrorKind::RateLimited(None)));
    assert_eq!(outcome(vec![raw(401, "")]), Err(ErrorKind::Auth));
}

#[test]
fn what_is_deleted_or_gone_is_deleted() {
    for (answer, expected) in [
        (raw(200, "{}"), Ok(())),
        (raw(204, ""), Ok(())),
        (raw(404, ""), Ok(())),
        (raw(403, ""), Err(ErrorKind::Auth)),
        (raw(500, ""), Err(ErrorKind::Unavailable)),
    ] {
        let mut outside = script([answer]);
        let result = delete(&Settings::default(), ID, &mut outside).map_err(|error| error.kind);
        assert_eq!(result, expected);
        assert_eq!(outside.sent[0].method, "DELETE");
    }
}

#[test]
fn ids_that_would_lead_elsewhere_are_not_asked_for() {
    for id in ["", ".", ".."] {
        let mut outside = script([]);
        let error = poll(&Settings::default(), id, &mut outside).expect_err("no such id");
        assert_eq!((error.kind, outside.sent.len()), (ErrorKind::InvalidInput, 0));
    }
    let mut outside = script([says(200, &json!({ "status": "queued" }))]);
    poll(&Settings::default(), "../../x?y=z", &mut outside).expect("a job");
    assert!(outside.sent[0].url.ends_with("/v1/interactions/..%2F..%2Fx%3Fy%3Dz?stream=false"));
}

/// Every value of the capture's last answer in turn becomes something else.
#[test]
fn no_wrong_type_anywhere_breaks_it() {
    let interaction = captured("res").pop().expect("an answer")["body"].take();
    let mut pointers = vec![String::new()];
    let mut at = 0;
    while at < pointers.len() {
        let here = pointers[at].clone();
        match interaction.pointer(&here) {
            Some(Value::Object(map)) => {
                pointers.extend(map.keys().map(|key| format!("{here}/{key}")));
            }
            Some(Value::Array(items)) => {
                pointers.extend((0..items.len()).map(|index| format!("{here}/{index}")));
            }
            _ => {}
        }
        at += 1;
    }
    assert!(pointers.len() > 50, "{}", pointers.len());
    let lies = [
        json!(null),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(true),
        json!(""),
        json!("\u{0}"),
        json!("äöü\u{1f30b}"),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({ "type": 5, "text": {} }),
    ];
    let mut calls = 0;
    for pointer in &pointers {
        for lie in &lies {
            let mut told = interaction.clone();
            *told.pointer_mut(pointer).expect("it is there") = lie.clone();
            for result in [polled(says(200, &told)), started(says(200, &told))] {
                calls += 1;
                let Ok(job) = result else { continue };
                let report = job.report.unwrap_or_default();
                for citation in &job.citations {
                    let (start, end) = (citation.start as usize, citation.end as usize);
                    assert!(report.get(start..end).is_some_and(|words| !words.is_empty()));
                }
                assert!(job.progress.iter().all(|line| !line.contains(['\n', '\0'])));
                assert_eq!(job.error.is_some(), job.status == Status::Failed);
            }
        }
    }
    assert!(calls > 1000, "{calls}");
}

/// Every answer that is cut somewhere is unreadable, and never half a result.
#[test]
fn a_cut_answer_is_no_answer() {
    let whole = captured("res").pop().expect("an answer")["body"].to_string();
    for end in 0..whole.len() {
        let cut = &whole.as_bytes()[..end];
        assert_eq!(polled(raw(200, cut.to_vec())), Err(ErrorKind::Unavailable), "{end}");
        assert_eq!(started(raw(200, cut.to_vec())), Err(ErrorKind::Unavailable), "{end}");
    }
    assert!(polled(raw(200, whole)).is_ok());
}
