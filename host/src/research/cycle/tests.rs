//! Every way a cycle can go, with a clock that waits for nobody.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::plugins::contract::{Extraction, ProgressSink};
use crate::prices::Prices;
use crate::store::{CallState, Claim, Ending, NewTask, Store, TaskEnd};

const GOOD: &str = r#"{"success": true, "verified": false, "report": "good"}"#;
const BAD: &str = "I have looked everywhere, and found this.";

/// Answers from a list, and remembers what it was asked and what it saw.
#[derive(Default)]
struct Scripted {
    replies: Mutex<VecDeque<Result<&'static str, ErrorKind>>>,
    asked: Mutex<Vec<AgentRequest>>,
    /// What the file named in each correction held while it was asked.
    read: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(replies: impl IntoIterator<Item = Result<&'static str, ErrorKind>>) -> Self {
        Self { replies: Mutex::new(replies.into_iter().collect()), ..Self::default() }
    }

    fn purposes(&self) -> Vec<Purpose> {
        self.asked.lock().unwrap().iter().map(|request| request.purpose.clone()).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let asked = self.asked.lock().unwrap();
        asked.iter().flat_map(|request| &request.files).map(|(path, _)| path.into()).collect()
    }
}

#[async_trait]
impl Agent for Scripted {
    async fn answer(
        &self,
        request: &AgentRequest,
        _: ProgressSink,
    ) -> Result<AgentReply, CallError> {
        for (path, _) in &request.files {
            let text = std::fs::read_to_string(path).expect("the file is there");
            assert!(request.prompt.contains(path.as_str()), "the prompt names the file");
            self.read.lock().unwrap().push(text);
        }
        self.asked.lock().unwrap().push(request.clone());
        let reply =
            self.replies.lock().unwrap().pop_front().expect("asked more often than planned");
        let text = reply.map_err(|kind| CallError::Failed {
            plugin: "scripted".to_owned(),
            error: PluginError::new(kind, "it broke"),
        })?;
        Ok(AgentReply {
            text: text.to_owned(),
            usage: Usage { input_tokens: 10, ..Usage::default() },
            ..AgentReply::default()
        })
    }
}

/// Takes the text for JSON, or not.
struct Strict;

#[async_trait]
impl Extractor for Strict {
    async fn extract(&self, text: &str, _: &str) -> Result<Extraction, CallError> {
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Ok(Extraction { json: text.to_owned(), repaired: false, notes: Vec::new() }),
            Err(error) => Err(CallError::Failed {
                plugin: "strict".to_owned(),
                error: PluginError::new(ErrorKind::NotFound, error.to_string()),
            }),
        }
    }
}

struct Fixture {
    directory: TempDir,
    store: Store,
    recorder: Recorder,
    claim: Claim,
    prompts: Prompts,
    events: EventSink,
    cycles: u32,
    mask: Mask,
}

impl Fixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("test.sqlite3"));
        let task = NewTask {
            tool: "deep_search".to_owned(),
            text: "why?".to_owned(),
            question: "{}".to_owned(),
            ..NewTask::default()
        };
        let claim = store.create_task(task).await.unwrap();
        let recorder =
            Recorder::new(store.clone(), Arc::new(Prices::built_in()), Ok(claim.clone()));
        let prompts = Prompts::load(directory.path()).unwrap();
        let events: EventSink = Arc::new(|_| {});
        Self {
            directory,
            store,
            recorder,
            claim,
            prompts,
            events,
            cycles: 3,
            mask: Mask::default(),
        }
    }

    /// Runs the cycle; returns what came of it, how long it took, and the tokens.
    async fn run(&self, agent: &Scripted) -> (Result<Answered, CallError>, u64, u64) {
        let cycle = Cycle {
            agent,
            agent_name: "scripted",
            mask: &self.mask,
            extractor: &Strict,
            recorder: &self.recorder,
            events: &self.events,
            prompts: &self.prompts,
            configuration: self.directory.path(),
            cycles: self.cycles,
            may_cost: true,
        };
        let request = AgentRequest {
            purpose: Purpose::Answer,
            prompt: "why?".to_owned(),
            question: "why?".to_owned(),
            passages: Vec::new(),
            schema: None,
            model: None,
            files: Vec::new(),
            extra: Vec::new(),
        };
        let started = Instant::now();
        let mut usage = Usage::default();
        let ended = cycle.run(1, Prompt::DeepSearch, &request, &mut usage).await;
        (ended, started.elapsed().as_secs(), usage.input_tokens)
    }

    fn leaves_nothing(&self, agent: &Scripted) {
        for path in agent.files() {
            assert!(!path.exists(), "{} is still there", path.display());
            assert!(path.starts_with(self.directory.path()));
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(name.starts_with("temp-invalid-output-"), "{name}");
        }
    }
}

