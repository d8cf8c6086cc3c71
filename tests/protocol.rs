//! Opening a connection in both eras of the protocol, and asking what there is.

use serde_json::{Value, json};

use crate::support::client::{LEGACY_NEW, LEGACY_OLD, MODERN};
use crate::support::documents::Documents;
use crate::support::home::Home;

/// All there are, in the order of the alphabet.
const TOOLS: [&str; 10] = [
    "cancel_research",
    "check_research_status",
    "deep_research",
    "deep_search",
    "estimate_research_cost",
    "get_research_results",
    "list_research",
    "save_research_to_markdown",
    "search",
    "start_deep_research",
];

#[test]
fn a_session_opens_in_the_version_that_the_client_asks_for() {
    let (home, documents) = (Home::new(), Documents::new());
    for version in [LEGACY_NEW, "2025-06-18", "2025-03-26", LEGACY_OLD] {
        let mut client = home.serve(documents.path());
        let result = client.initialize(version);
        assert_eq!(result["protocolVersion"], version);
        assert_eq!(result["serverInfo"]["name"], "bathysphere");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["capabilities"]["tools"].is_object(), "{result:#}");
        assert!(
            result["instructions"].as_str().is_some_and(|text| !text.is_empty()),
            "a client's model is told what the server is for: {result:#}"
        );
        let pong = client.call("ping", json!({}));
        assert!(pong["result"].is_object(), "{pong:#}");
        assert!(client.end().status.success());
    }
}

#[test]
fn an_unknown_version_is_answered_with_one_the_server_knows() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    let result = client.initialize("1999-12-31");
    let version = result["protocolVersion"].as_str().expect("a version");
    assert!(version.starts_with("202"), "{result:#}");
    assert!(client.end().status.success());
}

#[test]
fn requests_without_a_session_are_served() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    let result = client.discover();
    let versions = result["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!(MODERN)), "{result:#}");
    assert!(result["capabilities"]["tools"].is_object(), "{result:#}");
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "bathysphere", "{result:#}");
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"), "{result:#}");

    let tools = client.call("tools/list", json!({}));
    assert_eq!(tool_names(&tools), TOOLS);
    assert!(client.end().status.success());
}

#[test]
fn a_request_without_a_session_needs_no_discovery_first() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.send(&json!({
        "jsonrpc": "2.0",
        "id": "first",
        "method": "tools/list",
        "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    }));
    client.send(&json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": { "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    }));
    let tools = client.answer(1);
    assert_eq!(tool_names(&tools), TOOLS);
    let ended = client.end();
    assert!(ended.status.success());
    assert!(
        ended.rest.iter().any(|message| message["id"] == "first"),
        "an id may be a string: {:#?}",
        ended.rest
    );
}

#[test]
fn every_tool_says_what_it_is_and_what_comes_back() {
    let (home, documents) = (Home::new(), Documents::new());
    let mut client = home.serve(documents.path());
    client.initialize(LEGACY_NEW);
    let list = client.call("tools/list", json!({}));
    assert_eq!(tool_names(&list), TOOLS);
    for tool in list["result"]["tools"].as_array().expect("tools") {
        let name = tool["name"].as_str().expect("a name");
        assert!(tool["title"].as_str().is_some_and(|title| !title.is_empty()), "{name}: no title");
        let description = tool["description"].as_str().unwrap_or_default();
        assert!(description.len() > 100, "{name}: too little said: {description:?}");

        let annotations = &tool["annotations"];
        let changes =
            ["start_deep_research", "cancel_research", "save_research_to_markdown"].contains(&name);
        assert_eq!(annotations["readOnlyHint"], !changes, "{name}: {annotations}");
        let destroys = annotations["destructiveHint"] == true;
        assert_eq!(destroys, name == "cancel_research", "{name}: {annotations}");
        assert!(annotations["openWorldHint"].is_boolean(), "{name}: {annotations}");

        for part in ["inputSchema", "outputSchema"] {
            let schema = &tool[part];
            assert_eq!(schema["type"], "object", "{name}: {part}");
            jsonschema::validator_for(schema)
                .unwrap_or_else(|error| panic!("{name}: {part} is no JSON Schema: {error}"));
            assert_portable(schema, &format!("{name}.{part}"));
        }
        // An earlier task can take the place of the question in a deep search, and a
        // list needs nothing.
        let required = tool["inputSchema"]["required"].as_array();
        assert_eq!(
            required.is_some_and(|list| {
                list.contains(&json!("query")) || list.contains(&json!("task_id"))
            }),
            !["deep_search", "list_research"].contains(&name),
            "{name}: what it is about is required"
        );
        for word in ["oneOf", "anyOf", "allOf"] {
            assert!(tool["inputSchema"].get(word).is_none(), "{name}: {word}");
        }
        for (property, schema) in tool["inputSchema"]["properties"].as_object().expect("properties")
        {
            assert!(
                schema["description"].as_str().is_some_and(|text| !text.is_empty()),
                "{name}.{property}: no description"
            );
        }
    }
}

/// Some validators warn about number formats of Rust's own, and some clients do
/// not know that `type` can be a list.
fn assert_portable(schema: &Value, place: &str) {
    match schema {
        Value::Object(members) => {
            if let Some(format) = members.get("format").and_then(Value::as_str) {
                assert!(!format.starts_with("uint"), "{place}: format {format:?}");
            }
            assert!(!members.get("type").is_some_and(Value::is_array), "{place}: a list of types");
            for (name, value) in members {
                assert_portable(value, &format!("{place}.{name}"));
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                assert_portable(value, &format!("{place}[{index}]"));
            }
        }
        _ => {}
    }
}

fn tool_names(list: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap_or_else(|| panic!("no tools: {list:#}"))
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    names.sort_unstable();
    names
}
