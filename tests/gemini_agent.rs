//! `agent-gemini-cli` through the real process gate, with a fake CLI: how the program
//! is called, what becomes of what it says, and that nothing of it is left behind.

use std::path::Path;
use std::time::{Duration, Instant};

use bathysphere::plugins::contract::{AgentRequest, ErrorKind, Purpose};

use crate::support::agent::{AgentBackend, other, prompt};
use crate::support::gemini_cli::{FakeCli, MODEL, Run};

fn backend(fake: &FakeCli) -> AgentBackend {
    AgentBackend::gemini(&fake.path(), "", "")
}

#[tokio::test]
async fn an_answer_comes_with_queries_sources_model_usage_and_progress() {
    let fake = FakeCli::new();
    let found = [("docs.rs", "https://a.example/1"), ("crates.io", "https://a.example/2")];
    fake.then(
        &Run::new()
            .begins()
            .uses_search("rust mcp", &found)
            .uses_search("rust rmcp", &found[..1])
            .reads_page("https://b.example/page")
            .says("The answer.")
            .succeeds(),
    );
    let backend = backend(&fake);
    let reply = backend.answer(&prompt("What is rmcp?")).await.expect("an answer");
    assert_eq!(reply.text, "The answer.");
    assert_eq!(reply.queries, ["rust mcp", "rust rmcp"]);
    let urls: Vec<&str> = reply.sources.iter().map(|source| source.url.as_str()).collect();
    assert_eq!(urls, ["https://a.example/1", "https://a.example/2", "https://b.example/page"]);
    assert_eq!(reply.sources[0].title, "docs.rs");
    assert_eq!(reply.model.as_deref(), Some(MODEL));
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (1000, 70));
    assert_eq!((reply.usage.searches, reply.usage.pages), (2, 1));
    assert_eq!(
        backend.progress(),
        [
            "the Gemini CLI is at work",
            "searching \"rust mcp\"",
            "searching \"rust rmcp\"",
            "read https://b.example/page",
            "writing, 5 characters so far",
        ]
    );
}

#[tokio::test]
async fn the_program_is_called_in_an_empty_directory_with_the_prompt_on_its_input() {
    let fake = FakeCli::new();
    fake.otherwise(&Run::answers("yes"));
    let backend = backend(&fake);
    let question = "What is rmcp?\n--yolo $HOME `id` é";
    backend.answer(&prompt(question)).await.expect("an answer");
    let run = fake.runs().remove(0);
    assert_eq!(run.input.as_deref(), Some(question));
    assert_eq!(run.files, Vec::<String>::new());
    assert!(!run.arguments.iter().any(|argument| argument.contains("rmcp")));
    assert_eq!(run.argument("-o"), Some("stream-json"));
    assert_eq!(run.argument("--allowed-mcp-server-names"), Some("none"));
    assert_eq!(run.argument("--model"), None);
    assert_eq!(run.argument("--include-directories"), None);
    let own = |name: &str| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
    let granted = |name: &str| !name.ends_with("PROXY") && !name.ends_with("proxy");
    let names: Vec<&str> = run
        .environment
        .iter()
        .map(String::as_str)
        .filter(|name| own(name) && granted(name))
        .filter(|name| !name.starts_with("GOOGLE_") && *name != "NODE_EXTRA_CA_CERTS")
        .filter(|name| *name != "GEMINI_API_KEY")
        .collect();
    assert_eq!(
        names,
        [
            "GEMINI_CLI_NO_RELAUNCH",
            "GEMINI_CLI_TRUST_WORKSPACE",
            "GEMINI_SYSTEM_MD",
            "HOME",
            "NO_COLOR",
            "PATH",
            "TMPDIR"
        ]
    );
    // Home and working directory are private, and gone.
    assert_ne!(run.home, run.working_directory);
    fake.wait_until("its directories are removed", |runs| {
        !runs[0].home.exists() && !runs[0].working_directory.exists()
    });
}

#[tokio::test]
async fn each_purpose_has_its_model() {
    let fake = FakeCli::new();
    fake.otherwise(&Run::answers("yes"));
    let settings = "model = 'gemini-main'\ncorrection_model = 'gemini-correction'";
    let backend = AgentBackend::gemini(&fake.path(), settings, "");
    let correct = AgentRequest { purpose: Purpose::Correct, ..prompt("correct it") };
    let one = backend.answer(&prompt("answer it")).await.expect("an answer");
    let other = backend.answer(&correct).await.expect("an answer");
    assert_eq!(one.model.as_deref(), Some("gemini-main"));
    assert_eq!(other.model.as_deref(), Some("gemini-correction"));
    let named: Vec<Option<String>> =
        fake.runs().iter().map(|run| run.argument("--model").map(str::to_owned)).collect();
    assert_eq!(named, [Some("gemini-main".to_owned()), Some("gemini-correction".to_owned())]);
}

#[tokio::test]
async fn a_file_of_the_request_can_be_read_by_the_program() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("temp-invalid-output-1763160000.txt");
    std::fs::write(&file, "{broken").expect("a file");
    let fake = FakeCli::new();
    fake.then(&Run::answers("{}"));
    let path = file.to_str().expect("UTF-8").to_owned();
    let request = AgentRequest {
        purpose: Purpose::Correct,
        files: vec![(path.clone(), b"{broken".to_vec())],
        ..prompt(&format!("read {path}"))
    };
    backend(&fake).answer(&request).await.expect("an answer");
    let run = fake.runs().remove(0);
    assert_eq!(run.argument("--include-directories"), place.path().to_str());
    let name = "temp-invalid-output-1763160000.txt".to_owned();
    assert_eq!(run.included, [(name, "{broken".to_owned())]);
}

