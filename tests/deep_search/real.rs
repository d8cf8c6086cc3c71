//! The main paths with the real Gemini CLI, at a pinned version, talking to a loopback
//! stand-in of the Gemini API: server, plugin, process gate, program and wire, all but
//! Google. What was asked, read and paid for is seen from the API's side.
//!
//! Where Node or the network is missing the tests say that they were skipped; under
//! `CI=true` that is a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::client::{Client, text_of};
use crate::support::gemini_answers::Answer;
use crate::support::gemini_api::Purpose::{self, Answer as Answers, Fetch, Route, Search};
use crate::support::gemini_api::{GeminiApi, Recorded};
use crate::support::gemini_program::{RealCli, skip};
use crate::support::program::DEADLINE;
use crate::support::researcher::{
    Asked, KEY, Reply, Researcher, fenced, messages, plain_report, report, structured,
};

/// Long enough that nobody says it by chance.
const QUERY: &str = "How deep did the two men in the bathysphere dive in August 1934?";

/// Asking again is not the point of most tests, and each run takes its time.
const ONCE: &str = "[research]\ncycles = 1\n";

/// The group is gone within a second; a busy machine may need another to notice.
const PROMPT: Duration = Duration::from_secs(2);

/// A user whose `gemini` is the real one, and whose Google is the stand-in.
struct Real {
    api: GeminiApi,
    cli: RealCli,
    user: Researcher,
}

impl Real {
    /// None where there is no CLI to be had. The answers are all that may be asked.
    fn new(config: &str, answers: impl IntoIterator<Item = Answer>) -> Option<Self> {
        Self::with_api(config, GeminiApi::new(answers))
    }

    fn with_api(config: &str, api: GeminiApi) -> Option<Self> {
        let cli = RealCli::bare().map_err(|reason| skip(&reason)).ok()?;
        // The key and the address reach the CLI as every user's do: through the gate.
        let user = Researcher::with_config(config)
            .with_variable("PATH", cli.search_path())
            .with_variable("GOOGLE_GEMINI_BASE_URL", api.url());
        Some(Self { api, cli, user })
    }

    /// With this variable in the environment of the server.
    fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.user = self.user.with_variable(name, value);
        self
    }

    fn connect(&self) -> Client {
        let mut client = self.user.connect();
        // Several runs, beside those of other tests.
        client.be_patient(DEADLINE);
        client
    }

    /// Asks a server of its own.
    fn ask(&self, tool: &str, arguments: Value) -> Asked {
        let mut client = self.connect();
        let id = client.begin(tool, arguments);
        let answer = structured(&client.answer(id));
        let progress = messages(&client.kept("notifications/progress"));
        Asked { answer, progress, ended: client.end() }
    }

    /// What each request so far was for.
    fn purposes(&self) -> Vec<Purpose> {
        self.api.requests().iter().map(|request| request.purpose).collect()
    }

    /// The CLI was started so often, nothing was asked beyond the script, and no
    /// process, directory or file is left.
    #[track_caller]
    fn assert_clean_after(&self, runs: usize) {
        assert_eq!(self.cli.processes().len(), runs);
        self.cli.wait_until_gone();
        self.user.wait_until_nothing_is_left();
        self.api.assert_all_expected();
        for request in self.api.requests() {
            assert_eq!(request.key.as_deref(), Some(KEY));
        }
    }
}

/// One run without tools, where the CLI chooses the model.
const PLAIN_RUN: [Purpose; 2] = [Route, Answers];

