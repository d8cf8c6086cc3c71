//! User story 3: what research would take is told before anything is sent.

use serde_json::{Value, json};

use crate::support::explorer::{Explorer, ask, assert_error, list};

const SIMPLE: &str = "What is a spring tide?";
const MEDIUM: &str = "Compare neap tides with spring tides";
const COMPLEX: &str = "Compare the economics of tidal and offshore wind power in Europe since 2010";

fn range(estimate: &Value, what: &str, unit: &str) -> [f64; 3] {
    ["min", "likely", "max"].map(|which| {
        let value = &estimate[what][format!("{which}_{unit}")];
        value.as_f64().unwrap_or_else(|| panic!("{which} {unit}: {estimate:#}"))
    })
}

#[test]
fn us3_1_an_estimate_has_a_complexity_a_duration_and_a_cost() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    for (query, complexity) in [(SIMPLE, "simple"), (MEDIUM, "medium"), (COMPLEX, "complex")] {
        let estimate = ask(&mut client, "estimate_research_cost", json!({ "query": query }));
        assert_eq!(estimate["success"], true, "{estimate:#}");
        assert_eq!(estimate["query_complexity"], complexity);
        for [min, likely, max] in [
            range(&estimate, "estimated_duration", "minutes"),
            range(&estimate, "estimated_cost", "usd"),
        ] {
            assert!(0.0 < min && min <= likely && likely <= max, "{estimate:#}");
        }
        assert!(!estimate["recommendation"].as_str().unwrap().is_empty());
        assert_eq!(estimate["based_on_runs"], 0);
        // The same on the command line.
        let printed = explorer.run(["estimate", query, "--json"]).assert_success().json();
        for (name, value) in printed.as_object().unwrap() {
            assert_eq!(estimate[name], *value, "{name}");
        }
    }
    // Nothing was sent, and nothing begun.
    assert!(explorer.api.log().0.is_empty(), "{:?}", explorer.api.log());
    assert_eq!(list(&mut client, json!({}))["count"], 0);
}

#[test]
fn us3_2_a_complex_query_is_likely_to_go_async_and_costs_more() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let mut estimate =
        |query: &str| ask(&mut client, "estimate_research_cost", json!({ "query": query }));
    let (simple, complex) = (estimate(SIMPLE), estimate(COMPLEX));
    assert_eq!(complex["will_likely_go_async"], true);
    let said = complex["recommendation"].as_str().unwrap();
    assert!(said.starts_with("Complex query detected."), "{said}");
    let [_, likely, most] = range(&complex, "estimated_cost", "usd");
    let [_, simple_likely, simple_most] = range(&simple, "estimated_cost", "usd");
    assert!(likely > simple_likely && most > simple_most, "{complex:#} {simple:#}");
    let [.., longest] = range(&complex, "estimated_duration", "minutes");
    let [.., simple_longest] = range(&simple, "estimated_duration", "minutes");
    assert!(longest > simple_longest, "{complex:#} {simple:#}");
}

#[test]
fn us3_2_a_dearer_model_is_estimated_dearer() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    let max = "deep-research-max-preview-04-2026";
    let usual = ask(&mut client, "estimate_research_cost", json!({ "query": SIMPLE }));
    let dearer =
        ask(&mut client, "estimate_research_cost", json!({ "query": SIMPLE, "model": max }));
    let likely = |estimate: &Value| range(estimate, "estimated_cost", "usd")[1];
    assert!(likely(&dearer) > likely(&usual), "{dearer:#} {usual:#}");
}

#[test]
fn an_empty_or_wrong_query_cannot_be_estimated() {
    let explorer = Explorer::new();
    let mut client = explorer.connect();
    for (arguments, words) in [
        (json!({ "query": " " }), "the question is empty"),
        (json!({}), "query"),
        (json!({ "query": SIMPLE, "depth": 5 }), "unknown field `depth`"),
    ] {
        let refused = ask(&mut client, "estimate_research_cost", arguments);
        assert_error(&refused, "INVALID_INPUT", &[words]);
    }
}

/// Without a key nothing can be researched, but what it would cost is known.
#[test]
fn an_estimate_needs_neither_a_key_nor_the_vendor() {
    let explorer = Explorer::new().offline().with_variable("GEMINI_API_KEY", "");
    let mut client = explorer.connect();
    let estimate = ask(&mut client, "estimate_research_cost", json!({ "query": COMPLEX }));
    assert_eq!(estimate["query_complexity"], "complex", "{estimate:#}");
}
