//! Calling the tools: what comes back, what is told meanwhile, and stopping.

use serde_json::{Value, json};

use crate::support::client::{LEGACY_NEW, LEGACY_OLD, MODERN, error_of, text_of};
use crate::support::documents::{Documents, HIDDEN_WORD};
use crate::support::home::Home;

#[test]
fn search_finds_the_passage_in_every_version() {
    let (home, documents) = (Home::new(), Documents::new());
    for version in [LEGACY_OLD, LEGACY_NEW, MODERN] {
        let mut client = home.serve(documents.path());
        if version == MODERN {
            client.discover();
        } else {
            client.initialize(version);
        }
        let answer = client.call_tool("search", json!({ "query": "how long are backups kept" }));
        assert_ne!(answer["result"]["isError"], true, "{answer:#}");
        let text = text_of(&answer);
        assert!(text.contains("operations.md"), "{version}: {text}");
        assert!(text.contains("35 days"), "{version}: {text}");
        assert!(client.end().status.success());
    }
}

#[test]
fn structured_content_keeps_to_the_schema_and_the_text_stands_alone() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let list = client.call("tools/list", json!({}));
    for (tool, query, file) in [
        ("search", "how does the anglerfish make its lure glow", "bioluminescence.html"),
        ("search", "which metres count as a spike in the soundings", "soundings.py"),
        ("deep_search", "why did the primary stop taking writes", "incidents.rst"),
        ("deep_search", "when do spring tides come", "tides.md"),
    ] {
        let answer = client.call_tool(tool, json!({ "query": query }));
        assert_ne!(answer["result"]["isError"], true, "{answer:#}");
        let structured = &answer["result"]["structuredContent"];
        assert!(structured.is_object(), "{tool}: {answer:#}");
        let schema = output_schema(&list, tool);
        let problems: Vec<String> = jsonschema::validator_for(schema)
            .expect("a schema")
            .iter_errors(structured)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{tool}: {problems:#?}\n{structured:#}");
        assert!(structured.to_string().contains(file), "{tool} {query:?}: {structured:#}");
        let text = text_of(&answer);
        assert!(text.contains(file), "{tool} {query:?}: the text names no source: {text}");
        assert!(
            serde_json::from_str::<Value>(&text).is_err(),
            "{tool}: the text is for reading, not a copy of the JSON: {text}"
        );
    }
}

#[test]
fn max_results_is_kept() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let one = client.call_tool("search", json!({ "query": "tide", "max_results": 1 }));
    let many = client.call_tool("search", json!({ "query": "tide", "max_results": 10 }));
    let files = |answer: &Value| {
        let text = answer["result"]["structuredContent"].to_string();
        ["tides.md", "soundings.py", "operations.md", "pressure.txt", "incidents.rst"]
            .iter()
            .filter(|name| text.contains(**name))
            .count()
    };
    assert_eq!(files(&one), 1, "{one:#}");
    assert!(files(&many) > 1, "{many:#}");
    let none = client.call_tool("search", json!({ "query": "tide", "max_results": 0 }));
    assert!(error_of(&none).contains("max_results"), "{none:#}");
}

#[test]
fn what_git_ignores_and_what_is_binary_is_not_found() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    for tool in ["search", "deep_search"] {
        let answer = client.call_tool(tool, json!({ "query": HIDDEN_WORD }));
        let text = answer["result"].to_string();
        for name in ["secret.md", "chart.png", "server.log", "underside"] {
            assert!(!text.contains(name), "{tool} found {name}: {text}");
        }
    }
}

#[test]
fn words_beyond_ascii_are_found() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let answer =
        client.call_tool("search", json!({ "query": "Wie oft werden die Gezeiten gemessen?" }));
    let text = text_of(&answer);
    assert!(text.contains("übersicht.md"), "{text}");
    assert!(text.contains("sechs Minuten"), "{text}");
}

