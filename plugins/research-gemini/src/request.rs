//! What is sent: addresses in which an id cannot be anything but one segment of the
//! path, and the body that starts an interaction.

use std::fmt::Write as _;

use bathysphere_sdk::http;
use bathysphere_sdk::types::{Error, ErrorKind};
use serde_json::json;

use crate::settings::{Settings, base_url, is_agent};
use crate::value::line;

/// A question of more than this is a mistake; the gate would not send it either.
const LONGEST_INPUT: usize = 1 << 20;
const LONGEST_ID: usize = 512;

/// One call of an interaction that exists.
#[derive(Clone, Copy)]
pub enum Deed {
    Get,
    Cancel,
    Delete,
}

pub fn create(settings: &Settings, input: &str, agent: &str) -> Result<http::Request, Error> {
    if input.trim().is_empty() {
        return Err(wrong("there is no question to research".to_owned()));
    }
    if input.len() > LONGEST_INPUT {
        return Err(wrong(format!(
            "the question has {} bytes, and at most {LONGEST_INPUT} are sent",
            input.len()
        )));
    }
    if !is_agent(agent) {
        return Err(wrong(format!("`{}` is not the name of an agent", line(agent, 80))));
    }
    let body = json!({
        "agent": agent,
        "input": input,
        "background": true,
        "store": true,
        "agent_config": {
            "type": "deep-research",
            "thinking_summaries": settings.thinking_summaries,
            "visualization": settings.visualization,
            // Nobody is there to approve a plan.
            "collaborative_planning": false,
        },
    });
    let seconds = settings.start_timeout_seconds;
    let body = body.to_string().into_bytes();
    Ok(request("POST", address(settings, "")?, Some(body), seconds))
}

pub fn existing(settings: &Settings, id: &str, deed: Deed) -> Result<http::Request, Error> {
    if !is_usable(id) {
        return Err(wrong(format!("`{}` is not the id of an interaction", line(id, 80))));
    }
    let (method, after) = match deed {
        Deed::Get => ("GET", "?stream=false"),
        Deed::Cancel => ("POST", "/cancel"),
        Deed::Delete => ("DELETE", ""),
    };
    let url = address(settings, &format!("/{}{after}", encoded(id)))?;
    Ok(request(method, url, None, settings.timeout_seconds))
}

/// Whether an interaction of that id can be asked for: a segment of one or two dots
/// is read as a way up, however it is written.
pub fn is_usable(id: &str) -> bool {
    !id.is_empty() && id != "." && id != ".." && id.len() <= LONGEST_ID
}

fn address(settings: &Settings, path: &str) -> Result<String, Error> {
    let base = base_url(&settings.base_url)
        .map_err(|reason| wrong(format!("`base_url` of research-gemini {reason}")))?;
    Ok(format!("{base}/v1/interactions{path}"))
}

fn request(method: &str, url: String, body: Option<Vec<u8>>, seconds: u32) -> http::Request {
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    if body.is_some() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    http::Request {
        method: method.to_owned(),
        url,
        headers,
        body,
        timeout_ms: Some(seconds.saturating_mul(1000)),
        max_bytes: None,
    }
}

fn encoded(id: &str) -> String {
    let mut text = String::with_capacity(id.len());
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn wrong(message: String) -> Error {
    Error { kind: ErrorKind::InvalidInput, message, hint: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(id: &str, deed: Deed) -> Result<String, ErrorKind> {
        existing(&Settings::default(), id, deed).map(|request| request.url).map_err(|e| e.kind)
    }

    #[test]
    fn an_id_is_one_segment_of_the_path_whatever_it_holds() {
        const BASE: &str = "https://generativelanguage.googleapis.com/v1/interactions";
        assert_eq!(url("v1_5a", Deed::Get), Ok(format!("{BASE}/v1_5a?stream=false")));
        assert_eq!(url("v1_5a", Deed::Cancel), Ok(format!("{BASE}/v1_5a/cancel")));
        for (id, encoded) in [
            ("../models", "..%2Fmodels"),
            ("a/b\\c", "a%2Fb%5Cc"),
            ("a?key=b#c", "a%3Fkey%3Db%23c"),
            ("%2e%2e", "%252e%252e"),
            ("a:cancel", "a%3Acancel"),
            ("é\n", "%C3%A9%0A"),
            ("...", "..."),
        ] {
            assert_eq!(url(id, Deed::Delete), Ok(format!("{BASE}/{encoded}")));
        }
        for id in ["", ".", "..", &"x".repeat(LONGEST_ID + 1)] {
            assert_eq!(url(id, Deed::Cancel), Err(ErrorKind::InvalidInput), "{id}");
        }
    }

    #[test]
    fn what_cannot_be_a_question_is_not_sent() {
        let settings = Settings::default();
        for (input, agent) in [
            ("", "a"),
            (" \n", "a"),
            ("q", ""),
            ("q", "a b"),
            (&*"x".repeat(LONGEST_INPUT + 1), "a"),
        ] {
            let error = create(&settings, input, agent).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidInput);
            assert!(error.message.len() < 200);
        }
        let bad = Settings { base_url: "http://u:hunter2@x".into(), ..settings };
        let error = create(&bad, "q", "a").unwrap_err();
        assert!(error.kind == ErrorKind::InvalidInput && !error.message.contains("hunter2"));
    }
}
