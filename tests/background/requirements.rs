//! The functional requirements of the specification. FR-002 (one `server.py`),
//! FR-005's `__version__` and FR-009 (asyncio) are about Python; what they are for
//! holds here too, and is tried where it can be.

use std::fs;

use serde_json::{Value, json};

use crate::support::explorer::{
    Explorer, PATIENTLY, ask, assert_error, cancel, list, results, start, status, wait_for_status,
    wait_until,
};
use crate::support::interactions::{Script, Until, What};
use crate::support::program;

const QUESTION: &str = "How do tide tables compare?";

/// The six of the specification, and what each takes.
const TOOLS: [(&str, &[&str]); 6] = [
    ("start_deep_research", &["query", "enable_notifications", "max_wait_hours", "model"]),
    ("check_research_status", &["task_id"]),
    ("get_research_results", &["task_id", "include_sources"]),
    ("cancel_research", &["task_id", "save_partial"]),
    ("estimate_research_cost", &["query"]),
    (
        "save_research_to_markdown",
        &["task_id", "output_dir", "filename_prefix", "include_metadata", "include_sources"],
    ),
];

fn tools(explorer: &Explorer) -> Vec<Value> {
    let list = explorer.connect().call("tools/list", json!({}));
    list["result"]["tools"].as_array().expect("tools").clone()
}

fn named<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is missing"))
}

#[test]
fn fr_001_there_are_six_tools_that_take_what_the_specification_says() {
    let explorer = Explorer::new();
    let tools = tools(&explorer);
    for (name, takes) in TOOLS {
        let tool = named(&tools, name);
        let properties = tool["inputSchema"]["properties"].as_object().expect("properties");
        for argument in takes {
            assert!(properties.contains_key(*argument), "{name} does not take {argument}");
        }
        // Only the first is needed: all others have a default.
        assert_eq!(tool["inputSchema"]["required"], json!([takes[0]]), "{name}");
        assert!(tool["outputSchema"]["properties"]["success"].is_object(), "{name}");
    }
    named(&tools, "list_research");
}

