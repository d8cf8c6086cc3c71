//! Every capture of the real CLI, replayed through the whole way of a request.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;

use bathysphere_sdk::agent::{Purpose, Reply, Request};
use bathysphere_sdk::types::{Error, ErrorKind};

use crate::{Heard, Invocation, Outside, Running, Settings, answer};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/gemini-cli")
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A program that says what was captured.
struct Replay {
    heard: VecDeque<Heard>,
    session: Option<(String, Vec<u8>)>,
}

impl Running for Replay {
    fn next(&mut self) -> Result<Option<Heard>, Error> {
        Ok(self.heard.pop_front())
    }

    fn list_files(&self) -> Vec<String> {
        self.session.iter().map(|(name, _)| name.clone()).collect()
    }

    fn read_file(&self, name: &str, _: u64) -> Result<Vec<u8>, Error> {
        let (known, bytes) = self.session.as_ref().expect("it was listed");
        assert_eq!(known, name);
        Ok(bytes.clone())
    }
}

struct Captured<'a> {
    name: &'a str,
    progress: Vec<String>,
}

impl Outside for Captured<'_> {
    type Program = Replay;

    fn start(&mut self, invocation: &Invocation) -> Result<Replay, Error> {
        let lines = |kind: &str| -> Vec<Vec<u8>> {
            let bytes = fixture(&format!("{}.{kind}", self.name));
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            // A line end closes a line and does not begin another.
            lines.pop_if(|line| line.is_empty());
            lines
        };
        let mut heard: VecDeque<Heard> =
            lines("stderr").into_iter().map(Heard::ErrorOutput).collect();
        heard.extend(lines("stdout").into_iter().map(Heard::Output));
        let code = fixture(&format!("{}.rc", self.name));
        heard.push_back(Heard::Exited(String::from_utf8(code).unwrap().trim().parse().unwrap()));
        let at = invocation.arguments.iter().position(|argument| argument == "--session-id");
        let id = &invocation.arguments[at.expect("a session is named") + 1];
        let session = fs::read(fixtures().join(format!("{}.session.jsonl", self.name))).ok();
        let name = format!("~/.gemini/tmp/work/chats/session-2026-11-15T05-43-{}.jsonl", &id[..8]);
        Ok(Replay { heard, session: session.map(|bytes| (name, bytes)) })
    }

    fn progress(&mut self, message: &str) {
        self.progress.push(message.to_owned());
    }
}

fn request() -> Request {
    Request {
        purpose: Purpose::Answer,
        prompt: "say hello to the depths of the sea, please".into(),
        question: String::new(),
        passages: Vec::new(),
        schema: None,
        model: None,
        files: Vec::new(),
        extra: Vec::new(),
    }
}

fn replay(name: &str) -> (Result<Reply, Error>, Vec<String>) {
    let mut captured = Captured { name, progress: Vec::new() };
    // As many attempts as were captured: ending a storm is tested by itself.
    let settings = Settings { max_attempts: 10, ..Settings::default() };
    let answer = answer(&settings, &request(), &mut captured);
    (answer, captured.progress)
}

fn other(name: &str) -> ErrorKind {
    ErrorKind::Other(name.into())
}

/// Captures that are answers, with what they begin with.
const ANSWERS: &[(&str, &str)] = &[
    ("at_incl", "Hello from the fake Gemini."),
    ("fetch_session", "Hello world."),
    // Cut off, which nothing tells.
    ("max_stream", "Hello cut"),
    ("mcp_trust", "TOOLRESULT<<"),
    ("ok_json", "Hello from the fake Gemini."),
    ("ok_stream", "Hello from the fake Gemini."),
    ("ok_text", "Hello from the fake Gemini."),
    ("read_cwd", "TOOLRESULT<<{\"output\": \"INVALID"),
    ("read_incl", "TOOLRESULT<<{\"output\": \"INVALID"),
    // The tool failed, and the model says so.
    ("read_outside", "TOOLRESULT<<{\"error\": \"Path not in workspace"),
    ("read_session", "Hello world."),
    ("search_json", "TOOLRESULT<<{\"output\": \"Web search results"),
    ("search_session", "Hello world."),
    ("search_stream", "TOOLRESULT<<{\"output\": \"Web search results"),
];