fn code(error: &CallError) -> String {
    crate::report::ErrorReport::from(error).code
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_can_be_read_needs_nothing_more() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new([Ok(GOOD)]);
    let (ended, seconds, tokens) = fixture.run(&agent).await;
    assert_eq!(ended.unwrap().answer.report, "good");
    assert_eq!((seconds, tokens), (0, 10));
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_shows_only_once_it_is_decoded_is_hidden() {
    const DECODED: &str = r#"{"report": "the cl\u00e9-canary"}"#;
    const NOT_A_REPORT: &str = r#"{"report": "x", "verified": "cl\u00e9-canary"}"#;
    let mut fixture = Fixture::new().await;
    fixture.mask = Mask::new([crate::gates::secrets::Secret::new("clé-canary")]);
    let (ended, ..) = fixture.run(&Scripted::new([Ok(DECODED)])).await;
    assert_eq!(ended.unwrap().answer.report, "the [secret]");

    // What is wrong with an answer may quote it.
    fixture.cycles = 1;
    let agent = Scripted::new([Ok(NOT_A_REPORT), Ok(NOT_A_REPORT)]);
    let (ended, ..) = fixture.run(&agent).await;
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("[secret]") && !error.contains("canary"), "{error}");
    let asked = agent.asked.lock().unwrap();
    assert!(asked[1].prompt.contains("[secret]"), "{}", asked[1].prompt);
    assert!(!asked[1].prompt.contains("canary"), "{}", asked[1].prompt);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_corrected_from_a_file() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new([Ok(BAD), Ok(GOOD)]);
    let (ended, seconds, tokens) = fixture.run(&agent).await;
    assert_eq!(ended.unwrap().answer.report, "good");
    assert_eq!((seconds, tokens), (0, 20));
    assert_eq!(agent.purposes(), [Purpose::Answer, Purpose::Correct]);
    assert_eq!(*agent.read.lock().unwrap(), [BAD]);
    fixture.leaves_nothing(&agent);
}

#[tokio::test(start_paused = true)]
async fn the_correction_is_shown_the_form_of_the_answer_that_was_wanted() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new([Ok(BAD), Ok(GOOD)]);
    let _ = fixture.run(&agent).await;
    let asked = agent.asked.lock().unwrap();
    for field in ["\"success\"", "\"verified\"", "\"report\"", "\"metadata\"", "```json"] {
        assert!(asked[1].prompt.contains(field), "no {field} in {}", asked[1].prompt);
    }
}

#[tokio::test(start_paused = true)]
async fn three_cycles_with_rising_waits_and_then_it_is_over() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new(vec![Ok(BAD); 6]);
    let (ended, seconds, tokens) = fixture.run(&agent).await;
    let error = ended.unwrap_err();
    assert_eq!(code(&error), "EXECUTION_ERROR");
    assert!(error.to_string().contains("all retry and correction attempts were exhausted"));
    assert_eq!((seconds, tokens), (1 + 2, 60), "what was spent is counted all the same");
    assert_eq!(agent.purposes().len(), 6);
    fixture.leaves_nothing(&agent);
}

#[tokio::test(start_paused = true)]
async fn a_setting_allows_more_cycles_and_later_waits_stay_at_five_seconds() {
    let fixture = Fixture { cycles: 5, ..Fixture::new().await };
    let agent = Scripted::new(vec![Ok(BAD); 10]);
    let (ended, seconds, _) = fixture.run(&agent).await;
    assert!(ended.is_err());
    assert_eq!(seconds, 1 + 2 + 5 + 5);
}