#[test]
fn fr_001_what_the_tools_return_keeps_to_their_schemas() {
    let explorer = Explorer::who_waits(PATIENTLY);
    let tools = tools(&explorer);
    explorer.api.on(|input| match input {
        QUESTION => Script::default(),
        _ => Script::failed("internal_error", "It broke."),
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let failed = start(&mut client, "It fails?");
    let calls = [
        ("start_deep_research", json!({ "query": "Again?" })),
        ("start_deep_research", json!({ "query": "" })),
        ("check_research_status", json!({ "task_id": id })),
        ("check_research_status", json!({ "task_id": failed })),
        ("check_research_status", json!({ "task_id": "nobody" })),
        ("get_research_results", json!({ "task_id": id })),
        ("get_research_results", json!({ "task_id": failed, "offset": 5, "limit": 5 })),
        ("cancel_research", json!({ "task_id": id })),
        ("estimate_research_cost", json!({ "query": QUESTION })),
        ("estimate_research_cost", json!({ "query": "" })),
        ("save_research_to_markdown", json!({ "task_id": id })),
        ("save_research_to_markdown", json!({ "task_id": failed })),
        ("list_research", json!({})),
        ("list_research", json!({ "limit": 0 })),
    ];
    for (tool, arguments) in calls {
        let answer = client.call_tool(tool, arguments.clone());
        let structured = &answer["result"]["structuredContent"];
        let validator =
            jsonschema::validator_for(&named(&tools, tool)["outputSchema"]).expect("a schema");
        let problems: Vec<String> = validator
            .iter_errors(structured)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{tool} {arguments}: {problems:#?}\n{structured:#}");
    }
}

/// The whole product is one file, and needs nothing beside it.
#[test]
fn fr_002_one_program_is_all_there_is() {
    let explorer = Explorer::new();
    let printed = explorer.run(["start", "--wait", QUESTION]).assert_success();
    assert!(printed.stdout.contains("Finding 3"), "{}", printed.transcript());
    let mut left: Vec<String> = fs::read_dir(explorer.home.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["bathysphere"]);
    assert_eq!(fs::read_dir(explorer.home.work()).unwrap().count(), 0);
}

#[test]
fn fr_003_without_the_vendor_everything_else_works() {
    let mut explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    client.kill();
    explorer = explorer.offline();
    let mut client = explorer.connect();
    assert_eq!(status(&mut client, &id)["status"], "completed");
    assert_eq!(results(&mut client, &id)["success"], true);
    assert_error(&cancel(&mut client, &id), "ALREADY_ENDED", &[]);
    for (tool, arguments) in [
        ("estimate_research_cost", json!({ "query": QUESTION })),
        ("save_research_to_markdown", json!({ "task_id": id })),
        ("list_research", json!({})),
    ] {
        let answer = ask(&mut client, tool, arguments);
        assert_eq!(answer["success"], true, "{tool}: {answer:#}");
    }
    let refused = start(&mut client, "And now?");
    let told = wait_for_status(&mut client, &refused, "failed");
    assert_eq!(told["failure"]["code"], "UNAVAILABLE", "{told:#}");
}

#[test]
fn fr_004_every_tool_says_what_to_use_it_for() {
    let explorer = Explorer::new();
    for tool in tools(&explorer) {
        let name = tool["name"].as_str().unwrap();
        let description = tool["description"].as_str().unwrap();
        for words in ["Use it for:", "Do not use it for:"] {
            assert!(description.contains(words), "{name}: {description}");
        }
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let words = schema["description"].as_str().unwrap_or_default();
            assert!(words.len() > 10, "{name} does not say what {argument} is");
        }
    }
}

#[test]
fn fr_005_the_version_is_told_to_clients_and_users_alike() {
    let explorer = Explorer::new();
    let mut client = crate::support::client::Client::start(explorer.command(["serve"]));
    let info = client.initialize(crate::support::client::LEGACY_NEW);
    let version = info["serverInfo"]["version"].as_str().expect("a version").to_owned();
    let printed = explorer.run(["--version"]).assert_success();
    assert!(printed.stdout.contains(&version), "{version}: {}", printed.transcript());
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}

#[test]
fn fr_006_research_that_is_not_done_in_time_goes_async_by_itself() {
    let explorer = Explorer::who_waits(4.0);
    explorer.api.on(|input| match input {
        "At once?" => Script::until(Until::AtOnce),
        "Soon?" => Script::until(Until::Polls(2)),
        _ => Script::until(Until::Released),
    });
    let mut client = explorer.connect();
    for (question, mode, stands) in [
        ("At once?", "sync", "completed"),
        ("Soon?", "sync", "completed"),
        ("Later?", "async", "running_async"),
    ] {
        let started = ask(&mut client, "start_deep_research", json!({ "query": question }));
        assert_eq!((&started["mode"], &started["status"]), (&json!(mode), &json!(stands)));
        let id = started["task_id"].as_str().unwrap();
        explorer.api.release(question);
        wait_for_status(&mut client, id, "completed");
        assert_eq!(results(&mut client, id)["metadata"]["mode"], mode, "{question}");
    }
}

#[test]
fn fr_008_the_state_of_research_is_in_sqlite_while_it_runs() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Never));
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let job = explorer.wait_for_looks(QUESTION, 1);
    wait_until(&mut client, &id, "a page", |told| told["progress"]["pages_read"] == 2);
    let (text, stands, notify, created, updated, kept, state): (
        String,
        String,
        bool,
        i64,
        i64,
        String,
        String,
    ) = explorer
        .database()
        .query_row(
            "SELECT text, status, notify, created_at, tasks.updated_at, job_id, state
             FROM tasks JOIN jobs ON task_id = id WHERE id = ?1",
            [&id],
            |row| {
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    row.get(4)?,
                    row.get(5)?,
                    row.get(6)?,
                ))
            },
        )
        .unwrap();
    assert_eq!((text.as_str(), stands.as_str(), notify), (QUESTION, "running", true));
    assert!(created <= updated);
    assert_eq!(kept, job);
    assert!(state.contains("site2.example"), "what was found so far: {state}");
}