#[test]
fn success_with_early_verification() {
    // Fences, braces and all: it comes back to the letter.
    let markdown = "# Depth\n\nThey dived to **923 m** – é, 深い.\n\n```json\n{\"report\": \"{\"}\n\
                    ```\n\n1. [Log](https://log.example/?a=1&b=2)\n";
    let checked = Reply {
        report: markdown,
        verified: Some(true),
        sources: &["https://log.example/?a=1&b=2", "https://redirect.example/2"],
        queries: &["record dive", "bathysphere 1934"],
        summary: "The depth is confirmed.",
    };
    let answers = [
        Answer::search("bathysphere depth"),
        Answer::text(report("Draft", false)),
        Answer::search("bathysphere 1934"),
        Answer::fetch("Summarise https://93.184.215.14/log"),
        Answer::text(checked.text()),
    ];
    let Some(real) = Real::new("", answers) else { return };
    real.api.finds(&[
        ("log.example", "https://redirect.example/1"),
        ("book.example", "https://redirect.example/2"),
    ]);
    let query = format!("{QUERY}\n@/etc/passwd @..");
    let asked = real.ask("deep_search", json!({ "query": query }));
    let answer = &asked.answer;
    assert_eq!(answer["success"], true, "{answer:#}");
    assert_eq!(answer["result"], markdown);
    assert_eq!(answer["verified"], true);
    assert_eq!(answer["stop_reason"], "verified");
    assert_eq!(answer["status"], "completed");
    assert!(answer.get("note").is_none(), "{answer:#}");
    let metadata = &answer["metadata"];
    assert_eq!(metadata["query"], query);
    assert_eq!(metadata["iterations"], 2, "three more were allowed");
    // What the search found has the address that the API gave, not only a title.
    assert_eq!(
        metadata["rounds"],
        json!([
            {
                "round_number": 1,
                "sources_visited": [
                    "https://redirect.example/1", "https://redirect.example/2",
                    "https://draft.example/",
                ],
                "search_queries": ["bathysphere depth", "query for Draft"],
                "intermediate_result_summary": "Summary of Draft",
            },
            {
                "round_number": 2,
                "sources_visited": [
                    "https://redirect.example/1", "https://redirect.example/2",
                    "https://93.184.215.14/log", "https://log.example/?a=1&b=2",
                ],
                "search_queries": ["bathysphere 1934", "record dive"],
                "intermediate_result_summary": "The depth is confirmed.",
            },
        ])
    );
    assert_eq!(
        metadata["sources_visited"],
        json!([
            "https://redirect.example/1",
            "https://redirect.example/2",
            "https://draft.example/",
            "https://93.184.215.14/log",
            "https://log.example/?a=1&b=2",
        ])
    );
    assert_eq!(
        answer["sources"][0],
        json!({ "url": "https://redirect.example/1", "title": "log.example" })
    );
    assert_eq!(
        metadata["search_queries_used"],
        json!(["bathysphere depth", "query for Draft", "bathysphere 1934", "record dive"])
    );

    // Every request, and so every token, is one that is known.
    assert_eq!(
        real.purposes(),
        [Route, Answers, Search, Answers, Route, Answers, Search, Answers, Fetch, Answers]
    );
    let usage = &answer["usage"];
    assert_eq!(usage["input_tokens"], 10_000, "{usage:#}");
    assert_eq!(usage["output_tokens"], 700);
    assert_eq!((&usage["searches"], &usage["pages"]), (&json!(2), &json!(1)));

    // The CLI chose the model; its own record says which.
    let requests = real.api.answer_requests();
    assert_eq!(metadata["model"], requests[4].model.as_str());
    assert_ne!(metadata["model"], "auto-detected");

    // The prompts arrived whole, and no file came with them.
    let first = requests[0].prompt();
    assert!(first.contains("This is round 1 of at most 5"), "{first}");
    assert!(fenced(&first, "QUERY").starts_with(QUERY), "{first}");
    let second = requests[2].prompt();
    assert!(second.contains("This is round 2 of at most 5"), "{second}");
    assert_eq!(fenced(&second, "RESULT"), "Draft");
    assert!(fenced(&second, "SOURCES").contains("https://redirect.example/2"), "{second}");
    for request in &requests {
        assert!(!request.body.to_string().contains("root:"), "a file was put into the prompt");
    }
    // The system prompt is ours: the CLI's own is five times as long as all of this.
    let rest = requests[0].body.to_string().len() - json!(first).to_string().len();
    assert!(rest < 6000, "{rest} bytes beside the prompt: {}", requests[0].body);

    // It was told while it happened.
    for told in ["searching \"bathysphere depth\"", "read https://93.184.215.14/log"] {
        assert!(asked.progress.iter().any(|one| one.contains(told)), "{:#?}", asked.progress);
    }
    assert_eq!(asked.log("[INFO] Deep search completed: 2 rounds, verified: true").len(), 1);
    real.assert_clean_after(2);
}

