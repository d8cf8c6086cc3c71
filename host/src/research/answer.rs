//! What an agent answers: the report, and what it says about it. Only the report
//! is needed; the rest is taken as it comes, because a model that gets a list
//! wrong has still written a report.

use serde::Deserialize;
use serde_json::Value;

use crate::gates::secrets::Mask;
use crate::plugins::contract::{Masked, Source};
use crate::prompts::is_placeholder;

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Markdown.
    pub report: String,
    /// The agent says of itself that it did what it was asked.
    pub success: bool,
    /// Where the prompt asks for it.
    pub verified: Option<bool>,
    pub sources: Vec<Source>,
    pub queries: Vec<String>,
    pub summary: Option<String>,
}

#[derive(Deserialize)]
struct Raw {
    report: String,
    #[serde(default)]
    success: Value,
    verified: Option<bool>,
    #[serde(default)]
    metadata: Value,
}

impl Answer {
    /// Reads what the extractor found; the error says what is missing.
    pub fn read(json: &str) -> Result<Self, String> {
        let raw: Raw = serde_json::from_str(json).map_err(|error| error.to_string())?;
        if raw.report.trim().is_empty() {
            return Err("`report` is empty".to_owned());
        }
        if is_placeholder(&raw.report) {
            return Err("`report` is the example's own, with nothing in it".to_owned());
        }
        let list = |name: &str| raw.metadata[name].as_array().cloned().unwrap_or_default();
        Ok(Self {
            sources: list("sources_visited").iter().filter_map(source).collect(),
            queries: list("search_queries_used")
                .iter()
                .filter_map(|query| Some(query.as_str()?.trim().to_owned()))
                .filter(|query| !query.is_empty())
                .collect(),
            summary: raw.metadata["summary"]
                .as_str()
                .map(|summary| summary.trim().to_owned())
                .filter(|summary| !summary.is_empty()),
            report: raw.report,
            success: raw.success.as_bool().unwrap_or(true),
            verified: raw.verified,
        })
    }
}

/// Its texts were decoded after the agent's own were masked.
impl Masked for Answer {
    fn hide(&mut self, mask: &Mask) {
        let Self { report, success: _, verified: _, sources, queries, summary } = self;
        report.hide(mask);
        sources.hide(mask);
        queries.hide(mask);
        summary.hide(mask);
    }
}

/// A source as models name them: a URL, a URL among words, or an object.
fn source(value: &Value) -> Option<Source> {
    let (text, title) = match value {
        Value::String(text) => (text.as_str(), None),
        Value::Object(fields) => {
            let text = ["url", "uri", "link"].iter().find_map(|name| fields.get(*name)?.as_str());
            (text?, fields.get("title").and_then(Value::as_str))
        }
        _ => return None,
    };
    let start = ["https://", "http://"].iter().filter_map(|scheme| text.find(scheme)).min()?;
    let rest = &text[start..];
    let end = rest.find(|character: char| character.is_whitespace() || "<>\"`".contains(character));
    let url = &rest[..end.unwrap_or(rest.len())];
    let url = url.trim_end_matches(['.', ',', ';']);
    // A link in brackets ends with the bracket, unless the URL opened it.
    let brackets = |bracket: char| url.matches(bracket).count();
    let url = match url.strip_suffix(')') {
        Some(inner) if brackets(')') > brackets('(') => inner,
        _ => url,
    };
    let before = text[..start].trim().trim_end_matches(['(', '[', ']', '-', '–', ':', '<']).trim();
    let title = title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or(before);
    Some(Source {
        url: url.to_owned(),
        title: title.trim_start_matches('[').to_owned(),
        location: None,
        published: None,
        // Nobody saw the agent open it.
        extra: vec![("named_by".to_owned(), "agent".to_owned())],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::secrets::Secret;

    #[test]
    fn the_whole_form() {
        let answer = Answer::read(
            r##"{"success": true, "verified": false, "report": "# Tides",
                "metadata": {"sources_visited": ["https://tides.example/a"],
                             "search_queries_used": ["spring tides", " "], "summary": "Twice."}}"##,
        )
        .unwrap();
        assert_eq!(answer.report, "# Tides");
        assert_eq!((answer.success, answer.verified), (true, Some(false)));
        assert_eq!(answer.sources[0].url, "https://tides.example/a");
        assert_eq!(answer.queries, ["spring tides"]);
        assert_eq!(answer.summary.as_deref(), Some("Twice."));
    }

    #[test]
    fn the_report_alone_is_an_answer_and_nothing_else_is() {
        let answer =
            Answer::read(r#"{"report": "x", "success": "yes", "metadata": "none"}"#).unwrap();
        assert!(answer.success && answer.sources.is_empty() && answer.verified.is_none());
        assert!(Answer::read(r#"{"report": " \n"}"#).unwrap_err().contains("empty"));
        assert!(Answer::read(r#"{"verified": true}"#).unwrap_err().contains("report"));
        assert!(Answer::read("[]").is_err());
    }

    #[test]
    fn no_text_of_it_keeps_a_secret() {
        let mask = Mask::new([Secret::new("clé-canary")]);
        let answer = Answer::read(
            r#"{"report": "a cl\u00e9-canary b", "metadata": {"summary": "cl\u00e9-canary",
                "sources_visited": [{"url": "https://a.example/cl\u00e9-canary",
                                     "title": "cl\u00e9-canary"}],
                "search_queries_used": ["cl\u00e9-canary"]}}"#,
        )
        .unwrap();
        assert!(answer.report.contains("clé-canary"));
        let masked = answer.masked(&mask);
        assert_eq!(masked.report, "a [secret] b");
        assert!(!format!("{masked:?}").contains("canary"), "{masked:?}");
    }

    #[test]
    fn sources_are_recognised_in_the_forms_that_models_use() {
        let found = |json: &str| source(&serde_json::from_str(json).unwrap());
        let both = |json: &str| found(json).map(|source| (source.url, source.title));
        let expected = |url: &str, title: &str| Some((url.to_owned(), title.to_owned()));
        assert_eq!(both(r#""https://a.example/x""#), expected("https://a.example/x", ""));
        assert_eq!(
            both(r#""Tide tables (https://a.example/x)""#),
            expected("https://a.example/x", "Tide tables")
        );
        assert_eq!(
            both(r#""[Tide tables](https://a.example/x_(y))""#),
            expected("https://a.example/x_(y)", "Tide tables")
        );
        assert_eq!(
            both(r#"{"title": "T", "url": "http://a.example"}"#),
            expected("http://a.example", "T")
        );
        assert_eq!(both(r#""Encyclopaedia, volume 3""#), None);
        assert_eq!(both("7"), None);
        assert_eq!(both(r#""javascript:alert(1)""#), None);
    }
}