/// The intent is on the disk before anything is sent: the vendor asks the database.
#[test]
fn fr_008_a_start_is_written_down_before_it_is_sent() {
    let explorer = Explorer::new();
    let path = explorer.home.data().join("bathysphere/bathysphere.sqlite3");
    let (sender, seen) = std::sync::mpsc::channel();
    let sender = std::sync::Mutex::new(sender);
    explorer.api.on(move |_| {
        let open: i64 = rusqlite::Connection::open(&path)
            .and_then(|database| {
                let query =
                    "SELECT count(*) FROM calls WHERE function = 'start' AND state = 'sent'";
                database.query_row(query, [], |row| row.get(0))
            })
            .unwrap_or(-1);
        sender.lock().unwrap().send(open).unwrap();
        Script::default()
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    assert_eq!(seen.recv_timeout(program::DEADLINE), Ok(1));
    wait_for_status(&mut client, &id, "completed");
}

#[test]
fn fr_010_a_template_of_the_users_makes_the_file() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    let templates = explorer.home.path().join("config/bathysphere/templates");
    fs::create_dir_all(&templates).unwrap();
    fs::write(templates.join("research_report.md"), "My own: {{ title }}\n").unwrap();
    let asked = explorer.api.log().0.len();
    let saved = ask(&mut client, "save_research_to_markdown", json!({ "task_id": id }));
    assert_eq!(saved["success"], true, "{saved:#}");
    let text = fs::read_to_string(saved["file_path"].as_str().unwrap()).unwrap();
    assert!(text.starts_with("My own: "), "{text}");
    assert_eq!(explorer.api.log().0.len(), asked, "no model is asked");
    // One that is broken says where.
    fs::write(templates.join("research_report.md"), "{% if %}").unwrap();
    let broken = ask(&mut client, "save_research_to_markdown", json!({ "task_id": id }));
    assert_eq!(broken["success"], false, "{broken:#}");
    assert!(broken["error"]["message"].as_str().unwrap().contains("research_report.md"));
}

#[test]
fn fr_011_a_start_is_one_request_to_the_interactions_api_as_google_documents_it() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    wait_for_status(&mut client, &id, "completed");
    // The stand-in takes only what the vendor takes: fields, types, headers.
    let log = explorer.api.log();
    assert_eq!(log.complaints(), [""; 0]);
    let creates: Vec<_> = log.0.iter().filter(|entry| entry.what == What::Create).collect();
    assert_eq!(creates.len(), 1);
    assert_eq!(&*creates[0].input, QUESTION, "the question goes as it was asked");
    assert_eq!(creates[0].agent.as_deref(), Some("deep-research-preview-04-2026"));
    assert!(log.polls(&log.ids(QUESTION)[0]) > 0);
}

#[test]
fn fr_012_tokens_and_costs_are_told_everywhere() {
    let explorer = Explorer::new();
    explorer.api.on(|input| match input {
        QUESTION => Script::default(),
        _ => Script { tells_usage: true, ..Script::until(Until::Never) },
    });
    let mut client = explorer.connect();
    let id = start(&mut client, QUESTION);
    let told = wait_for_status(&mut client, &id, "completed");
    let tokens = json!({ "input": 250_000, "output": 60_000 });
    assert_eq!(told["tokens_used"], tokens);
    // 100,000 new and 150,000 cached tokens read, 60,000 written and four searches.
    let cost = told["cost_so_far"].as_f64().unwrap();
    assert!((0.9..1.1).contains(&cost), "{cost}");
    let read = results(&mut client, &id);
    assert_eq!(read["metadata"]["tokens_used"], tokens);
    assert_eq!(read["metadata"]["cost_usd"], told["cost_so_far"]);
    let listed = list(&mut client, json!({}));
    assert_eq!(listed["tasks"][0]["cost_usd"], told["cost_so_far"]);
    let costs = explorer.run(["costs", "--json"]).assert_success().json();
    assert_eq!(costs["total"]["cost_usd"], told["cost_so_far"], "{costs:#}");
    assert_eq!(costs["total"]["input_tokens"], 250_000);
    assert_eq!(costs["total"]["searches"], 4);

    let other = start(&mut client, "And this?");
    wait_until(&mut client, &other, "a cost", |told| told["tokens_used"]["input"] == 250_000);
    let cancelled = cancel(&mut client, &other);
    assert_eq!((&cancelled["vendor"], &cancelled["tokens_used"]), (&json!("told"), &tokens));
    let costs = explorer.run(["costs", "--json"]).assert_success().json();
    let both = cost + cancelled["cost_usd"].as_f64().unwrap();
    let total = costs["total"]["cost_usd"].as_f64().unwrap();
    assert!((total - both).abs() < 1e-6, "{costs:#} {cancelled:#}");
}
