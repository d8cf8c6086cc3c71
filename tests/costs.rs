//! What research costs, from outside: priced as it is answered, summed in `costs`,
//! held to a budget, and estimated beforehand for nothing.

use std::fs;

use bathysphere::store::{
    CallEnd, Ending, NewCall, NewForecast, NewResult, NewTask, Store, TaskEnd,
};
use serde_json::{Value, json};

use crate::support::gemini_cli::{MODEL, Run};
use crate::support::researcher::{Researcher, plain_report, report};

/// What a run of the fake costs: 1,000 tokens read and 70 written, by the list
/// prices of its model.
const RUN: f64 = 1000.0 * 0.75e-6 + 70.0 * 3.75e-6;
const SEARCH: f64 = 0.014;

const TOOL: &str = "start_deep_research";

#[track_caller]
fn assert_dollars(value: &Value, dollars: f64) {
    let told = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((told - dollars).abs() < 1e-9, "{told} and not {dollars}");
}

/// What `costs` says, as JSON.
#[track_caller]
fn costs(user: &Researcher, arguments: &[&str]) -> Value {
    let line = ["costs", "--json"].iter().chain(arguments);
    user.run(line).assert_success().json()
}

#[test]
fn a_deep_search_has_its_cost_in_the_answer_in_history_and_in_costs() {
    let user = Researcher::new();
    user.fake
        .then(&Run::searches(
            "bathysphere depth",
            &[("A log", "https://log.example/")],
            &report("Draft", false),
        ))
        .then(&Run::searches(
            "bathysphere record",
            &[("A book", "https://book.example/")],
            &report("Checked", true),
        ));
    let answer = user.deep_search("How deep did it dive?").answer;
    let spent = 2.0 * (RUN + SEARCH);
    assert_dollars(&answer["cost_usd"], spent);

    let id = answer["task_id"].as_str().expect("an id");
    let shown = user.run(["show", "--json", id]).assert_success().json();
    assert_eq!(shown["model"], MODEL);
    assert_dollars(&shown["usage"]["cost_usd"], spent);
    for round in shown["rounds"].as_array().expect("rounds") {
        assert_dollars(&round["usage"]["cost_usd"], RUN + SEARCH);
    }

    let days = costs(&user, &[]);
    assert_eq!(days["rows"].as_array().map(Vec::len), Some(1), "{days:#}");
    assert_dollars(&days["total"]["cost_usd"], spent);
    assert_eq!(days["total"]["input_tokens"], 2000);
    assert_eq!(days["total"]["output_tokens"], 140);
    assert_eq!(days["total"]["searches"], 2);
    assert_eq!(days["total"]["calls"], 2);
    assert_eq!(days["total"]["unpriced_calls"], 0);
    assert_dollars(&days["today"]["spent_usd"], spent);
    assert_dollars(&days["today"]["reserved_usd"], 0.0);

    let backends = costs(&user, &["--by", "backend", "--since", "all"]);
    assert_eq!(backends["rows"][0]["key"], "agent-gemini-cli");
    let tasks = costs(&user, &["--by", "task", "--since", "today"]);
    assert_eq!(tasks["rows"][0]["key"], id);
    assert_eq!(tasks["rows"][0]["tool"], "deep_search");
    assert_eq!(tasks["rows"][0]["question"], "How deep did it dive?");
    assert_dollars(&tasks["rows"][0]["cost_usd"], spent);

    let printed = user.run(["costs", "--by", "task"]).assert_success();
    assert!(printed.stdout.contains("$0.03"), "{}", printed.transcript());
    assert!(printed.stderr.contains("list prices of 20"), "{}", printed.transcript());
}