/// Captures that are failures.
fn failures() -> Vec<(&'static str, ErrorKind)> {
    vec![
        ("auth_json", ErrorKind::Auth),
        ("auth_stream-json", ErrorKind::Auth),
        ("auth_text", ErrorKind::Auth),
        ("blocked_stream", other("empty-answer")),
        ("context_stream", other("context-overflow")),
        ("cut_stream", ErrorKind::Unavailable),
        ("empty_json", other("empty-answer")),
        ("empty_stream", other("empty-answer")),
        ("err401_stream", ErrorKind::Auth),
        ("err403_stream", ErrorKind::Auth),
        ("err500_stream", ErrorKind::Unavailable),
        ("err503_max2_json", ErrorKind::Unavailable),
        ("max0_stream", other("empty-answer")),
        ("noauth_stream", ErrorKind::Auth),
        ("noprompt", ErrorKind::InvalidInput),
        ("notfound_json", other("model-not-found")),
        ("notfound_stream-json", other("model-not-found")),
        ("notfound_text", other("model-not-found")),
        ("ratelimit_day_json", other("quota-exhausted")),
        ("ratelimit_json", ErrorKind::RateLimited(Some(2))),
        ("ratelimit_max2_stream", ErrorKind::RateLimited(Some(2))),
        ("ratelimit_max2_text", ErrorKind::RateLimited(Some(2))),
        ("safety_stream", other("safety-blocked")),
        ("think_stream", other("empty-answer")),
        ("turnlimit", other("turn-limit")),
        ("turnlimit_s", other("turn-limit")),
        ("untrusted", ErrorKind::Refused),
        ("usage_stream", other("cli-outdated")),
    ]
}

#[test]
fn every_capture_is_expected() {
    let captured: BTreeSet<String> = fs::read_dir(fixtures())
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".rc").map(str::to_owned)
        })
        .collect();
    let expected: BTreeSet<String> = ANSWERS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .chain(failures().into_iter().map(|(name, _)| name.to_owned()))
        .collect();
    assert_eq!(captured, expected);
}

#[test]
fn captured_answers_are_answers() {
    for (name, start) in ANSWERS {
        let reply = replay(name).0.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(reply.text.starts_with(start), "{name}: {}", reply.text);
        if *name != "ok_text" {
            assert!(reply.usage.input_tokens > 0 && reply.usage.output_tokens > 0, "{name}");
        }
    }
}

#[test]
fn captured_failures_are_told_in_the_right_words() {
    for (name, kind) in failures() {
        let error = match replay(name).0 {
            Ok(reply) => panic!("{name}: {}", reply.text),
            Err(error) => error,
        };
        assert_eq!(error.kind, kind, "{name}: {}", error.message);
        let hint = error.hint.unwrap_or_else(|| panic!("{name} has no hint"));
        assert!(!hint.is_empty());
        let message = &error.message;
        assert!(message.chars().count() < 300, "{name}: {message}");
        assert!(!message.ends_with('.') && message.starts_with(char::is_lowercase), "{message}");
        for noise in ["\n", "    at ", "node_modules", "\"error\"", "say h", "[API Error", "/home/"]
        {
            assert!(!message.contains(noise), "{name}: {message}");
        }
    }
}

#[test]
fn a_search_tells_queries_sources_model_and_usage() {
    let (reply, progress) = replay("search_session");
    let reply = reply.unwrap();
    assert_eq!(reply.queries, ["rust mcp server"]);
    let sources: Vec<(&str, &str)> =
        reply.sources.iter().map(|source| (source.url.as_str(), source.title.as_str())).collect();
    let redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect";
    assert_eq!(
        sources,
        [
            (format!("{redirect}/AAA111").as_str(), "modelcontextprotocol.io"),
            (format!("{redirect}/BBB222").as_str(), "docs.rs"),
        ]
    );
    // Neither the model that chose nor the one that searched.
    assert_eq!(reply.model.as_deref(), Some("gemini-3.8-flash"));
    // Five requests of 1000 tokens, 50 of answer and 20 of thought each.
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (5000, 350));
    // Both pages were refused by the CLI.
    assert_eq!((reply.usage.searches, reply.usage.pages), (1, 0));
    assert_eq!(
        progress,
        [
            "the Gemini CLI is at work",
            "searching \"rust mcp server\"",
            "writing, 6 characters so far"
        ]
    );
}

#[test]
fn a_page_that_was_read_is_a_source() {
    let reply = replay("fetch_session").0.unwrap();
    let sources: Vec<(&str, &str)> =
        reply.sources.iter().map(|source| (source.url.as_str(), source.title.as_str())).collect();
    assert_eq!(
        sources,
        [
            ("https://93.184.215.14/a", "https://93.184.215.14/a"),
            ("https://example.org/a", "Example")
        ]
    );
    assert_eq!(reply.usage.pages, 1);
}

#[test]
fn a_document_tells_the_model_that_answered() {
    let reply = replay("search_json").0.unwrap();
    assert_eq!(reply.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (3702, 228));
    assert_eq!(reply.usage.searches, 1);
    assert_eq!(replay("ok_json").0.unwrap().model.as_deref(), Some("gemini-3.8-flash"));
    // Without a record of the session nobody knows.
    assert_eq!(replay("ok_stream").0.unwrap().model, None);
    // Where only one was asked, it is the one that answered.
    assert_eq!(replay("read_cwd").0.unwrap().model.as_deref(), Some("gemini-2.5-flash"));
}

