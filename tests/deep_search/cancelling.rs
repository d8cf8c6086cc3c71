//! Whoever cancels ends the CLI with all that it has started, and leaves nothing
//! behind.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::gemini_cli::{Recorded, Run};
use crate::support::researcher::{Researcher, report, structured};

/// The group is gone within a second; a busy machine may need another to notice.
const PROMPT: Duration = Duration::from_secs(2);

#[test]
fn cancelling_ends_the_whole_process_group() {
    for (run, has_orphan) in
        [(Run::hangs(), false), (Run::hangs_deaf(), false), (Run::hangs_with_orphan(), true)]
    {
        let user = Researcher::new();
        user.fake.then(&run);
        let mut client = user.connect();
        let id = client.begin("deep_search", json!({ "query": "How deep?" }));
        user.fake.wait_until("it hangs", |runs| {
            runs.iter().any(|run| run.input.is_some() && run.orphan.is_some() == has_orphan)
        });
        let start = Instant::now();
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        let runs = user.wait_until_nothing_is_left();
        assert!(start.elapsed() < PROMPT, "{:?}", start.elapsed());
        assert_eq!(runs.len(), 1, "nothing more is paid for");
        assert!(!runs[0].ended);
        // The server is well, and answers the next.
        user.fake
            .then(&Run::answers(&report("Draft", false)))
            .then(&Run::answers(&report("Checked", true)));
        let next = structured(&client.call_tool("deep_search", json!({ "query": "How deep?" })));
        assert_eq!(next["result"], "Checked");
        assert!(client.end().status.success());
        assert_eq!(user.wait_for_status(&["completed"])["status"], "completed");
        assert_eq!(user.history()[1]["status"], "cancelled");
    }
}

/// A client that goes away takes the CLI with it, and so does a signal.
#[test]
fn the_end_of_the_server_is_the_end_of_the_cli() {
    for by_signal in [false, true] {
        let user = Researcher::new();
        user.fake.then(&Run::hangs_with_orphan());
        let mut client = user.connect();
        client.begin("deep_search", json!({ "query": "How deep?" }));
        user.fake.wait_until("it hangs", |runs| {
            runs.iter().any(|run| run.input.is_some() && run.orphan.is_some())
        });
        let ended = if by_signal { client.terminate() } else { client.end() };
        assert!(matches!(ended.status.code(), Some(0 | 143)), "{ended:?}");
        assert!(ended.elapsed < PROMPT, "{:?}", ended.elapsed);
        assert_eq!(user.wait_until_nothing_is_left().len(), 1);
        let task = user.history().remove(0);
        assert!(task["status"] == "cancelled" || task["status"] == "interrupted", "{task:#}");
    }
}

/// Whoever waits in the queue has spent nothing, and never will.
#[test]
fn a_call_that_is_cancelled_in_the_queue_starts_no_program() {
    let user = Researcher::with_config("[plugins.agent-gemini-cli.limits]\nconcurrency = 1\n");
    let mut hold = user.fake.hold();
    user.fake
        .when("the first question", &Run::answers(&report("Checked", true)).held_by(&hold))
        .otherwise(&Run::answers(&report("Paid for in vain", true)));
    let mut client = user.connect();
    let first = client.begin("deep_search", json!({ "query": "the first question" }));
    user.fake.wait_for_runs(1);
    let second = client.begin("deep_search", json!({ "query": "the second one" }));
    client.progress(second, |message| message.contains("queued"));
    client.notify("notifications/cancelled", json!({ "requestId": second }));
    assert_eq!(user.wait_for_status(&["cancelled"])["question"], "the second one");
    hold.release();
    assert_eq!(structured(&client.answer(first))["result"], "Checked");
    assert!(client.end().status.success());
    let runs = user.wait_until_nothing_is_left();
    let asked = |run: &Recorded| run.input.as_deref().is_some_and(|p| p.contains("the second one"));
    assert!(!runs.iter().any(asked), "{runs:#?}");
}