#[test]
fn ones_own_prices_hold_and_a_mistake_in_them_is_told() {
    let user = Researcher::new();
    fs::create_dir_all(user.configuration()).expect("a directory");
    let prices = user.configuration().join("prices.toml");
    fs::write(&prices, format!("[models.\"{MODEL}\"]\ninput = 1000\noutput = 0\n")).unwrap();
    user.fake.otherwise(&Run::searches(
        "depth",
        &[("A log", "https://log.example/")],
        &plain_report("923 m"),
    ));
    let answer = user.run(["search", "--json", "How deep?"]).assert_success().json();
    assert_dollars(&answer["cost_usd"], 1.0 + SEARCH);

    fs::write(&prices, "[models.mine]\ninput = 1\n\noutput = \"free\"\n").unwrap();
    let failed = user.run(["search", "How deep?"]).assert_failure();
    assert!(failed.stderr.contains("prices.toml:4:10"), "{}", failed.transcript());
    assert!(failed.stderr.contains("write US dollars as a number"), "{}", failed.transcript());
    assert_eq!(user.fake.runs().len(), 1, "nothing was asked at prices nobody knows");
}

#[test]
fn beyond_the_days_budget_nothing_is_sent() {
    let user = Researcher::with_config("[budget]\nusd_per_day = 0.01\n");
    user.fake.otherwise(&Run::searches(
        "depth",
        &[("A log", "https://log.example/")],
        &plain_report("923 m"),
    ));
    // There is something left, and nobody knows beforehand what one search costs.
    user.run(["search", "How deep?"]).assert_success();
    let refused = user.run(["search", "--json", "How deep again?"]).assert_failure();
    let answer = refused.json();
    assert_eq!(answer["error"]["code"], "BUDGET_EXCEEDED", "{answer:#}");
    let said = answer["error"]["message"].as_str().expect("a message");
    assert!(said.contains("the day's budget of $0.01 is used up: $0.02 spent"), "{said}");
    assert!(answer["error"]["hint"].as_str().is_some_and(|hint| hint.contains("usd_per_day")));
    assert_eq!(user.fake.runs().len(), 1);
    assert_eq!(costs(&user, &[])["total"]["calls"], 1);
}

#[test]
fn a_task_ends_at_its_own_limit() {
    let user = Researcher::with_config("[budget]\nusd_per_task = 0.01\n");
    user.fake.otherwise(&Run::searches(
        "depth",
        &[("A log", "https://log.example/")],
        &report("Draft", false),
    ));
    let answer = user.deep_search("How deep?").answer;
    assert_eq!(answer["stop_reason"], "budget", "{answer:#}");
    assert_eq!(answer["result"], "Draft");
    let note = answer["note"].as_str().expect("a note");
    assert!(note.contains("0.01 US dollars"), "{note}");
    assert_eq!(user.fake.runs().len(), 1);
}

#[test]
fn an_estimate_costs_nothing_and_begins_as_a_rule_of_thumb() {
    let user = Researcher::new();
    let estimate = |arguments: &[&str]| {
        let line = ["estimate", "--json"].iter().chain(arguments);
        user.run(line).assert_success().json()
    };
    let simple = estimate(&["What is a spring tide?"]);
    assert_eq!(simple["query_complexity"], "simple");
    assert_eq!(simple["based_on_runs"], 0);
    assert_eq!(simple["will_likely_go_async"], true);
    assert!(simple.get("past_intervals_held").is_none(), "{simple:#}");
    let complex = "Compare the economics of tidal and offshore wind power in Europe since 2010";
    let complex = estimate(&[complex]);
    assert_eq!(complex["query_complexity"], "complex");
    assert!(complex["recommendation"].as_str().is_some_and(|it| it.starts_with("Complex")));
    let max = estimate(&["--model", "deep-research-max-preview-04-2026", "What is a spring tide?"]);
    for (cheap, dear) in [(&simple, &complex), (&simple, &max)] {
        let likely = |estimate: &Value| estimate["estimated_cost"]["likely_usd"].as_f64().unwrap();
        assert!(likely(cheap) < likely(dear), "{cheap:#} {dear:#}");
    }
    let printed = user.run(["estimate-research-cost", "What is a spring tide?"]).assert_success();
    assert!(printed.stdout.contains("a rule of thumb"), "{}", printed.transcript());
    assert_eq!(user.run(["estimate", " "]).assert_failure().code(), 2);
    assert!(user.fake.runs().is_empty());
    assert_eq!(costs(&user, &[])["total"]["calls"], 0);
}