#[test]
fn the_model_that_was_asked_for_is_the_one_that_is_told() {
    let mut captured = Captured { name: "search_session", progress: Vec::new() };
    let settings = Settings { model: "gemini-set".into(), ..Settings::default() };
    let reply = answer(&settings, &request(), &mut captured).unwrap();
    assert_eq!(reply.model.as_deref(), Some("gemini-set"));
}

/// A program that is scripted line by line.
struct Scripted(Vec<Heard>);

impl Outside for Scripted {
    type Program = Replay;

    fn start(&mut self, _: &Invocation) -> Result<Replay, Error> {
        Ok(Replay { heard: self.0.drain(..).collect(), session: None })
    }

    fn progress(&mut self, _: &str) {}
}

fn scripted(heard: Vec<Heard>) -> Error {
    answer(&Settings::default(), &request(), &mut Scripted(heard)).expect_err("no answer")
}

fn said(line: &str) -> Heard {
    Heard::Output(line.as_bytes().to_vec())
}

fn complained(line: &str) -> Heard {
    Heard::ErrorOutput(line.as_bytes().to_vec())
}

#[test]
fn a_missing_login_is_told_with_the_reason_and_what_the_login_needs() {
    let error = replay("noauth_stream").0.expect_err("no login");
    assert_eq!(
        error.message,
        "the Gemini CLI has no login: When using Gemini API, you must specify the GEMINI_API_KEY \
         environment variable"
    );
    assert!(error.hint.unwrap().contains("GEMINI_API_KEY"));

    let without = |auth: &str, lines: &[&str]| {
        let settings = Settings { auth: auth.into(), ..Settings::default() };
        let heard = lines.iter().map(|line| complained(line)).chain([Heard::Exited(41)]).collect();
        answer(&settings, &request(), &mut Scripted(heard)).expect_err("no login")
    };
    let vertex = without(
        "vertex-ai",
        &[
            "When using Vertex AI, you must specify either:",
            "• GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION environment variables.",
            "• GOOGLE_API_KEY environment variable (if using express mode).",
            "Update your environment and try again (no reload needed if using .env)!",
        ],
    );
    assert_eq!(vertex.kind, ErrorKind::Auth);
    assert!(vertex.message.contains("either: • GOOGLE_CLOUD_PROJECT and"), "{}", vertex.message);
    assert!(!vertex.message.contains("Update your"), "{}", vertex.message);
    let machine = without("compute-default-credentials", &[]);
    assert_eq!(machine.message, "the Gemini CLI has no login");
    for (error, words) in [(vertex, "GOOGLE_CLOUD_PROJECT"), (machine, "service account")] {
        let hint = error.hint.unwrap();
        assert!(hint.contains(words) && !hint.contains("GEMINI_API_KEY"), "{hint}");
    }
}

