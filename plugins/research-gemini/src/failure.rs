//! What went wrong, in the contract's words: from an answer's status, or from what a
//! failed interaction says of itself. The vendor's own words are quoted, on one line.
//!
//! Of a start, the kinds `auth`, `invalid-input`, `refused`, `not-found` and
//! `rate-limited` promise that nothing was started; whatever leaves that open is
//! `unavailable`.

use bathysphere_sdk::http::Response;
use bathysphere_sdk::types::{Error, ErrorKind};
use serde_json::Value;

use crate::value::{code, line, list, text};

const QUOTED: usize = 300;
/// Longer waits are not waited for by anybody.
const LONGEST_WAIT: u64 = 7 * 24 * 3600;

/// Why an answer brings no interaction.
pub fn of_answer(response: &Response) -> Error {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    // Some of Google's servers put it into a list.
    let body = body.get(0).unwrap_or(&body);
    let told = body.get("error").unwrap_or(&Value::Null);
    let status = response.status;
    let said = text(told, "message").or(told.as_str()).map(quoted).unwrap_or_default();
    let kind = match status {
        _ if (400..500).contains(&status) && is_about_the_key(told, &said) => ErrorKind::Auth,
        401 | 403 => ErrorKind::Auth,
        404 => ErrorKind::NotFound,
        429 => ErrorKind::RateLimited(wait(response, told)),
        // Somebody on the way has waited for the rest, or for who is behind.
        408 => ErrorKind::Unavailable,
        402 | 451 => ErrorKind::Refused,
        400..500 => ErrorKind::InvalidInput,
        _ => ErrorKind::Unavailable,
    };
    let what = match &kind {
        ErrorKind::Auth => "Gemini does not accept the key",
        ErrorKind::RateLimited(_) => "Gemini takes no more requests for now",
        ErrorKind::Unavailable => "Gemini is not available",
        _ => "Gemini refuses the request",
    };
    let hint = hint(&kind);
    let message = if said.is_empty() {
        format!("{what} (status {status})")
    } else {
        format!("{what} (status {status}): {said}")
    };
    Error { kind, message, hint }
}

/// An answer that says yes, and cannot be read.
pub fn unreadable(what: &str) -> Error {
    Error {
        kind: ErrorKind::Unavailable,
        message: format!("Gemini's answer cannot be read: {what}"),
        hint: None,
    }
}

/// Why an interaction failed: `errors` of its own, or what its last output says.
pub fn of_interaction(interaction: &Value, output: Option<&Value>) -> Error {
    let single = interaction.get("error").filter(|error| error.is_object());
    let told: Vec<&Value> =
        list(interaction, "errors").iter().chain(single).chain(output).collect();
    let kind = told
        .iter()
        .find_map(|error| Some(kind_of(&code(error, "code")?)))
        .unwrap_or_else(|| ErrorKind::Other("research-failed".to_owned()));
    let mut said: Vec<String> = Vec::new();
    for error in &told {
        let words = text(error, "message").or(error.as_str()).map(quoted).unwrap_or_default();
        let words = if words.is_empty() { code(error, "code").unwrap_or_default() } else { words };
        if !words.is_empty() && !said.contains(&words) {
            said.push(words);
        }
    }
    let message = if said.is_empty() {
        "Gemini's research failed, and it does not say why".to_owned()
    } else {
        format!("Gemini's research failed: {}", line(&said.join("; "), QUOTED))
    };
    let hint = hint(&kind);
    Error { kind, message, hint }
}