#[test]
fn limit_reached() {
    let answers =
        [Answer::text(report("Draft", false)), Answer::text(report("Still a draft", false))];
    let Some(real) = Real::new("", answers) else { return };
    let real = real.with_variable("GEMINI_MODEL", "gemini-2.5-flash");
    let asked = real.ask("deep_search", json!({ "query": QUERY, "max_iterations": 2 }));
    let answer = &asked.answer;
    assert_eq!(answer["success"], true, "{answer:#}");
    assert_eq!(answer["result"], "Still a draft");
    assert_eq!(answer["verified"], false);
    assert_eq!(answer["stop_reason"], "limit");
    assert_eq!(answer["metadata"]["iterations"], 2);
    assert_eq!(answer["metadata"]["model"], "gemini-2.5-flash");
    let note = answer["note"].as_str().expect("a note");
    assert!(note.contains("verification was not completed"), "{note}");
    // A model that is named is asked without another that chooses one.
    assert_eq!(real.purposes(), [Answers, Answers]);
    assert!(real.api.requests().iter().all(|request| request.model == "gemini-2.5-flash"));
    assert_eq!(answer["usage"]["input_tokens"], 2000);
    real.assert_clean_after(2);
}

const TALK: &str = "They dived to 923 m, says https://log.example/.\nI forgot the JSON, \"é\".";

fn is_correction(request: &Recorded) -> bool {
    request.prompt().contains("You are a JSON formatter")
}

/// The file that a correction is told to read.
fn named_file(request: &Recorded) -> String {
    let prompt = request.prompt();
    let line = prompt.lines().find(|line| line.contains("temp-invalid-output-"));
    line.unwrap_or_else(|| panic!("no file is named:\n{prompt}")).trim().to_owned()
}

#[test]
fn invalid_json_then_correction_by_file() {
    // As a model does that has read its prompt; and it looks at what is beside the file.
    let api = GeminiApi::choosing(|request| {
        if is_correction(request) {
            if request.tool_results().is_empty() {
                let file = named_file(request);
                let beside = Path::new(&file).join("../../../private.txt");
                let read = |path: &str| ("read_file".to_owned(), json!({ "file_path": path }));
                return Answer::Calls(vec![read(&file), read(&beside.to_string_lossy())]);
            }
            return Answer::text(report("Corrected", false));
        }
        let verifies = request.prompt().contains("You are a sceptical fact-checker");
        Answer::text(if verifies { report("Checked", true) } else { TALK.to_owned() })
    });
    let Some(real) = Real::with_api(ONCE, api) else { return };
    let real = real.with_variable("GEMINI_CORRECTION_MODEL", "gemini-2.5-flash-lite");
    let private = real.user.configuration().join("private.txt");
    fs::write(&private, "a secret of the user").expect("room");
    let asked = real.ask("deep_search", json!({ "query": QUERY }));
    assert_eq!(asked.answer["result"], "Checked", "{:#}", asked.answer);
    assert_eq!(asked.answer["verified"], true);
    assert_eq!(asked.answer["metadata"]["iterations"], 2, "a correction is no round");
    let rounds = &asked.answer["metadata"]["rounds"];
    assert_eq!(rounds[0]["intermediate_result_summary"], "Summary of Corrected");

    assert_eq!(real.purposes(), [Route, Answers, Answers, Answers, Route, Answers]);
    assert_eq!(asked.answer["usage"]["input_tokens"], 6000);
    let requests = real.api.answer_requests();
    let corrections: Vec<bool> = requests.iter().map(is_correction).collect();
    assert_eq!(corrections, [false, true, true, false]);
    assert!(requests[1..3].iter().all(|request| request.model == "gemini-2.5-flash-lite"));
    // It was the chooser's for the rounds, and is theirs that is told.
    assert_eq!(asked.answer["metadata"]["model"], requests[3].model.as_str());
    assert_ne!(requests[3].model, "gemini-2.5-flash-lite");

    // `read_file` gave the text out of the private directory, and nothing else.
    let file = PathBuf::from(named_file(&requests[1]));
    let place = real.user.configuration().join("corrections");
    let place = place.canonicalize().unwrap_or(place);
    assert_eq!(file.parent().and_then(Path::parent), Some(&*place));
    let results = requests[2].tool_results();
    assert_eq!(results.len(), 2, "{results:#?}");
    assert_eq!(results[0], TALK);
    assert!(results[1].contains("not in workspace"), "{results:#?}");
    assert!(!results[1].contains("a secret of the user"), "{results:#?}");
    assert!(!requests[1].body.to_string().contains("I forgot the JSON"), "it was in the prompt");
    // Nothing but reading is offered to a correction.
    let tools = requests[1].body["tools"].to_string();
    assert!(tools.contains("read_file") && !tools.contains("google_web_search"), "{tools}");
    assert_eq!(fenced(&requests[3].prompt(), "RESULT"), "Corrected");
    assert!(!file.exists());
    real.assert_clean_after(3);
}

