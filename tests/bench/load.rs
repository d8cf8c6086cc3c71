//! Research in the background: how quickly its tools answer with a long history, and
//! what waiting for many jobs takes.

use std::time::{Duration, Instant};

use bathysphere::store::{Ending, NewResult, NewTask, Restored, Store, TaskEnd};
use serde_json::{Value, json};

use crate::figures::{at_most, largest, left_out, median, megabytes, memory, plain, time};
use crate::support::client::Client;
use crate::support::explorer::{Explorer, ask, start, wait_for_status};
use crate::support::interactions::{Script, Until};

/// Tasks in the database.
const HISTORY: usize = 10_000;
const ASKED: usize = 2_000;

/// Tasks that run at once.
const RUNNING: usize = 200;
/// A job is looked at every fifteen seconds once it is this old.
const GROWN: Duration = Duration::from_secs(155);
const WATCHED: Duration = Duration::from_secs(45);

/// In a second, as Linux counts processor time towards programs.
const TICKS: f64 = 100.0;

pub fn run() {
    history();
    waiting();
}

/// Every tool that reads, with a long history.
fn history() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let first = start(&mut client, "What is number 0?");
    wait_for_status(&mut client, &first, "completed");
    let mut ids = vec![first.clone()];
    let database = explorer.home.data().join("bathysphere/bathysphere.sqlite3");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let began = Instant::now();
    runtime.block_on(async {
        let store = Store::open(&database);
        let model = store.result(&first).await.expect("a database").expect("a result");
        for number in 1..HISTORY {
            let id = uuid::Uuid::new_v4().to_string();
            let restored = past(&id, number, &model.outcome, &model.markdown);
            store.restore_end(restored).await.expect("it is taken in");
            ids.push(id);
        }
        store.close().await;
    });
    plain("writing 10,000 tasks", &time(began.elapsed().as_secs_f64()));
    let size = std::fs::metadata(&database).map_or(0, |metadata| metadata.len());
    plain("  the file", &megabytes(size));

    // Spread over all of them.
    let some: Vec<String> =
        (0..ASKED).map(|number| ids[number * 7919 % ids.len()].clone()).collect();
    let status =
        measure(&mut client, "check_research_status", &some, |id| json!({ "task_id": id }));
    at_most("status, the 99th of 100", &time(status.late), status.late, 5e-3, "5 ms");
    let results =
        measure(&mut client, "get_research_results", &some, |id| json!({ "task_id": id }));
    at_most("results, the 99th of 100", &time(results.late), results.late, 0.1, "100 ms");
    let few = &some[..200];
    measure(&mut client, "list_research", few, |_| json!({}));
    measure(&mut client, "list_research (1000)", &few[..20], |_| json!({ "limit": 1000 }));
    let rare = |id: &str| json!({ "query": format!("number {}", id.len() * 77) });
    measure(&mut client, "list_research (a rare word)", few, rare);
    measure(&mut client, "list_research (a word in all)", few, |_| json!({ "query": "number" }));
    if let Some(resident) = memory(client.pid(), "status", "VmRSS") {
        plain("resident memory after all that", &megabytes(resident));
    }
    client.end();
}

struct Answers {
    late: f64,
}

/// A tool is named with a remark in parentheses, if any.
fn measure(
    client: &mut Client,
    what: &str,
    ids: &[String],
    arguments: impl Fn(&str) -> Value,
) -> Answers {
    let tool = what.split(' ').next().unwrap_or(what);
    ask(client, tool, arguments(&ids[0]));
    let before = cpu(client);
    let times: Vec<Duration> = ids
        .iter()
        .map(|id| {
            let began = Instant::now();
            let answer = client.call_tool(tool, arguments(id));
            let took = began.elapsed();
            assert_ne!(answer["result"]["isError"], true, "{answer:#}");
            took
        })
        .collect();
    let mut sorted: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    sorted.sort_by(f64::total_cmp);
    let late = sorted[sorted.len() * 99 / 100];
    let shown = format!("{} / {} / {}", time(median(&times)), time(late), time(largest(&times)));
    plain(&format!("{what}: p50 / p99 / max"), &shown);
    // Unlike the times, this is the same on a busy machine.
    if let (Some(before), Some(now)) = (before, cpu(client)) {
        plain("  the server's processor time for each", &time((now - before) / ids.len() as f64));
    }
    Answers { late }
}

/// A task as it might have been.
fn past(id: &str, number: usize, outcome: &str, markdown: &str) -> Restored {
    let text = format!("What is number {number}?");
    let mut outcome: Value = serde_json::from_str(outcome).expect("an outcome is JSON");
    outcome["id"] = json!(id);
    outcome["question"]["text"] = json!(text);
    Restored {
        id: id.to_owned(),
        task: NewTask {
            tool: "start_deep_research".to_owned(),
            question: outcome["question"].to_string(),
            text,
            background: true,
            notify: false,
            deadline: None,
        },
        created_at: 1_700_000_000_000 + number as i64 * 60_000,
        finished_at: 1_700_000_000_000 + number as i64 * 60_000 + 400_000,
        end: TaskEnd {
            ending: if number.is_multiple_of(10) { Ending::Failed } else { Ending::Completed },
            stop_reason: None,
            note: None,
            error: None,
            result: Some(NewResult { outcome: outcome.to_string(), markdown: markdown.to_owned() }),
            cancel_job: false,
        },
        rounds: outcome["rounds"]
            .as_array()
            .into_iter()
            .flatten()
            .zip(1..)
            .map(|(round, number)| (number, round.to_string()))
            .collect(),
        usage: outcome["usage"].to_string(),
        cost_usd: outcome["usage"]["cost_usd"].as_f64(),
    }
}

/// Many jobs that take long.
fn waiting() {
    // Between two looks, as where nobody has configured anything.
    let explorer = Explorer::with_research("wait_seconds = 0\n");
    explorer.api.on(|_| Script::until(Until::Never));
    let mut client = explorer.connect();
    let before = memory(client.pid(), "status", "VmRSS");
    let began = Instant::now();
    for number in 0..RUNNING {
        start(&mut client, &format!("What is number {number}?"));
    }
    explorer.api.wait_for("every start", |log| log.inputs().len() == RUNNING);
    plain("starting 200 tasks", &time(began.elapsed().as_secs_f64()));
    std::thread::sleep(GROWN);
    let Some(used) = cpu(&client) else {
        return left_out("what waiting takes", "this system has no /proc");
    };
    let looks = explorer.api.log().0.len();
    std::thread::sleep(WATCHED);
    let used = cpu(&client).map_or(0.0, |now| now - used);
    let looks = explorer.api.log().0.len() - looks;
    let share = used / WATCHED.as_secs_f64();
    plain("looks at 200 jobs within 45 s", &looks.to_string());
    at_most(
        "waiting for 200 jobs, of a core",
        &format!("{:.2}%", share * 100.0),
        share,
        0.02,
        "2%",
    );
    if let (Some(before), Some(now)) = (before, memory(client.pid(), "status", "VmRSS")) {
        let shown = format!("{} ({} before)", megabytes(now), megabytes(before));
        plain("  resident memory", &shown);
    }
    client.end();
}

/// The processor time of the server so far, in seconds.
fn cpu(client: &Client) -> Option<f64> {
    let path = format!("/proc/{}/stat", client.pid().as_raw_nonzero());
    let text = std::fs::read_to_string(path).ok()?;
    // The name of the program may hold anything, but it ends with the last parenthesis.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
    Some(ticks / TICKS)
}