#[test]
fn a_changed_file_is_found_by_the_next_call() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let query = json!({ "query": "colour of the harbour crane" });
    let before = client.call_tool("search", query.clone());
    assert!(!before["result"].to_string().contains("crane.md"), "{before:#}");
    documents.write("notes/crane.md", b"# Crane\n\nThe harbour crane has the colour of rust.\n");
    let after = client.call_tool("search", query);
    assert!(text_of(&after).contains("crane.md"), "{after:#}");
}

#[test]
fn bad_arguments_are_told() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    for (arguments, word) in [
        (json!({}), "query"),
        (json!({ "query": "" }), "empty"),
        (json!({ "query": "   " }), "empty"),
        (json!({ "query": 7 }), "string"),
        (json!({ "query": "tides", "max_results": "many" }), "max_results"),
        (json!({ "query": "tides", "max_results": -1 }), "max_results"),
    ] {
        let answer = client.call_tool("search", arguments.clone());
        let error = error_of(&answer);
        // serde names the field or the type; either tells the caller what to do.
        assert!(
            error.contains(word)
                || error.contains("invalid type")
                || error.contains("invalid value"),
            "{arguments}: {error}"
        );
    }
    let many =
        client.call_tool("deep_search", json!({ "query": "tides", "max_iterations": "many" }));
    assert!(!error_of(&many).is_empty());
    let unknown = client.call_tool("levitate", json!({ "query": "tides" }));
    assert!(error_of(&unknown).contains("levitate") || error_of(&unknown).contains("not found"));
    let fine = client.call_tool("search", json!({ "query": "tides" }));
    assert_ne!(fine["result"]["isError"], true, "{fine:#}");
}

#[test]
fn a_task_is_asked_for_again_by_its_id() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let question = "when do spring tides come";
    let first = client.call_tool("deep_search", json!({ "query": question }));
    let first = &first["result"]["structuredContent"];
    let id = first["task_id"].as_str().expect("an id");
    for arguments in [
        json!({ "resume": id }),
        json!({ "resume": &id[..8], "query": question, "max_wait_seconds": 60 }),
    ] {
        let again = client.call_tool("deep_search", arguments);
        let again = &again["result"]["structuredContent"];
        assert_eq!(again["task_id"], id, "{again:#}");
        assert_eq!(again["result"], first["result"], "{again:#}");
    }
    for (arguments, words) in [
        (json!({ "resume": id, "query": "why is the sea salt" }), "leave out `query`"),
        (json!({ "resume": "ffffffff-0000" }), "ffffffff-0000"),
        (json!({ "max_iterations": 3 }), "needs `query`"),
        (json!({ "query": question, "max_iterations": 1 }), "2 to 50"),
    ] {
        let answer = client.call_tool("deep_search", arguments.clone());
        assert!(error_of(&answer).contains(words), "{arguments}: {answer:#}");
        assert_eq!(answer["result"]["structuredContent"]["success"], false, "{answer:#}");
    }
}

#[test]
fn a_deep_search_is_told_on_standard_error_and_as_progress() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let id = client.request(
        "tools/call",
        json!({
            "name": "deep_search",
            "arguments": { "query": "how is a failover done", "max_iterations": 2 },
            "_meta": { "progressToken": "watch" },
        }),
    );
    let answer = client.answer(id);
    let rounds = &answer["result"]["structuredContent"]["metadata"]["iterations"];
    let mut expected = Vec::new();
    for number in 1..=rounds.as_u64().expect("rounds") {
        expected.push(format!("Deep search round {number}/2..."));
        expected.push(format!("Round {number} completed, verified: false"));
    }
    expected.push(format!("Deep search completed: {rounds} rounds, verified: false"));
    let told: Vec<String> = client
        .kept("notifications/progress")
        .iter()
        .filter_map(|message| message["params"]["message"].as_str())
        .filter(|message| message.starts_with("Deep search") || message.starts_with("Round"))
        .map(str::to_owned)
        .collect();
    assert_eq!(told, expected);
    let stderr = client.end().stderr;
    let logged: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("[INFO] "))
        .filter(|line| line.starts_with("Deep search") || line.starts_with("Round"))
        .collect();
    assert_eq!(logged, expected, "{stderr}");
    assert!(stderr.lines().all(|line| line.starts_with('[')), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "colours in a pipe: {stderr:?}");
}

