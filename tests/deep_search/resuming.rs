//! Nothing is lost when the client gives up or the server dies: the rounds are kept,
//! and resuming repeats only the one that was under way.

use std::fs::File;
use std::time::{Duration, SystemTime};

use rustix::process::{Signal, kill_process_group};
use serde_json::{Value, json};

use crate::lifecycle::assert_database_is_sound;
use crate::support::client::Client;
use crate::support::gemini_cli::{Recorded, Run};
use crate::support::researcher::{Asked, Researcher, fenced, plain_report, report, structured};

/// A server in the middle of round 2, whose first round is done, and the number of
/// its request.
fn in_round_two(user: &Researcher, second: &[Run]) -> (Client, u64) {
    user.fake.then(&Run::answers(&report("Draft", false)));
    for run in second {
        user.fake.then(run);
    }
    let mut client = user.connect();
    let id = client.begin("deep_search", json!({ "query": "How deep?", "max_iterations": 3 }));
    user.fake.wait_for_runs(1 + second.len());
    (client, id)
}

/// Whoever is killed cannot end all that the CLI has started: the test does.
fn end_the_orphans(user: &Researcher) {
    for run in user.fake.runs().iter().filter(|run| !run.ended) {
        // Gone already, where the system has ended it with the server.
        let _ = run.process.map(|leader| kill_process_group(leader, Signal::KILL));
    }
    user.fake.wait_until_all_are_gone();
}

/// What the next start shows of the task: one round, and how it stands.
fn assert_one_round_is_kept(user: &Researcher, statuses: &[&str]) -> String {
    let task = user.wait_for_status(statuses);
    assert_eq!(task["rounds"], 1, "{task:#}");
    let id = task["id"].as_str().expect("an id").to_owned();
    let shown = user.run(["show", &id, "--json"]).assert_success().json();
    assert_eq!(shown["status"], task["status"]);
    assert_eq!(shown["rounds"].as_array().map(Vec::len), Some(1), "{shown:#}");
    assert_eq!(shown["rounds"][0]["answer"], "Draft");
    let text = user.run(["show", &id]).assert_success().stdout;
    assert!(text.contains("Draft"), "{text}");
    assert_database_is_sound(&user.home);
    id
}

/// Resumes it, with one run that verifies.
fn resume(user: &Researcher, id: &str, runs_before: usize) -> (Asked, Vec<Recorded>) {
    user.fake.then(&Run::answers(&report("Checked", true)));
    let asked = user.ask("deep_search", json!({ "resume": id }));
    assert_eq!(asked.answer["success"], true, "{:#}", asked.answer);
    assert_eq!(asked.answer["task_id"], id);
    assert_eq!(asked.answer["status"], "completed");
    assert_eq!(asked.answer["result"], "Checked");
    assert_eq!(asked.answer["verified"], true);
    assert_eq!(asked.answer["metadata"]["iterations"], 2);
    let summaries: Vec<&Value> = asked.answer["metadata"]["rounds"]
        .as_array()
        .expect("rounds")
        .iter()
        .map(|round| &round["intermediate_result_summary"])
        .collect();
    assert_eq!(summaries, ["Summary of Draft", "Summary of Checked"]);
    let runs = user.fake.runs();
    assert_eq!(runs.len(), runs_before + 1, "only what was not answered is asked again");
    (asked, runs)
}

/// The run that resumed asked what the one that was cut short had asked.
fn assert_only_round_two_was_repeated(runs: &[Recorded]) {
    let [first, cut, again] = runs else { panic!("three runs: {runs:#?}") };
    assert_eq!(cut.input, again.input);
    assert_ne!(first.input, again.input);
    let prompt = again.input.as_deref().expect("a prompt");
    assert!(prompt.contains("This is round 2 of at most 3"), "{prompt}");
    assert_eq!(fenced(prompt, "RESULT"), "Draft");
}

