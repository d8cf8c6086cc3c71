//! `research-gemini` through the real http gate, against a stand-in of the
//! Interactions API; and that stand-in against Google's own SDK, so that it is known
//! to speak what the vendor speaks.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bathysphere::plugins::contract::{ErrorKind, JobStatus};

use crate::support::interactions::{
    Ending, Fault, Interactions, KEY, Script, Until, WRONG_KEY, What,
};
use crate::support::packages::python_environment;
use crate::support::program::run;
use crate::support::research_backend::{ResearchBackend, kind};

fn backend(api: &Interactions) -> ResearchBackend {
    ResearchBackend::gemini(&api.url(), Some(KEY), "")
}

fn other(name: &str) -> ErrorKind {
    ErrorKind::Other(name.to_owned())
}

#[tokio::test]
async fn a_question_is_started_watched_and_read() {
    let api = Interactions::start();
    api.on(|_| Script::until(Until::Polls(2)));
    let backend = backend(&api);
    let started = backend.start("What is a TPU?").await.expect("started");
    assert_eq!((&started.status, started.progress.len()), (&JobStatus::Running, 0));
    let id = started.id;

    let mut seen = 0;
    for _ in 0..2 {
        let job = backend.poll(&id).await.expect("a job");
        assert_eq!((&job.status, &job.report), (&JobStatus::Running, &None));
        assert!(job.progress.len() > seen, "{:?}", job.progress);
        seen = job.progress.len();
    }
    let job = backend.poll(&id).await.expect("a job");
    assert_eq!(job.status, JobStatus::Completed);
    assert_eq!(
        job.progress[..3],
        [
            "Looking into part 1: I compare what is said about it: What is a TPU?",
            "searching \"What is a TPU? 1\", \"site1.example review\"",
            "reading https://site1.example/pages/1",
        ]
    );
    let report = job.report.expect("a report");
    assert!(report.starts_with("# What is a TPU?\n\n") && report.contains("[cite: 1, 2]"));
    assert_eq!(job.citations.len(), 5);
    for citation in &job.citations {
        let words = report.get(citation.start as usize..citation.end as usize);
        let words = words.expect("whole characters");
        assert!(words.starts_with("Finding ") && words.ends_with(" well supported"), "{words}");
        assert!(job.sources.contains(&citation.source));
    }
    // Three that are cited, and two that were read.
    assert_eq!(job.sources.len(), 5);
    assert_eq!((job.usage.input_tokens, job.usage.output_tokens), (250_000, 60_000));
    assert_eq!((job.usage.searches, job.usage.pages), (4, 2));

    backend.delete(&id).await.expect("deleted");
    assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Expired);
    backend.delete(&id).await.expect("as gone as before");
    let log = api.log();
    assert_eq!((log.creates("What is a TPU?"), log.polls(&id), log.deletes(&id)), (1, 4, 2));
    assert_eq!(log.complaints(), [""; 0]);
}

#[tokio::test]
async fn a_cancel_ends_it_at_the_vendor() {
    let api = Interactions::start();
    let backend = backend(&api);
    let id = backend.start("q stand-in:never").await.expect("started").id;
    assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Running);
    let job = backend.cancel(&id).await.expect("cancelled");
    assert_eq!(job.status, JobStatus::Cancelled);
    assert!(job.usage.input_tokens > 0, "what it cost is known: {:?}", job.usage);
    assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Cancelled);
    assert_eq!(backend.cancel(&id).await.expect("again").status, JobStatus::Cancelled);

    // One that had ended stays what it was; one that the vendor will not end goes on.
    let id = backend.start("q stand-in:at-once").await.expect("started").id;
    assert_eq!(backend.cancel(&id).await.expect("a job").status, JobStatus::Completed);
    let id = backend.start("q stand-in:never stand-in:refuse-cancel").await.expect("started").id;
    assert_eq!(kind(backend.cancel(&id).await), ErrorKind::InvalidInput);
    assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Running);
    api.forget(&id);
    assert_eq!(backend.cancel(&id).await.expect("a job").status, JobStatus::Expired);
    assert_eq!(api.log().cancels(&id), 2);
}

