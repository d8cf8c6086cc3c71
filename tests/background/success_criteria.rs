//! The success criteria of the specification. SC-004, the accuracy of estimates, is
//! tried where the estimator is: see `sc_004_…` there.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::explorer::{
    Explorer, ask, list, results, start, start_with, status, wait_for_status,
};
use crate::support::interactions::{Ending, Fault, Script, Until};

#[test]
fn sc_001_every_response_is_taken_for_what_it_is() {
    let explorer = Explorer::who_waits(2.0);
    let scripts: [(&str, &str, &str, Script); 8] = [
        ("at once", "sync", "completed", Script::until(Until::AtOnce)),
        ("soon", "sync", "completed", Script::until(Until::Polls(1))),
        ("never", "async", "running_async", Script::until(Until::Never)),
        ("failed", "sync", "failed", Script::failed("internal_error", "It broke.")),
        (
            "failed at once",
            "sync",
            "failed",
            Script { until: Until::AtOnce, ..Script::failed("internal_error", "It broke.") },
        ),
        (
            "incomplete",
            "sync",
            "completed",
            Script::ending(Ending::Status("incomplete".to_owned(), true)),
        ),
        (
            "unheard of",
            "async",
            "running_async",
            Script::ending(Ending::Status("unheard_of".to_owned(), true)),
        ),
        ("empty", "sync", "failed", Script::ending(Ending::Empty)),
    ];
    let chosen = scripts.clone();
    explorer.api.on(move |input| {
        let script = chosen.iter().find(|(question, ..)| *question == input).expect("a script");
        script.3.clone()
    });
    let mut client = explorer.connect();
    // What the first start waits for is loaded by then.
    ask(&mut client, "estimate_research_cost", json!({ "query": "warm" }));
    for (question, mode, stands, _) in scripts {
        let started = ask(&mut client, "start_deep_research", json!({ "query": question }));
        assert_eq!(
            (&started["mode"], &started["status"]),
            (&json!(mode), &json!(stands)),
            "{question}: {started:#}"
        );
        assert_eq!(started["success"], stands != "failed", "{question}");
        assert_eq!(started.get("results").is_some(), stands == "completed", "{question}");
    }
}

#[test]
fn sc_002_every_end_is_told() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let ids: Vec<String> =
        (0..25).map(|number| start(&mut client, &format!("Question {number}?"))).collect();
    for id in &ids {
        assert_eq!(explorer.wait_until_told(id), "completed");
    }
    assert_eq!(explorer.told().len(), ids.len());
}

#[test]
fn sc_003_everything_is_recovered_however_often_the_server_is_killed() {
    let explorer = Explorer::new();
    explorer.api.on(|_| Script::until(Until::Released));
    let questions: Vec<String> = (0..6).map(|number| format!("Question {number}?")).collect();
    let mut client = explorer.connect();
    let ids: Vec<String> = questions.iter().map(|question| start(&mut client, question)).collect();
    for question in &questions {
        explorer.wait_for_looks(question, 1);
    }
    for question in &questions[..5] {
        client.kill();
        client = explorer.connect();
        explorer.api.release(question);
        // Some are saved by then, and some are not.
        explorer.wait_for_looks(question, 2);
    }
    explorer.api.release(&questions[5]);
    for (id, question) in ids.iter().zip(&questions) {
        wait_for_status(&mut client, id, "completed");
        assert!(results(&mut client, id)["report"].as_str().unwrap().contains("Finding 3"));
        assert_eq!(explorer.api.log().creates(question), 1, "{question}");
        assert_eq!(explorer.wait_until_told(id), "completed");
    }
    assert_eq!(explorer.told().len(), ids.len());
}

#[test]
fn sc_005_research_completes_within_its_time_although_the_vendor_stumbles() {
    let explorer = Explorer::new();
    explorer.api.on(|input| {
        let number: usize = input.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let fault = [
            Fault::No,
            Fault::CutBefore,
            Fault::CutMiddle,
            Fault::Status(500),
            Fault::Status(404),
            Fault::Says("?".to_owned()),
            Fault::Delay(Duration::from_millis(300)),
            Fault::WrongTypes,
        ][number % 8]
            .clone();
        let polls = vec![Fault::No, fault.clone(), Fault::No, fault];
        Script { polls, ..Script::until(Until::Polls(3)) }
    });
    let mut client = explorer.connect();
    let ids: Vec<String> = (0..24)
        .map(|number| {
            let query = format!("Question {number} of many");
            start_with(&mut client, json!({ "query": query, "max_wait_hours": 1 }))
        })
        .collect();
    for id in &ids {
        wait_for_status(&mut client, id, "completed");
    }
}

#[test]
fn sc_006_every_save_succeeds() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, "How do tide tables compare?");
    wait_for_status(&mut client, &id, "completed");
    // All of one task and many in the same second, by two servers at the same time.
    let mut servers: Vec<Client> = vec![client, explorer.connect()];
    let requests: Vec<Vec<u64>> = servers
        .iter_mut()
        .map(|server| {
            let save = |_| server.begin("save_research_to_markdown", json!({ "task_id": id }));
            (0..100).map(save).collect()
        })
        .collect();
    let mut paths = std::collections::HashSet::new();
    for (server, requests) in servers.iter_mut().zip(requests) {
        for request in requests {
            let answer = server.answer(request);
            let saved = &answer["result"]["structuredContent"];
            assert_eq!(saved["success"], true, "{answer:#}");
            let path = saved["file_path"].as_str().unwrap().to_owned();
            assert!(fs::read_to_string(&path).unwrap().contains("Finding 3"), "{path}");
            assert!(paths.insert(path), "a file was written over: {saved:#}");
        }
    }
    assert_eq!(paths.len(), 200);
}

#[test]
fn sc_007_looking_reading_cancelling_estimating_and_saving_cost_no_tokens() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let id = start(&mut client, "How do tide tables compare?");
    wait_for_status(&mut client, &id, "completed");
    let costs = |explorer: &Explorer| -> Value {
        explorer.run(["costs", "--json"]).assert_success().json()["total"].clone()
    };
    let (asked, before) = (explorer.api.log().0.len(), costs(&explorer));
    for _ in 0..5 {
        status(&mut client, &id);
        results(&mut client, &id);
        list(&mut client, json!({ "query": "tide" }));
        for (tool, arguments) in [
            ("cancel_research", json!({ "task_id": id })),
            ("estimate_research_cost", json!({ "query": "And what next?" })),
            ("save_research_to_markdown", json!({ "task_id": id })),
        ] {
            ask(&mut client, tool, arguments);
        }
    }
    assert_eq!(explorer.api.log().0.len(), asked, "{:?}", explorer.api.log());
    assert_eq!(costs(&explorer), before);
}