/// Codes are words, status codes, numbers of Google's own list, or addresses that
/// end in a word.
fn kind_of(code: &str) -> ErrorKind {
    let code = code.to_ascii_lowercase();
    let last = code.rsplit(['/', '#', ':']).next().unwrap_or(&code).replace('-', "_");
    let has = |words: &[&str]| words.iter().any(|word| last.contains(word));
    let is = |numbers: &[&str]| numbers.contains(&last.as_str());
    if has(&["unauthenticated", "permission", "api_key", "auth"]) || is(&["401", "403", "7", "16"])
    {
        ErrorKind::Auth
    } else if has(&["exhausted", "rate_limit", "quota"]) || is(&["429", "8"]) {
        ErrorKind::RateLimited(None)
    } else if has(&["safety", "blocked", "prohibited", "recitation"]) {
        ErrorKind::Other("safety-blocked".to_owned())
    } else if has(&["invalid", "precondition", "out_of_range"]) || is(&["400", "3", "9", "11"]) {
        ErrorKind::InvalidInput
    } else if has(&["not_found"]) || is(&["404", "5"]) {
        ErrorKind::NotFound
    } else if has(&["deadline", "timeout", "timed_out"]) || is(&["504", "4"]) {
        ErrorKind::Other("timeout".to_owned())
    } else if has(&["internal", "unavailable", "server_error", "unknown", "aborted"])
        || is(&["500", "502", "503", "2", "10", "13", "14"])
    {
        ErrorKind::Unavailable
    } else {
        ErrorKind::Other("research-failed".to_owned())
    }
}

/// A wrong key is a wrong argument to Google, with status 400.
fn is_about_the_key(told: &Value, said: &str) -> bool {
    let reasons = list(told, "details").iter().filter_map(|detail| text(detail, "reason"));
    reasons.into_iter().any(|reason| reason.starts_with("API_KEY"))
        || said.to_ascii_lowercase().contains("api key not valid")
}

/// Seconds to wait, from the header or from what Google says beside the message.
fn wait(response: &Response, told: &Value) -> Option<u32> {
    let header = response
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))
        .and_then(|(_, value)| value.trim().parse::<f64>().ok());
    let detail = || {
        let delays = list(told, "details").iter().filter_map(|detail| text(detail, "retryDelay"));
        delays.into_iter().find_map(|delay| delay.trim().strip_suffix('s')?.parse::<f64>().ok())
    };
    let seconds =
        header.or_else(detail).filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
    Some((seconds.ceil() as u64).min(LONGEST_WAIT) as u32)
}