#[tokio::test]
async fn whether_a_start_was_taken_is_told_rightly() {
    let api = Interactions::start();
    let backend = ResearchBackend::gemini(&api.url(), Some(KEY), "start_timeout_seconds = 2");
    // The promise that nothing was started is kept.
    for (fault, expected) in [
        (Fault::Status(400), ErrorKind::InvalidInput),
        (Fault::Status(401), ErrorKind::Auth),
        (Fault::Status(403), ErrorKind::Auth),
        (Fault::Status(404), ErrorKind::NotFound),
        (Fault::Status(413), ErrorKind::InvalidInput),
        (Fault::RateLimited(7), ErrorKind::RateLimited(Some(7))),
        (Fault::RetryInfo(34), ErrorKind::RateLimited(Some(34))),
    ] {
        let input = format!("{fault:?}");
        api.on(move |_| Script::create(fault.clone()));
        assert_eq!(kind(backend.start(&input).await), expected, "{input}");
        assert_eq!((api.log().creates(&input), api.log().ids(&input).len()), (1, 0));
        // So it may be started again.
        assert_eq!(backend.start(&input).await.expect("started").status, JobStatus::Running);
    }
    // Where it is not known, nothing is promised, and nothing is sent again.
    for (fault, expected, taken) in [
        (Fault::Status(500), ErrorKind::Unavailable, 0),
        (Fault::Status(503), ErrorKind::Unavailable, 0),
        (Fault::TakenThen(500), ErrorKind::Unavailable, 1),
        (Fault::CutBefore, ErrorKind::Unavailable, 0),
        (Fault::CutAfter, ErrorKind::Unavailable, 1),
        (Fault::CutMiddle, ErrorKind::Unavailable, 1),
        (Fault::Hang, other("timeout"), 1),
        (Fault::Says("{\"id\":".to_owned()), ErrorKind::Unavailable, 1),
        (Fault::Says(String::new()), ErrorKind::Unavailable, 1),
        (Fault::WrongTypes, ErrorKind::Unavailable, 1),
        (Fault::Huge(17 << 20), other("too-large"), 1),
    ] {
        let input = format!("{fault:?}");
        api.on(move |_| Script::create(fault.clone()));
        assert_eq!(kind(backend.start(&input).await), expected, "{input}");
        assert_eq!((api.log().creates(&input), api.log().ids(&input).len()), (1, taken), "{input}");
    }
    assert_eq!(api.log().complaints(), [""; 0]);
}

#[tokio::test]
async fn without_a_way_or_a_key_nothing_is_started() {
    let api = Interactions::start();
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let unreachable = ResearchBackend::gemini(&nobody, Some(KEY), "");
    assert_eq!(kind(unreachable.start("q").await), other("not-sent"));
    let unreachable = ResearchBackend::gemini(&nobody.replace("http:", "https:"), Some(KEY), "");
    assert_eq!(kind(unreachable.start("q").await), other("not-sent"));
    let without = ResearchBackend::gemini(&api.url(), None, "");
    assert_eq!(kind(without.start("q").await), ErrorKind::Auth);
    assert!(api.log().0.is_empty());
    let wrong = ResearchBackend::gemini(&api.url(), Some(WRONG_KEY), "");
    assert_eq!(kind(wrong.start("q").await), ErrorKind::Auth);
    assert_eq!((api.log().creates("q"), api.log().0[0].what), (0, What::Wrong));
    let unknown = ResearchBackend::gemini(&api.url(), Some(KEY), "agent = 'deep-thought'");
    assert_eq!(kind(unknown.start("q").await), ErrorKind::NotFound);
    for agent in ["deep-research-pro-preview-12-2025", "deep-research-max-preview-04-2026"] {
        let other = ResearchBackend::gemini(&api.url(), Some(KEY), &format!("agent = '{agent}'"));
        let job = other.start(agent).await.expect("started");
        assert!(job.extra.contains(&("model".to_owned(), agent.to_owned())));
    }
}

#[tokio::test]
async fn a_poll_survives_what_servers_do() {
    let api = Interactions::start();
    let backend = ResearchBackend::gemini(&api.url(), Some(KEY), "timeout_seconds = 2");
    let faults = [
        (Fault::Status(500), ErrorKind::Unavailable),
        (Fault::Status(401), ErrorKind::Auth),
        (Fault::RateLimited(3), ErrorKind::RateLimited(Some(3))),
        (Fault::CutBefore, ErrorKind::Unavailable),
        (Fault::CutMiddle, ErrorKind::Unavailable),
        (Fault::Says("<html>".to_owned()), ErrorKind::Unavailable),
        (Fault::OtherId, ErrorKind::Unavailable),
        (Fault::WrongTypes, ErrorKind::Unavailable),
        (Fault::Huge(17 << 20), other("too-large")),
        (Fault::Hang, other("timeout")),
    ];
    let script: Vec<Fault> = faults.iter().map(|(fault, _)| fault.clone()).collect();
    api.on(move |_| Script { until: Until::Polls(0), ..Script::polls(script.clone()) });
    let id = backend.start("q").await.expect("started").id;
    for (fault, expected) in faults {
        assert_eq!(kind(backend.poll(&id).await), expected, "{fault:?}");
    }
    assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Completed);
}