#[test]
fn progress_rises_and_ends_with_the_answer() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let id = client.request(
        "tools/call",
        json!({
            "name": "deep_search",
            "arguments": { "query": "how is a failover done" },
            "_meta": { "progressToken": "watch" },
        }),
    );
    let answer = client.answer(id);
    assert_ne!(answer["result"]["isError"], true, "{answer:#}");
    let before = client.kept("notifications/progress");
    assert!(!before.is_empty(), "nothing was told while the call ran");
    let mut last = f64::NEG_INFINITY;
    for message in &before {
        let parameters = &message["params"];
        assert_eq!(parameters["progressToken"], "watch", "{message:#}");
        let progress = parameters["progress"].as_f64().expect("a number");
        assert!(progress > last, "progress fell from {last} to {progress}: {before:#?}");
        if let Some(total) = parameters["total"].as_f64() {
            assert!(progress <= total, "{message:#}");
        }
        last = progress;
    }
    let ended = client.end();
    assert!(
        ended.rest.iter().filter(|message| message["method"] == "notifications/progress").count()
            == before.len(),
        "progress after the answer: {:#?}",
        ended.rest
    );
}

#[test]
fn nothing_is_told_to_a_client_that_did_not_ask() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    client.call_tool("deep_search", json!({ "query": "how is a failover done" }));
    assert_eq!(client.kept("notifications/progress"), Vec::<Value>::new());
}

#[test]
fn a_cancelled_call_stops_and_the_server_goes_on() {
    let (home, documents) = (Home::new(), Documents::many(100));
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let long = client.request(
        "tools/call",
        json!({
            "name": "deep_search",
            "arguments": { "query": "sounding at station 42" },
            "_meta": { "progressToken": 1 },
        }),
    );
    // The first word of progress shows that the work has begun.
    client.notification("notifications/progress");
    client.notify(
        "notifications/cancelled",
        json!({ "requestId": long, "reason": "changed my mind" }),
    );
    let pong = client.call("ping", json!({}));
    assert!(pong["result"].is_object(), "{pong:#}");
    let list = client.call("tools/list", json!({}));
    assert!(list["result"]["tools"].is_array(), "{list:#}");
    let ended = client.end();
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        !ended
            .rest
            .iter()
            .any(|message| message["id"] == json!(long) && !message["result"].is_null()),
        "a cancelled request is not answered: {:#?}",
        ended.rest
    );
    let history = home.run(["history", "--json"]).assert_success().json();
    assert!(
        !history.to_string().contains("\"running\""),
        "the cancelled task is not left running: {history:#}"
    );
}

#[test]
fn calls_run_side_by_side() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let ids: Vec<u64> = (0..20)
        .map(|number| {
            let query =
                ["spring tides", "backups kept", "anglerfish lure", "quartz windows"][number % 4];
            client
                .request("tools/call", json!({ "name": "search", "arguments": { "query": query } }))
        })
        .collect();
    for (number, id) in ids.into_iter().enumerate() {
        let file =
            ["tides.md", "operations.md", "bioluminescence.html", "pressure.txt"][number % 4];
        let answer = client.answer(id);
        assert!(text_of(&answer).contains(file), "{answer:#}");
    }
    assert!(client.end().status.success());
}

fn output_schema<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["result"]["tools"]
        .as_array()
        .and_then(|tools| tools.iter().find(|tool| tool["name"] == name))
        .map(|tool| &tool["outputSchema"])
        .expect("the tool is listed")
}