#[test]
fn a_killed_server_has_kept_its_rounds_and_resuming_repeats_only_the_unfinished_one() {
    let user = Researcher::new();
    let (client, _) = in_round_two(&user, &[Run::hangs()]);
    client.kill();
    if cfg!(target_os = "linux") {
        // The program itself, which spends, ends with the server.
        user.fake.wait_until_all_are_gone();
    }
    end_the_orphans(&user);
    let id = assert_one_round_is_kept(&user, &["interrupted"]);
    let (asked, runs) = resume(&user, &id, 2);
    assert_only_round_two_was_repeated(&runs);
    assert_eq!(asked.log("[INFO] Deep search round 1/"), Vec::<&str>::new());
    assert_eq!(asked.log("[INFO] Deep search round 2/3...").len(), 1);
    // Once it is completed there is nothing to resume, and nothing to pay.
    let again = user.ask("deep_search", json!({ "resume": id }));
    assert_eq!(again.answer["result"], "Checked");
    assert_eq!(user.fake.runs().len(), 3);
}

#[test]
fn a_cancelled_call_has_kept_its_rounds_and_resuming_repeats_only_the_unfinished_one() {
    let user = Researcher::new();
    let (mut client, request) = in_round_two(&user, &[Run::hangs()]);
    client.notify("notifications/cancelled", json!({ "requestId": request }));
    user.wait_until_nothing_is_left();
    let id = assert_one_round_is_kept(&user, &["cancelled"]);
    drop(client);
    let (_, runs) = resume(&user, &id, 2);
    assert_only_round_two_was_repeated(&runs);
}

#[test]
fn a_client_that_goes_away_loses_no_round_and_resuming_repeats_only_the_unfinished_one() {
    let user = Researcher::new();
    let (client, _) = in_round_two(&user, &[Run::hangs()]);
    assert!(client.end().status.success());
    user.wait_until_nothing_is_left();
    let id = assert_one_round_is_kept(&user, &["cancelled", "interrupted"]);
    let (_, runs) = resume(&user, &id, 2);
    assert_only_round_two_was_repeated(&runs);
}

/// Round 2 had its answer, which was being corrected: the answer is paid for, and not
/// asked again, although its round was never saved.
#[test]
fn what_was_answered_but_not_yet_saved_is_not_asked_again() {
    let user = Researcher::new();
    let talk = Run::answers("It stands as it is; I forgot the JSON.");
    let (client, _) = in_round_two(&user, &[talk, Run::hangs()]);
    client.kill();
    end_the_orphans(&user);
    let id = assert_one_round_is_kept(&user, &["interrupted"]);
    let (asked, runs) = resume(&user, &id, 3);
    let last = runs[3].input.as_deref().expect("a prompt");
    assert!(last.contains("JSON formatter"), "only the correction is repeated:\n{last}");
    assert_eq!(runs[3].included[0].1, "It stands as it is; I forgot the JSON.");
    // The file that the dead server had left is gone.
    assert!(asked.log("[INFO] cleaned up 1 orphaned temp files").len() == 1, "{:?}", asked.ended);
    assert!(user.texts_to_correct().is_empty());
}

/// Two clients resume the same task at once: one of them works, and nothing is paid
/// for twice.
#[test]
fn two_servers_do_not_work_on_one_task() {
    let user = Researcher::new();
    let (client, _) = in_round_two(&user, &[Run::hangs()]);
    assert!(client.end().status.success());
    let id = assert_one_round_is_kept(&user, &["cancelled", "interrupted"]);
    let mut hold = user.fake.hold();
    user.fake.then(&Run::answers(&report("Checked", true)).held_by(&hold));
    let mut one = user.connect();
    let working = one.begin("deep_search", json!({ "resume": id }));
    user.fake.wait_for_runs(3);
    // Others see that it runs, and may wait for it.
    let other = user.ask("deep_search", json!({ "resume": id, "max_wait_seconds": 1 }));
    assert_eq!(other.answer["status"], "running", "{:#}", other.answer);
    let mut two = user.connect();
    let waiting = two.begin("deep_search", json!({ "resume": id }));
    hold.release();
    for answer in [one.answer(working), two.answer(waiting)] {
        assert_eq!(structured(&answer)["result"], "Checked");
    }
    assert_eq!(user.fake.runs().len(), 3);
}

/// A question is not sent elsewhere than where it was asked.
#[test]
fn a_task_is_not_resumed_with_other_backends() {
    let user = Researcher::new();
    user.fake.then(&Run::bad_key());
    let failed = user.deep_search("How deep?");
    let id = failed.answer["task_id"].as_str().expect("an id");
    let refused = user.run(["deep-search", "--docs", ".", "--resume", id]).assert_wrong_input();
    assert!(refused.stderr.contains("was served by agent-gemini-cli"), "{}", refused.stderr);
    assert_eq!(user.fake.runs().len(), 1);
}

