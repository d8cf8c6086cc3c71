//! What the user may set, with the defaults that the schema also tells.

use bathysphere_sdk::meta::Problem;
use serde::Deserialize;

/// The plugin's table of plugins.toml.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub base_url: String,
    pub agent: String,
    pub thinking_summaries: String,
    pub visualization: String,
    pub start_timeout_seconds: u32,
    pub timeout_seconds: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_url: "https://generativelanguage.googleapis.com".into(),
            agent: "deep-research-preview-04-2026".into(),
            thinking_summaries: "auto".into(),
            visualization: "off".into(),
            start_timeout_seconds: 60,
            timeout_seconds: 30,
        }
    }
}

/// The settings as a JSON Schema; the defaults are those of [`Settings`].
pub const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "research-gemini",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "base_url": {
      "description": "Where the Interactions API is, without the version. Whoever sets it grants its host, and has the key sent there; GOOGLE_GEMINI_BASE_URL goes before it.",
      "type": "string", "minLength": 1, "maxLength": 2000,
      "default": "https://generativelanguage.googleapis.com"
    },
    "agent": {
      "description": "Who researches where the question does not say: deep-research-preview-04-2026, deep-research-max-preview-04-2026 (longer, and dearer), deep-research-pro-preview-12-2025 (older), or one that came later.",
      "type": "string", "minLength": 1, "maxLength": 200,
      "default": "deep-research-preview-04-2026"
    },
    "thinking_summaries": {
      "description": "Whether the agent tells what it thinks, which is most of the progress that can be shown: `auto` or `none`.",
      "type": "string", "enum": ["auto", "none"], "default": "auto"
    },
    "visualization": {
      "description": "Whether the agent may draw charts. They are pictures, which are left out of the report: `off` or `auto`.",
      "type": "string", "enum": ["off", "auto"], "default": "off"
    },
    "start_timeout_seconds": {
      "description": "How long to wait for the answer to a start. Whoever gives up early does not know whether it was started, and paid for.",
      "type": "integer", "minimum": 1, "maximum": 60, "default": 60
    },
    "timeout_seconds": {
      "description": "How long to wait for the answer to anything else.",
      "type": "integer", "minimum": 1, "maximum": 60, "default": 30
    }
  }
}"#;

/// Checks what the schema cannot.
pub fn validate(settings: &str) -> Result<(), Vec<Problem>> {
    let parsed: Settings = bathysphere_sdk::checked_settings(settings, "research-gemini")?;
    let mut problems = Vec::new();
    if let Err(reason) = base_url(&parsed.base_url) {
        problems.push(Problem {
            path: "/base_url".into(),
            // Without the value: it may hold a password.
            message: format!("the base URL {reason}"),
            hint: Some("write a URL such as \"https://generativelanguage.googleapis.com\"".into()),
        });
    }
    if !is_agent(&parsed.agent) {
        problems.push(Problem {
            path: "/agent".into(),
            message: format!("`{}` is not the name of an agent", parsed.agent.escape_debug()),
            hint: Some("write a name such as \"deep-research-preview-04-2026\"".into()),
        });
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// What a request adds its path to; or what is wrong with it.
pub fn base_url(text: &str) -> Result<&str, &'static str> {
    let (scheme, rest) = text.split_once("://").ok_or("has no scheme (https://)")?;
    let encrypted = match scheme {
        "https" => true,
        "http" => false,
        _ => return Err("is neither https nor http"),
    };
    if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("holds spaces or characters that cannot be printed");
    }
    if rest.contains(['?', '#']) {
        return Err("has a query or a fragment, and a path is added to it");
    }
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return Err("holds a user name or a password, which would end up in logs");
    }
    if authority.is_empty() {
        return Err("names no host");
    }
    if !encrypted && !is_this_machine(authority) {
        return Err("is plain http, over which a key is sent to this machine alone");
    }
    Ok(text.trim_end_matches('/'))
}

fn is_this_machine(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Which agents there are changes by the month; a name has no spaces in any.
pub fn is_agent(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_tells_the_defaults_that_the_code_uses() {
        assert_eq!(bathysphere_sdk::schema_defaults(SCHEMA), Ok(Settings::default()));
        assert!(validate("{}").is_ok());
    }

    #[test]
    fn a_base_url_is_checked_and_never_repeated() {
        for (url, used) in [
            ("https://example.com/", "https://example.com"),
            ("https://example.com/gemini//", "https://example.com/gemini"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
            ("http://localhost", "http://localhost"),
        ] {
            assert_eq!(base_url(url), Ok(used));
        }
        for url in [
            "example.com",
            "ftp://example.com",
            "https://",
            "https:///v1",
            "https://user:hunter2@example.com",
            "https://example.com/?key=hunter2",
            "https://example.com/#a",
            "https://exa mple.com",
            "http://example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
        ] {
            let problems = validate(&serde_json::json!({ "base_url": url }).to_string());
            let problems = problems.expect_err(url);
            assert_eq!(problems[0].path, "/base_url");
            assert!(!format!("{problems:?}").contains("hunter2"), "{problems:?}");
        }
    }

    #[test]
    fn an_agent_is_one_word() {
        assert!(validate(r#"{"agent": "deep-research-pro-preview-12-2025"}"#).is_ok());
        assert_eq!(validate(r#"{"agent": "two words"}"#).unwrap_err()[0].path, "/agent");
        assert!(validate(r#"{"agnet": "x"}"#).unwrap_err()[0].message.contains("agnet"));
    }
}