/// A failure as the user is told of it: with a hint, and with neither the question nor
/// the key, here and in the log.
#[track_caller]
fn assert_told(asked: &Asked, code: &str, hint: &str) {
    let error = &asked.answer["error"];
    assert_eq!(asked.answer["success"], false, "{:#}", asked.answer);
    assert_eq!(error["code"], code, "{error:#}");
    assert!(error["hint"].as_str().is_some_and(|text| text.contains(hint)), "{hint}: {error:#}");
    let message = error["message"].as_str().expect("a message");
    assert!(!message.is_empty() && message.len() < 400, "{message}");
    for text in [&error.to_string(), &asked.ended.stderr] {
        assert!(!text.contains("the two men") && !text.contains(KEY), "{text}");
    }
}

/// Three cycles and five rounds are allowed, and these requests are all that is sent
/// where the API refuses every one.
#[track_caller]
fn assert_lasting(model: &str, answer: Answer, code: &str, hint: &str, requests: &[Purpose]) {
    let Some(real) = Real::new("", []) else { return };
    let real = real.with_variable("GEMINI_MODEL", model);
    real.api.everything(answer);
    let asked = real.ask("deep_search", json!({ "query": QUERY }));
    assert_told(&asked, code, hint);
    assert_eq!(real.purposes(), requests);
    if !model.is_empty() {
        assert_eq!(real.api.requests()[0].model, model);
    }
    real.assert_clean_after(1);
}

#[test]
fn a_401_is_asked_once() {
    // The CLI, refused the choice of a model, makes one by itself, and asks that.
    for (model, requests) in [("", &PLAIN_RUN[..]), ("gemini-2.5-flash", &[Answers])] {
        let refused = Answer::unauthorized();
        assert_lasting(model, refused, "AUTH_ERROR", "GEMINI_API_KEY", requests);
    }
}

#[test]
fn a_daily_429_is_asked_once() {
    for (model, requests) in [("", &PLAIN_RUN[..]), ("gemini-2.5-flash", &[Answers])] {
        let used_up = Answer::daily_quota();
        assert_lasting(model, used_up, "QUOTA_EXHAUSTED", "quota", requests);
    }
}

#[test]
fn a_404_is_asked_once() {
    let unknown = Answer::model_not_found("gemini-9-none");
    assert_lasting("gemini-9-none", unknown, "MODEL_NOT_FOUND", "GEMINI_MODEL", &[Answers]);
}