#[test]
fn failures_that_exit_with_0_are_failures() {
    let result = |models: &str| {
        said(&format!(r#"{{"type":"result","status":"success","stats":{{"models":{models}}}}}"#))
    };
    let init = || said(r#"{"type":"init","model":"auto"}"#);
    let kind = |heard: Vec<Heard>| scripted(heard).kind;
    assert_eq!(kind(vec![init(), result("{}"), Heard::Exited(0)]), other("context-overflow"));
    assert_eq!(kind(vec![init(), result(r#"{"m":{}}"#), Heard::Exited(0)]), other("empty-answer"));
    // Told to stop: an end without a word.
    assert_eq!(kind(vec![Heard::Exited(0)]), ErrorKind::Unavailable);
    assert_eq!(kind(vec![init(), Heard::Exited(0)]), ErrorKind::Unavailable);
    // The end of what it said is lost.
    let piece = said(r#"{"type":"message","role":"assistant","content":"Half","delta":true}"#);
    assert_eq!(
        kind(vec![init(), piece, said(r#"{"type":"mess"#), Heard::Exited(0)]),
        ErrorKind::Unavailable
    );
    let document = r#"{"session_id":"x","response":"","stats":{"models":{}}}"#;
    assert_eq!(kind(vec![said(document), Heard::Exited(0)]), other("context-overflow"));
}

#[test]
fn a_death_by_signal_is_a_passing_fault() {
    let error = scripted(vec![said(r#"{"type":"init","model":"auto"}"#), Heard::Signalled(9)]);
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(error.message.contains("signal 9"), "{}", error.message);
}

#[test]
fn text_before_a_failure_is_no_answer() {
    let error = scripted(vec![
        said(r#"{"type":"message","role":"assistant","content":"Half an ans","delta":true}"#),
        said(
            r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: terminated]"}}"#,
        ),
        Heard::Exited(1),
    ]);
    assert_eq!(error.kind, ErrorKind::Unavailable);
}

#[test]
fn a_storm_of_attempts_is_ended() {
    let quota = "Attempt 2 failed: You exceeded your current quota. Please retry in 30s.";
    let error = scripted(vec![
        complained("Attempt 1 failed with status 429. Retrying with backoff..."),
        complained(quota),
        // Never reached: the program is dropped.
        said(r#"{"type":"message","role":"assistant","content":"late","delta":true}"#),
        Heard::Exited(0),
    ]);
    assert_eq!(error.kind, ErrorKind::RateLimited(Some(30)));
}

/// As the CLI tells it when the request that was to choose a model fails: that one is
/// repeated whatever the settings say.
#[test]
fn a_storm_before_the_first_event_is_told_by_its_cause() {
    let error = scripted(vec![
        complained("Attempt 1 failed: You exceeded your current quota, please check your plan."),
        complained("Please retry in 2s."),
        complained("Suggested retry after 2s.. Retrying after 5265ms..."),
        complained("Attempt 2 failed: You exceeded your current quota, please check your plan."),
        Heard::Exited(0),
    ]);
    assert_eq!(error.kind, ErrorKind::RateLimited(Some(2)));
    let fault = |number: u32| {
        complained(&format!(
            "Attempt {number} failed with status 500. Retrying with backoff... _ApiError: \
             {{\"error\":{{\"code\":500,\"message\":\"It broke.\",\"status\":\"INTERNAL\"}}}}"
        ))
    };
    let error = scripted(vec![fault(1), fault(2), Heard::Exited(0)]);
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.message, "the Gemini API has a passing fault (500): It broke");
}

#[test]
fn a_limit_that_does_not_pass_soon_is_a_quota() {
    let failed = |message: &str| {
        let trouble = format!(
            r#"{{"type":"result","status":"error","error":{{"type":"x","message":"{message}"}}}}"#
        );
        scripted(vec![said(&trouble), Heard::Exited(173)]).kind
    };
    assert_eq!(failed("slow down"), ErrorKind::RateLimited(None));
    assert_eq!(failed("Please retry in 850ms."), ErrorKind::RateLimited(Some(1)));
    assert_eq!(failed("Please retry in 5m2s."), ErrorKind::RateLimited(Some(300)));
    assert_eq!(failed("Please retry in 13h9m."), other("quota-exhausted"));
}

#[test]
fn the_prompt_is_in_no_error() {
    let prompt = request().prompt;
    for heard in [
        vec![complained(&format!("Error: cannot make sense of {prompt}")), Heard::Exited(7)],
        vec![complained(&prompt), Heard::Exited(42)],
    ] {
        let error = scripted(heard);
        assert!(!error.message.contains("depths of the sea"), "{}", error.message);
    }
}

#[test]
fn what_is_not_known_is_told_shortly() {
    let error = scripted(vec![
        complained("Warning: colours"),
        complained("TypeError: the pump is broken."),
        complained("    at pump (file:///x.js:1:1)"),
        Heard::Exited(7),
    ]);
    assert_eq!(error.kind, other("cli-failed"));
    assert_eq!(error.message, "the Gemini CLI failed with exit code 7: the pump is broken");
}

/// A gate that refuses with one error.
struct Refusing(Error);

impl Outside for Refusing {
    type Program = Replay;

    fn start(&mut self, _: &Invocation) -> Result<Replay, Error> {
        Err(self.0.clone())
    }

    fn progress(&mut self, _: &str) {}
}

#[test]
fn a_missing_program_is_told_with_what_to_do() {
    let gate = |kind: ErrorKind| Error { kind, message: "it is not there".into(), hint: None };
    let refused = |kind: ErrorKind| {
        answer(&Settings::default(), &request(), &mut Refusing(gate(kind))).expect_err("refused")
    };
    let error = refused(ErrorKind::NotFound);
    assert_eq!(error.kind, other("cli-not-found"));
    let hint = error.hint.unwrap();
    for words in [
        "npm install -g @google/gemini-cli",
        "Node.js 20",
        "GEMINI_API_KEY",
        "--docs DIR",
        "[tools]",
    ] {
        assert!(hint.contains(words), "{words}: {hint}");
    }
    let error = refused(other("timeout"));
    assert_eq!(error.kind, other("timeout"));
    assert_eq!(error.message, "the Gemini CLI did not end within 600 s");
    assert_eq!(refused(ErrorKind::Refused).kind, ErrorKind::Refused);
}