#[tokio::test]
async fn every_ending_is_told() {
    let api = Interactions::start();
    let backend = backend(&api);
    let status = |word: &str, written| Ending::Status(word.to_owned(), written);
    for (ending, expected, error) in [
        (Ending::Completed, JobStatus::Completed, None),
        (Ending::Empty, JobStatus::Failed, Some(other("empty-answer"))),
        (
            Ending::Failed("internal_error".into(), "It broke.".into()),
            JobStatus::Failed,
            Some(ErrorKind::Unavailable),
        ),
        (
            Ending::Failed(429.into(), String::new()),
            JobStatus::Failed,
            Some(ErrorKind::RateLimited(None)),
        ),
        (status("cancelled", false), JobStatus::Cancelled, None),
        (status("incomplete", true), JobStatus::Completed, None),
        (status("incomplete", false), JobStatus::Failed, Some(other("incomplete"))),
        (status("budget_exceeded", true), JobStatus::Completed, None),
        (status("requires_action", false), JobStatus::Other("requires_action".into()), None),
        (status("pondering", true), JobStatus::Other("pondering".into()), None),
        (Ending::Gone(404), JobStatus::Expired, Some(ErrorKind::NotFound)),
        (Ending::Gone(403), JobStatus::Expired, Some(ErrorKind::NotFound)),
    ] {
        let input = format!("{ending:?}");
        let told = ending.clone();
        api.on(move |_| Script { until: Until::Polls(0), ..Script::ending(told.clone()) });
        let id = backend.start(&input).await.expect("started").id;
        let job = backend.poll(&id).await.expect("a job");
        assert_eq!((job.status, job.error.map(|error| error.kind)), (expected, error), "{input}");
    }
}

#[tokio::test]
async fn many_at_once_are_no_trouble() {
    const MANY: usize = 250;
    let api = Interactions::start();
    let backend = backend(&api);
    let started = Instant::now();
    let mut ids = tokio::task::JoinSet::new();
    let backend = std::sync::Arc::new(backend);
    for number in 0..MANY {
        let backend = std::sync::Arc::clone(&backend);
        ids.spawn(async move {
            let input = format!("q{number} stand-in:polls=2");
            let id = backend.start(&input).await.expect("started").id;
            for _ in 0..2 {
                assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Running);
            }
            assert_eq!(backend.poll(&id).await.expect("a job").status, JobStatus::Completed);
            (input, id)
        });
    }
    let all = ids.join_all().await;
    let log = api.log();
    for (input, id) in all {
        assert_eq!(log.ids(&input), std::slice::from_ref(&id));
        assert_eq!(log.polls(&id), 3);
    }
    assert_eq!(log.inputs().len(), MANY);
    assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
}

#[test]
fn googles_own_sdk_speaks_with_the_stand_in() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/gemini");
    let python = match python_environment("google-genai", &tests.join("requirements.txt")) {
        Ok(python) => python,
        Err(reason) => {
            assert!(
                std::env::var_os("CI").is_none_or(|value| value != "true"),
                "google-genai cannot be installed: {reason}"
            );
            eprintln!("skipped: google-genai cannot be installed: {reason}");
            return;
        }
    };
    let api = Interactions::start();
    let finished = run(Command::new(python)
        .arg("-W")
        .arg("error::pydantic.warnings.PydanticDeprecationWarning")
        .arg(tests.join("interactions_client.py"))
        .arg(api.url())
        .env_remove("GOOGLE_API_KEY")
        .env_remove("GOOGLE_GEMINI_BASE_URL")
        .env("GEMINI_API_KEY", KEY))
    .assert_success();
    let log = api.log();
    assert_eq!(log.complaints(), [""; 0], "{}", finished.stderr);
    let inputs = log.inputs();
    assert_eq!(inputs.len(), 3, "{inputs:?}");
    let id = &log.ids(&inputs[0])[0];
    // The last of them finds nothing.
    assert_eq!((log.polls(id), log.deletes(id)), (5, 1));
    assert_eq!(log.cancels(&log.ids(&inputs[1])[0]), 1);
}