/// Research that is done, as the database keeps it.
async fn completed(store: &Store, seconds: u64, dollars: f64) {
    let question = "The state of tidal power";
    let task = NewTask {
        tool: TOOL.to_owned(),
        text: question.to_owned(),
        question: json!({ "text": question }).to_string(),
        ..NewTask::default()
    };
    let claim = store.create_task(task).await.expect("a task");
    let forecast = NewForecast {
        complexity: "medium".to_owned(),
        seconds: (300.0, 900.0),
        cost_usd: (1.0, 3.0),
        runs: 0,
    };
    store.save_forecast(&claim, forecast).await.expect("a forecast");
    let call = NewCall {
        round: 1,
        plugin: "research-gemini".to_owned(),
        function: "start".to_owned(),
        request_hash: String::new(),
    };
    let number = store.begin_call(&claim, call).await.expect("a call");
    let end = CallEnd {
        outcome: Ok("{}".to_owned()),
        usage: Some(json!({ "input_tokens": 250_000, "searches": 80 }).to_string()),
        cost_usd: Some(dollars),
    };
    store.finish_call(&claim, number, end).await.expect("an end");
    let end = TaskEnd {
        ending: Ending::Completed,
        stop_reason: None,
        note: None,
        error: None,
        result: Some(NewResult {
            outcome: json!({ "duration_ms": seconds * 1000 }).to_string(),
            markdown: String::new(),
        }),
        cancel_job: false,
    };
    store.finish_task(&claim, end).await.expect("an end");
}

#[tokio::test]
async fn with_past_runs_the_estimate_is_ones_own_and_its_worth_is_shown() {
    let user = Researcher::new();
    let data = user.home.path().join("data/bathysphere");
    fs::create_dir_all(&data).expect("a directory");
    let store = Store::open(data.join("bathysphere.sqlite3"));
    for number in 0..20 {
        // Two of twenty are quite unlike the rest.
        let seconds = if number >= 18 { 3000 } else { 500 + number * 10 };
        completed(&store, seconds, 1.5 + number as f64 / 100.0).await;
    }
    store.close().await;

    let line = ["estimate", "--json", "The state of wave power"];
    let estimate = user.run(line).assert_success().json();
    assert_eq!(estimate["query_complexity"], "medium");
    assert_eq!(estimate["based_on_runs"], 20);
    let held = estimate["past_intervals_held"].as_str().expect("how often it held");
    assert!(held.ends_with(" of 20"), "{held}");
    let minutes = &estimate["estimated_duration"];
    let likely = minutes["likely_minutes"].as_f64().unwrap();
    assert!((9.0..11.5).contains(&likely), "{minutes}");
    let dollars = &estimate["estimated_cost"];
    assert!(dollars["min_usd"].as_f64().unwrap() >= 1.4, "{dollars}");
    assert!(dollars["max_usd"].as_f64().unwrap() <= 1.8, "{dollars}");

    let worth = user.run(["costs", "--estimates", "--json"]).assert_success().json();
    assert_eq!(worth["time"], json!({ "held": 18, "of": 20 }));
    assert_eq!(worth["cost"], json!({ "held": 20, "of": 20 }));
    assert_eq!(worth["rows"].as_array().map(Vec::len), Some(20));
    let printed = user.run(["costs", "--estimates"]).assert_success();
    assert!(
        printed.stderr.contains("time 18 of 20 (90%), cost 20 of 20 (100%)"),
        "{}",
        printed.transcript()
    );
}
