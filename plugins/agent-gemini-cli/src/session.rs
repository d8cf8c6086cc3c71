//! The record that the CLI leaves of a session: which model answered, and the real
//! addresses that a search found, which its output does not tell.

use serde_json::Value;

use crate::sources::{Sources, addresses, listed};

/// Larger records are not read.
pub const MOST_BYTES: u64 = 8 << 20;

#[derive(Debug, Default, PartialEq)]
pub struct Session {
    /// The model of the last answer.
    pub model: Option<String>,
    pub sources: Sources,
}

/// Which of the files in the private home is the record of this session.
pub fn find<'names>(
    names: impl IntoIterator<Item = &'names String>,
    session_id: &str,
) -> Option<&'names String> {
    let short = session_id.get(..8)?;
    names.into_iter().find(|name| {
        name.starts_with("~/.gemini/tmp/")
            && name.rsplit_once("/chats/session-").is_some_and(|(_, rest)| {
                rest.strip_suffix(".jsonl")
                    .or_else(|| rest.strip_suffix(".json"))
                    .is_some_and(|stem| stem.ends_with(short))
            })
    })
}

/// Reads a record: a line for each message, written again whenever it has grown, or
/// one document that holds them all.
pub fn read(bytes: &[u8]) -> Session {
    let text = String::from_utf8_lossy(bytes);
    let mut messages: Vec<Value> = Vec::new();
    let whole = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object);
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    for value in whole.into_iter().chain(lines) {
        let set = [&value["$set"]["messages"], &value["messages"]];
        if let Some(all) = set.into_iter().find_map(Value::as_array) {
            messages.clone_from(all);
        } else if value["type"].is_string() {
            match messages.iter_mut().find(|known| known["id"] == value["id"]) {
                Some(known) => *known = value,
                None => messages.push(value),
            }
        }
    }
    let mut session = Session::default();
    for message in messages.iter().filter(|message| message["type"] == "gemini") {
        if let Some(model) = message["model"].as_str().filter(|model| !model.is_empty()) {
            session.model = Some(model.to_owned());
        }
        for call in message["toolCalls"].as_array().into_iter().flatten() {
            if call["status"] == "success" {
                add_sources(&mut session.sources, call);
            }
        }
    }
    session
}

fn add_sources(sources: &mut Sources, call: &Value) {
    let results = call["result"].as_array().into_iter().flatten();
    let output = results
        .filter_map(|part| part["functionResponse"]["response"]["output"].as_str())
        .collect::<Vec<_>>()
        .join("\n");
    match call["name"].as_str() {
        Some("google_web_search") => sources.extend(listed(&output)),
        Some("web_fetch") => {
            for argument in ["prompt", "url"] {
                sources.extend(addresses(call["args"][argument].as_str().unwrap_or_default()));
            }
            sources.extend(listed(&output));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_found_by_the_session() {
        let names = [
            "~/.gemini/settings.json",
            "~/.gemini/tmp/work/chats/session-2026-11-15T05-43-00000000.jsonl",
            "~/.gemini/tmp/work/chats/session-2026-11-15T05-43-7e561d3b.jsonl",
            "work/chats/session-2026-11-15T05-43-7e561d3b.jsonl",
        ]
        .map(String::from);
        let id = "7e561d3b-c64a-4566-8fbf-e97448962b3b";
        assert_eq!(find(&names, id), Some(&names[2]));
        assert_eq!(find(&names[..2], id), None);
        assert_eq!(find(&names, ""), None);
    }

    #[test]
    fn anything_else_is_an_empty_record() {
        for text in ["", "null", "[1]", "{}", "not json\n{\"type\":3}", "{\"messages\":[{}]}"] {
            assert_eq!(read(text.as_bytes()), Session::default(), "{text}");
        }
    }

    #[test]
    fn an_older_record_is_one_document() {
        let text = r#"{"sessionId":"x","messages":[
            {"id":"1","type":"user","content":"q"},
            {"id":"2","type":"gemini","model":"gemini-2.5-pro","content":"a"}]}"#;
        assert_eq!(read(text.as_bytes()).model.as_deref(), Some("gemini-2.5-pro"));
    }
}