#[tokio::test(start_paused = true)]
async fn a_later_cycle_can_succeed() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new([Ok(BAD), Ok(BAD), Ok(GOOD)]);
    let (ended, seconds, _) = fixture.run(&agent).await;
    assert!(ended.is_ok());
    assert_eq!(seconds, 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_succeed_is_neither_corrected_nor_tried_again() {
    for (kind, expected) in [
        (ErrorKind::Auth, "AUTH_ERROR"),
        (ErrorKind::RateLimited(Some(3600)), "RATE_LIMITED"),
        (ErrorKind::Other("cli-not-found".to_owned()), "CLI_NOT_FOUND"),
        (ErrorKind::Other("model-not-found".to_owned()), "MODEL_NOT_FOUND"),
        (ErrorKind::Other("quota-exhausted".to_owned()), "QUOTA_EXHAUSTED"),
        (ErrorKind::Other("safety-blocked".to_owned()), "SAFETY_BLOCKED"),
        (ErrorKind::Other("context-overflow".to_owned()), "CONTEXT_OVERFLOW"),
        (ErrorKind::Other("timeout".to_owned()), "TIMEOUT"),
        (ErrorKind::Other("made up".to_owned()), "EXECUTION_ERROR"),
    ] {
        let fixture = Fixture::new().await;
        let agent = Scripted::new([Err(kind)]);
        let (ended, seconds, _) = fixture.run(&agent).await;
        assert_eq!(code(&ended.unwrap_err()), expected);
        assert_eq!((seconds, agent.purposes().len()), (0, 1), "{expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_passing_fault_is_waited_out() {
    for (kind, expected) in [
        (ErrorKind::Unavailable, 1),
        (ErrorKind::RateLimited(Some(7)), 7),
        (ErrorKind::RateLimited(None), 5),
        (ErrorKind::Other("empty-answer".to_owned()), 1),
    ] {
        let fixture = Fixture::new().await;
        let agent = Scripted::new([Err(kind), Ok(GOOD)]);
        let (ended, seconds, _) = fixture.run(&agent).await;
        assert!(ended.is_ok());
        assert_eq!(seconds, expected);
        assert_eq!(agent.purposes(), [Purpose::Answer, Purpose::Answer], "no correction");
    }
    let fixture = Fixture::new().await;
    let agent = Scripted::new([
        Err(ErrorKind::Unavailable),
        Err(ErrorKind::Unavailable),
        Err(ErrorKind::Unavailable),
    ]);
    let (ended, _, _) = fixture.run(&agent).await;
    assert_eq!(code(&ended.unwrap_err()), "UNAVAILABLE");
}

#[tokio::test(start_paused = true)]
async fn a_correction_that_fails_for_good_ends_it() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new([Ok(BAD), Err(ErrorKind::Other("quota-exhausted".to_owned()))]);
    let (ended, seconds, _) = fixture.run(&agent).await;
    assert_eq!(code(&ended.unwrap_err()), "QUOTA_EXHAUSTED");
    assert_eq!(seconds, 0);
    fixture.leaves_nothing(&agent);
}

#[tokio::test(start_paused = true)]
async fn a_correction_that_says_there_is_nothing_is_no_answer() {
    let fixture = Fixture { cycles: 1, ..Fixture::new().await };
    let nothing = r#"{"success": false, "verified": false, "report": "nothing to format"}"#;
    let agent = Scripted::new([Ok(BAD), Ok(nothing)]);
    let (ended, _, _) = fixture.run(&agent).await;
    assert_eq!(code(&ended.unwrap_err()), "EXECUTION_ERROR");
}

#[tokio::test(start_paused = true)]
async fn a_place_that_cannot_be_written_is_told_and_costs_no_second_answer() {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.directory.path().join("corrections"), "in the way").unwrap();
    let agent = Scripted::new([Ok(BAD)]);
    let (ended, _, _) = fixture.run(&agent).await;
    let error = ended.unwrap_err();
    assert!(error.to_string().contains("could not be laid down"), "{error}");
    assert_eq!(agent.purposes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_answered_before_an_interruption_is_not_paid_for_again() {
    let fixture = Fixture::new().await;
    let agent = Scripted::new([Ok(BAD), Ok(BAD), Ok(BAD), Err(ErrorKind::Auth)]);
    let (ended, _, _) = fixture.run(&agent).await;
    assert!(ended.is_err());
    let calls = fixture.store.calls(&fixture.claim.id).await.unwrap();
    let states: Vec<_> = calls.iter().map(|call| call.state).collect();
    let (answered, failed) = (CallState::Answered, CallState::Failed);
    assert_eq!(states, [answered, answered, answered, failed]);

    // Failed, and taken up again.
    let end = TaskEnd {
        ending: Ending::Failed,
        stop_reason: None,
        note: None,
        error: None,
        result: None,
        cancel_job: false,
    };
    fixture.store.finish_task(&fixture.claim, end).await.unwrap();
    let claim = fixture.store.reopen_task(&fixture.claim.id).await.unwrap();
    let recorder =
        Recorder::resumed(fixture.store.clone(), Arc::new(Prices::built_in()), claim, calls, None);
    let resumed = Fixture { recorder, ..fixture };
    let agent = Scripted::new([Ok(GOOD)]);
    let (ended, _, tokens) = resumed.run(&agent).await;
    assert_eq!(ended.unwrap().answer.report, "good");
    assert_eq!(agent.purposes(), [Purpose::Correct], "only the call that had failed is made");
    assert_eq!(tokens, 40, "what was paid for before belongs to the round");
}