#[tokio::test]
async fn every_failure_has_its_kind_and_a_hint() {
    let kinds = [
        (Run::bad_key(), ErrorKind::Auth),
        (Run::model_not_found(), other("model-not-found")),
        (Run::daily_quota(), other("quota-exhausted")),
        (Run::rate_limited(30), ErrorKind::RateLimited(Some(30))),
        (Run::overloaded(), ErrorKind::Unavailable),
        (Run::internal_error(), ErrorKind::Unavailable),
        (Run::empty(), other("empty-answer")),
        (Run::safety_block(), other("safety-blocked")),
        (Run::context_overflow(), other("context-overflow")),
        (Run::dies(9), ErrorKind::Unavailable),
        (Run::new().exits(0), ErrorKind::Unavailable),
        (Run::new().complains("Error: the pump is broken\n").exits(3), other("cli-failed")),
        (Run::new().complains("env: 'node': No such file\n").exits(127), other("cli-not-found")),
        (Run::floods(), other("too-large")),
        (Run::floods_error_output(), other("too-large")),
        (Run::endless_line(), other("too-large")),
    ];
    let fake = FakeCli::new();
    let backend = backend(&fake);
    for (run, kind) in &kinds {
        fake.then(run);
        let question = "a question that no error may repeat";
        let error = AgentBackend::failed(backend.answer(&prompt(question)).await);
        assert_eq!(&error.kind, kind, "{run:?}: {error}");
        assert!(error.hint.is_some(), "{error}");
        assert!(error.message.len() < 300 && !error.message.contains(question), "{error}");
    }
    assert_eq!(fake.wait_until_all_are_gone().len(), kinds.len());
}

#[tokio::test]
async fn a_program_that_is_not_installed_is_told_with_instructions() {
    let backend = AgentBackend::gemini(Path::new("/nonexistent/gemini"), "", "");
    let error = AgentBackend::failed(backend.answer(&prompt("hello")).await);
    assert_eq!(error.kind, other("cli-not-found"));
    let hint = error.hint.expect("a hint");
    assert!(hint.contains("npm install -g @google/gemini-cli") && hint.contains("--docs DIR"));
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_ended() {
    let fake = FakeCli::new();
    fake.then(&Run::hangs_with_orphan());
    let backend = AgentBackend::gemini(&fake.path(), "timeout_seconds = 1", "");
    let error = AgentBackend::failed(backend.answer(&prompt("hello")).await);
    assert_eq!(error.kind, other("timeout"));
    assert_eq!(error.message, "the Gemini CLI did not end within 1 s");
    fake.wait_until_all_are_gone();
}

/// Giving up drops the call, and with it the program and all it started.
#[tokio::test]
async fn a_call_that_is_dropped_ends_the_whole_group() {
    for run in [Run::hangs(), Run::hangs_deaf(), Run::hangs_with_orphan()] {
        let fake = FakeCli::new();
        fake.then(&run);
        let backend = backend(&fake);
        let request = prompt("hello");
        let call = backend.answer(&request);
        let started = tokio::task::spawn_blocking(move || {
            fake.wait_until("it hangs", |runs| {
                runs.iter().any(|run| run.input.is_some() && run.is_running())
            });
            fake
        });
        let fake = tokio::select! {
            outcome = call => panic!("it ended by itself: {outcome:?}"),
            fake = started => fake.expect("no panic"),
        };
        let start = Instant::now();
        let runs = fake.wait_until_all_are_gone();
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        assert!(!runs[0].ended);
        fake.wait_until("its directories are removed", |runs| !runs[0].home.exists());
    }
}

/// More calls than places: as many programs at once as the limit says, the rest after
/// them.
#[tokio::test(flavor = "multi_thread")]
async fn programs_at_once_are_limited() {
    let fake = FakeCli::new();
    let mut hold = fake.hold();
    fake.otherwise(&Run::answers("yes").held_by(&hold));
    let backend = std::sync::Arc::new(AgentBackend::gemini(&fake.path(), "", "concurrency = 3"));
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let backend = backend.clone();
            tokio::spawn(
                async move { backend.answer(&prompt(&format!("question {number}"))).await },
            )
        })
        .collect();
    let (fake, running) = tokio::task::spawn_blocking(move || {
        let runs = fake.wait_for_runs(3);
        (fake, runs.len())
    })
    .await
    .expect("no panic");
    assert_eq!(running, 3);
    // The others are seen to wait.
    let waiting = "queued: agent-gemini-cli runs 3 at once";
    let seen = |told: &String| told.starts_with(waiting);
    assert!(backend.progress().iter().any(seen), "{:?}", backend.progress());
    hold.release();
    for call in calls {
        assert_eq!(call.await.expect("no panic").expect("an answer").text, "yes");
    }
    let runs = fake.wait_until_all_are_gone();
    assert_eq!(runs.len(), 50);
    let mut inputs: Vec<_> = runs.iter().filter_map(|run| run.input.clone()).collect();
    inputs.sort();
    inputs.dedup();
    assert_eq!(inputs.len(), 50, "each had its own prompt");
    assert!(runs.iter().all(|run| run.ended && !run.home.exists()));
}