/// One prompt is one prompt, whatever limit is named with it.
#[test]
fn a_search_that_is_resumed_stays_one_round() {
    let user = Researcher::new();
    user.fake.then(&Run::bad_key()).otherwise(&Run::answers(&plain_report("Found")));
    let failed = user.ask("search", json!({ "query": "How deep?" }));
    let id = failed.answer["task_id"].as_str().expect("an id");
    let resumed = user.ask("deep_search", json!({ "resume": id, "max_iterations": 5 }));
    assert_eq!(resumed.answer["result"], "Found", "{:#}", resumed.answer);
    assert_eq!(resumed.answer["verified"], false);
    assert_eq!(user.fake.runs().len(), 2);
}

/// What was broken off for good can be verified later, and what was not is only
/// shown.
#[test]
fn a_report_whose_verification_was_broken_off_can_be_verified_later() {
    let user = Researcher::new();
    user.fake.then(&Run::answers(&report("Draft", false))).then(&Run::bad_key());
    let unverified = user.deep_search("How deep?");
    let answer = &unverified.answer;
    assert_eq!((&answer["status"], &answer["result"]), (&json!("completed"), &json!("Draft")));
    assert_eq!(answer["stop_reason"], "round-failed");
    let note = answer["note"].as_str().expect("a note");
    assert!(note.contains("GEMINI_API_KEY") && note.contains("not verified"), "{note}");
    let id = answer["task_id"].as_str().expect("an id");

    user.fake.then(&Run::answers(&report("Checked", true)));
    for _ in 0..2 {
        let resumed = user.ask("deep_search", json!({ "resume": id }));
        assert_eq!(resumed.answer["result"], "Checked", "{:#}", resumed.answer);
        assert_eq!(resumed.answer["verified"], true);
    }
    assert_eq!(user.fake.runs().len(), 3);
}

/// Another limit than it was started with lets it go on.
#[test]
fn a_search_at_its_limit_goes_on_with_a_higher_one() {
    let user = Researcher::new();
    user.fake.otherwise(&Run::answers(&report("Draft", false)));
    let arguments = json!({ "query": "How deep?", "max_iterations": 2 });
    let stopped = user.ask("deep_search", arguments);
    let id = stopped.answer["task_id"].as_str().expect("an id");
    let shown = user.ask("deep_search", json!({ "resume": id }));
    assert_eq!(shown.answer["metadata"]["iterations"], 2);
    assert_eq!(user.fake.runs().len(), 2);
    let further = user.ask("deep_search", json!({ "resume": id, "max_iterations": 3 }));
    assert_eq!(further.answer["metadata"]["iterations"], 3, "{:#}", further.answer);
    assert_eq!(user.fake.runs().len(), 3);
}

/// A search that failed may be resumed once its cause is mended.
#[test]
fn a_failed_search_goes_on_from_its_rounds() {
    let user = Researcher::new();
    user.fake.then(&Run::bad_key());
    let failed = user.deep_search("How deep?");
    assert_eq!(failed.answer["error"]["code"], "AUTH_ERROR");
    let id = failed.answer["task_id"].as_str().expect("an id");
    user.fake
        .then(&Run::answers(&report("Draft", false)))
        .then(&Run::answers(&report("Checked", true)));
    let resumed = user.ask("deep_search", json!({ "resume": id }));
    assert_eq!(resumed.answer["result"], "Checked", "{:#}", resumed.answer);
    assert_eq!(resumed.answer["verified"], true);
    assert_eq!(user.fake.runs().len(), 3);
}

/// A killed server cannot clear up after its runs; the next one does, once they are
/// surely nobody's.
#[test]
fn what_a_killed_server_has_left_is_cleared_at_the_next_start() {
    let user = Researcher::new();
    let (client, _) = in_round_two(&user, &[Run::hangs()]);
    client.kill();
    end_the_orphans(&user);
    let left = user.temporary_entries();
    assert_eq!(left.len(), 1, "{left:?}");
    let an_hour_ago = SystemTime::now() - Duration::from_hours(1);
    File::open(&left[0]).and_then(|one| one.set_modified(an_hour_ago)).expect("a directory");
    let client = user.connect();
    user.wait_until_nothing_is_left();
    assert!(client.end().status.success());
}