fn hint(kind: &ErrorKind) -> Option<String> {
    let hint = match kind {
        ErrorKind::Auth => {
            "check GEMINI_API_KEY, and that its project may use Deep Research, at \
             https://aistudio.google.com/api-keys"
        }
        ErrorKind::RateLimited(_) => {
            "wait, or see which limits the key has at https://aistudio.google.com/usage"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// Lower-case, or as the vendor writes it; without the full stop.
fn quoted(message: &str) -> String {
    line(message, QUOTED).trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Error {
        of_answer(&Response {
            status,
            headers: headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            body: body.as_bytes().to_vec(),
            url: String::new(),
        })
    }

    #[test]
    fn each_status_has_its_kind() {
        for (status, kind) in [
            (301, ErrorKind::Unavailable),
            (400, ErrorKind::InvalidInput),
            (401, ErrorKind::Auth),
            (402, ErrorKind::Refused),
            (403, ErrorKind::Auth),
            (404, ErrorKind::NotFound),
            (408, ErrorKind::Unavailable),
            (409, ErrorKind::InvalidInput),
            (413, ErrorKind::InvalidInput),
            (422, ErrorKind::InvalidInput),
            (429, ErrorKind::RateLimited(None)),
            (451, ErrorKind::Refused),
            (500, ErrorKind::Unavailable),
            (503, ErrorKind::Unavailable),
            (599, ErrorKind::Unavailable),
        ] {
            for body in
                ["", "nonsense", "[]", "7", r#"{"error": 5}"#, r#"{"error": {"code": "x"}}"#]
            {
                let error = answer(status, &[], body);
                assert_eq!(error.kind, kind, "{status} {body}");
                assert!(error.message.contains(&status.to_string()));
            }
        }
    }

    #[test]
    fn the_vendors_words_are_quoted() {
        for body in [
            r#"{"error": {"code": "invalid_request", "message": "Agent\n x is unknown."}}"#,
            r#"{"error": {"code": 400, "message": "Agent x is unknown."}}"#,
            r#"[{"error": {"code": 400, "message": "Agent x is unknown"}}]"#,
            r#"{"error": "Agent x is unknown"}"#,
        ] {
            let message = answer(400, &[], body).message;
            assert_eq!(message, "Gemini refuses the request (status 400): Agent x is unknown");
        }
        let long = json!({ "error": { "message": "x".repeat(99_999) } }).to_string();
        assert!(answer(500, &[], &long).message.len() < 400);
    }

    #[test]
    fn a_wrong_key_is_told_as_one() {
        for body in [
            r#"{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}"#,
            r#"{"error": {"code": 400, "message": "no", "details": [{"reason": "API_KEY_INVALID"}]}}"#,
        ] {
            let error = answer(400, &[], body);
            assert_eq!(error.kind, ErrorKind::Auth);
            assert!(error.hint.unwrap().contains("GEMINI_API_KEY"));
        }
        // Whose fault it is when the server breaks is not told by its words.
        let body = r#"{"error": {"message": "API key not valid"}}"#;
        assert_eq!(answer(500, &[], body).kind, ErrorKind::Unavailable);
    }

    #[test]
    fn how_long_to_wait_is_read_from_either_place() {
        let kind = |header: Option<&str>, delay: &str| {
            let body = json!({ "error": { "code": 429, "details": [
                { "@type": "type.googleapis.com/google.rpc.Help" },
                { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
            ] } });
            let headers: Vec<(&str, &str)> =
                header.map(|v| ("Retry-After", v)).into_iter().collect();
            answer(429, &headers, &body.to_string()).kind
        };
        assert_eq!(kind(Some("7"), "34s"), ErrorKind::RateLimited(Some(7)));
        assert_eq!(kind(None, "34.1s"), ErrorKind::RateLimited(Some(35)));
        assert_eq!(
            kind(Some("Wed, 21 Oct 2026 07:28:00 GMT"), "2s"),
            ErrorKind::RateLimited(Some(2))
        );
        for delay in ["", "s", "-1s", "NaNs", "infs"] {
            assert_eq!(kind(None, delay), ErrorKind::RateLimited(None), "{delay}");
        }
        assert_eq!(kind(Some("1e300"), ""), ErrorKind::RateLimited(Some(604_800)));
    }

    #[test]
    fn a_failed_interaction_says_why() {
        for (code, kind) in [
            (json!("internal_error"), ErrorKind::Unavailable),
            (json!(13), ErrorKind::Unavailable),
            (json!(500), ErrorKind::Unavailable),
            (
                json!("https://ai.google.dev/errors#RESOURCE_EXHAUSTED"),
                ErrorKind::RateLimited(None),
            ),
            (json!("permission_denied"), ErrorKind::Auth),
            (json!("deadline_exceeded"), ErrorKind::Other("timeout".into())),
            (json!("SAFETY"), ErrorKind::Other("safety-blocked".into())),
            (json!("invalid-argument"), ErrorKind::InvalidInput),
            (json!("something new"), ErrorKind::Other("research-failed".into())),
            (json!([]), ErrorKind::Other("research-failed".into())),
        ] {
            let error = of_interaction(
                &json!({ "errors": [{ "code": code, "message": "It broke." }, { "message": "It broke" }, 5] }),
                None,
            );
            assert_eq!(error.kind, kind, "{code}");
            assert_eq!(error.message, "Gemini's research failed: It broke");
        }
        assert!(of_interaction(&json!({}), None).message.contains("does not say why"));
        let of_output = of_interaction(&json!({}), Some(&json!({ "code": 8, "message": "full" })));
        assert_eq!(of_output.kind, ErrorKind::RateLimited(None));
        assert_eq!(of_output.message, "Gemini's research failed: full");
    }
}