#[test]
fn a_429_that_passes_is_waited_out() {
    let answers = [Answer::rate_limited(2), Answer::text(plain_report("923 m"))];
    let Some(real) = Real::new("", answers) else { return };
    let start = Instant::now();
    let asked = real.ask("search", json!({ "query": QUERY }));
    assert!(start.elapsed() >= Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(asked.answer["result"], "923 m", "{:#}", asked.answer);
    // A sign of life on a busy machine says it again, after the time.
    let waits = asked.progress.iter().filter(|told| told.starts_with("asking again in 2 s"));
    assert_eq!(waits.count(), 1, "{:#?}", asked.progress);
    assert_eq!(real.purposes(), [PLAIN_RUN, PLAIN_RUN].concat());
    real.assert_clean_after(2);
}

/// One cycle, one request: the CLI repeats nothing by itself.
#[track_caller]
fn assert_passing(config: &str, answer: Answer, code: &str, hint: &str) {
    let Some(real) = Real::new(config, [answer]) else { return };
    let asked = real.ask("search", json!({ "query": QUERY }));
    assert_told(&asked, code, hint);
    assert_eq!(real.purposes(), PLAIN_RUN);
    real.assert_clean_after(1);
}

/// Only the request that is to choose a model is repeated, whatever the settings say:
/// the second time it is seen, and ended. What was said of it is not lost.
#[test]
fn a_fault_that_meets_every_request_is_tried_twice_by_the_cli() {
    for (answer, code) in
        [(Answer::rate_limited(3), "RATE_LIMITED"), (Answer::internal_error(), "UNAVAILABLE")]
    {
        let Some(real) = Real::new(ONCE, []) else { return };
        real.api.everything(answer);
        let asked = real.ask("search", json!({ "query": QUERY }));
        assert_told(&asked, code, "wait");
        let message = asked.answer["error"]["message"].as_str().expect("a message");
        assert!(!message.contains(['{', '\n']), "{message}");
        assert_eq!(real.purposes(), [Route, Route]);
        real.assert_clean_after(1);
    }
}

#[test]
fn a_500() {
    assert_passing(ONCE, Answer::internal_error(), "UNAVAILABLE", "wait");
}

#[test]
fn an_empty_answer() {
    assert_passing(ONCE, Answer::empty(), "EMPTY_ANSWER", "ask again");
}

/// It is not asked again, however many cycles there are. The flood has no end that the
/// CLI could come to before it is ended itself: it would ask on from there.
#[test]
fn an_output_flood() {
    assert_passing("", Answer::Flood { bytes: 1 << 30 }, "TOO_LARGE", "ask again");
}

#[test]
fn a_hang() {
    let config = "[plugins.agent-gemini-cli.settings]\ntimeout_seconds = 8\n";
    let Some(real) = Real::with_api(config, GeminiApi::choosing(|_| Answer::Hang)) else { return };
    let asked = real.ask("search", json!({ "query": QUERY }));
    assert_told(&asked, "TIMEOUT", "timeout_seconds");
    // On a machine that is too busy it may not have come to asking; it never asks twice.
    assert!(PLAIN_RUN.starts_with(&real.purposes()), "{:?}", real.purposes());
    real.assert_clean_after(1);
}

#[test]
fn death_by_signal() {
    // The second is caught by the CLI, which then exits with 0 and says nothing.
    for signal in [Signal::KILL, Signal::TERM] {
        let Some(real) = Real::new(ONCE, [Answer::Hang]) else { return };
        let mut client = real.connect();
        let id = client.begin("search", json!({ "query": QUERY }));
        real.api.wait_for_answer_requests(1);
        kill_process(real.cli.processes()[0], signal).expect("it runs");
        let answer = client.answer(id);
        let told = text_of(&answer);
        let asked =
            Asked { answer: structured(&answer), progress: Vec::new(), ended: client.end() };
        let hint = if signal == Signal::KILL { "memory" } else { "ask again" };
        assert_told(&asked, "UNAVAILABLE", hint);
        assert!(told.contains(hint), "{told}");
        assert_eq!(real.purposes(), PLAIN_RUN);
        real.assert_clean_after(1);
    }
}

#[test]
fn a_cancelled_round_is_all_that_resuming_repeats() {
    let answers = [Answer::text(report("Draft", false)), Answer::Hang];
    let Some(real) = Real::new("", answers) else { return };
    let mut client = real.connect();
    let id = client.begin("deep_search", json!({ "query": QUERY, "max_iterations": 3 }));
    real.api.wait_for_answer_requests(2);
    assert_eq!(real.user.temporary_entries().len(), 1, "what a run has of its own");
    let start = Instant::now();
    client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
    real.cli.wait_until_gone();
    assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
    let task = real.user.wait_for_status(&["cancelled"]);
    assert_eq!(task["rounds"], 1, "{task:#}");
    assert!(client.end().status.success());
    real.assert_clean_after(2);

    real.api.then(Answer::text(report("Checked", true)));
    let asked = real.ask("deep_search", json!({ "resume": task["id"] }));
    assert_eq!(asked.answer["result"], "Checked", "{:#}", asked.answer);
    assert_eq!(asked.answer["verified"], true);
    assert_eq!(asked.answer["task_id"], task["id"]);
    assert_eq!(asked.answer["metadata"]["iterations"], 2);
    let summaries = ["Summary of Draft", "Summary of Checked"];
    for (round, summary) in summaries.into_iter().enumerate() {
        let rounds = &asked.answer["metadata"]["rounds"];
        assert_eq!(rounds[round]["intermediate_result_summary"], summary, "{rounds:#}");
    }
    let prompts: Vec<String> = real.api.answer_requests().iter().map(Recorded::prompt).collect();
    let [first, cut, again] = &prompts[..] else { panic!("three requests: {prompts:#?}") };
    assert_ne!(first, cut);
    assert_eq!(cut, again);
    assert!(again.contains("This is round 2 of at most 3"), "{again}");
    assert_eq!(fenced(again, "RESULT"), "Draft");
    real.assert_clean_after(3);
}
