//! What the stand-in of the Gemini API can answer, in the API's own words.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use serde_json::{Value, json};

/// What one call is answered with.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Text, in as many pieces, and why it ended (`STOP`, `MAX_TOKENS`, `SAFETY`, …).
    Text { pieces: Vec<String>, finish: &'static str },
    /// Tools that the model wants to use: names and arguments.
    Calls(Vec<(String, Value)>),
    /// An error of the API.
    Failure { status: u16, body: Value },
    /// The prompt itself is blocked: no candidate at all.
    Blocked,
    /// Never: until the stand-in is dropped.
    Hang,
    /// The first piece at once, each further one when the latch is opened.
    Slow { pieces: Vec<String>, latch: Latch },
    /// A piece of an answer, and then the connection breaks.
    Cut,
    /// Text of at least this many bytes, in pieces of five megabytes.
    Flood { bytes: usize },
}

impl Answer {
    /// A whole answer, in two pieces.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let middle = text.floor_char_boundary(text.len() / 2);
        let (start, end) = text.split_at(middle);
        let pieces = [start, end].into_iter().filter(|piece| !piece.is_empty());
        Self::Text { pieces: pieces.map(str::to_owned).collect(), finish: "STOP" }
    }

    pub fn search(query: &str) -> Self {
        Self::Calls(vec![("google_web_search".into(), json!({ "query": query }))])
    }

    /// The page reader takes only addresses that are not private: a number such as
    /// `https://93.184.215.14/a` needs no name to be looked up.
    pub fn fetch(prompt: &str) -> Self {
        Self::Calls(vec![("web_fetch".into(), json!({ "prompt": prompt }))])
    }

    pub fn read_file(path: &str) -> Self {
        Self::Calls(vec![("read_file".into(), json!({ "file_path": path }))])
    }

    /// No text at all.
    pub fn empty() -> Self {
        Self::Text { pieces: vec![String::new()], finish: "STOP" }
    }

    pub fn safety_block() -> Self {
        Self::Text { pieces: Vec::new(), finish: "SAFETY" }
    }

    /// Cut off at the model's output limit.
    pub fn max_tokens(text: &str) -> Self {
        Self::Text { pieces: vec![text.to_owned()], finish: "MAX_TOKENS" }
    }

    pub fn bad_key() -> Self {
        let message = "API key not valid. Please pass a valid API key.";
        let details = json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": { "service": "generativelanguage.googleapis.com" },
        }]);
        Self::failure(400, "INVALID_ARGUMENT", message, &details)
    }

    pub fn unauthorized() -> Self {
        let message = "Request had invalid authentication credentials.";
        Self::failure(401, "UNAUTHENTICATED", message, &json!([]))
    }

    pub fn forbidden() -> Self {
        let message = "Permission denied on resource project.";
        Self::failure(403, "PERMISSION_DENIED", message, &json!([]))
    }

    pub fn model_not_found(model: &str) -> Self {
        let message = format!(
            "models/{model} is not found for API version v1beta, or is not supported for \
             generateContent. Call ListModels to see the list of available models and their \
             supported methods."
        );
        Self::failure(404, "NOT_FOUND", &message, &json!([]))
    }

    /// A limit that passes within a minute.
    pub fn rate_limited(seconds: u32) -> Self {
        Self::quota(
            "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
            &format!("\nPlease retry in {seconds}s."),
            &json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s"),
            }),
        )
    }

    /// A limit that does not pass today.
    pub fn daily_quota() -> Self {
        let help = json!({ "@type": "type.googleapis.com/google.rpc.Help", "links": [] });
        Self::quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "", &help)
    }

    pub fn internal_error() -> Self {
        Self::failure(500, "INTERNAL", "An internal error has occurred.", &json!([]))
    }

    pub fn overloaded() -> Self {
        let message = "The model is overloaded. Please try again later.";
        Self::failure(503, "UNAVAILABLE", message, &json!([]))
    }

    fn quota(id: &str, more: &str, detail: &Value) -> Self {
        let message = format!(
            "You exceeded your current quota, please check your plan and billing details.{more}"
        );
        let violation = json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric":
                    "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": id,
            }],
        });
        Self::failure(429, "RESOURCE_EXHAUSTED", &message, &json!([violation, detail]))
    }

    pub fn failure(status: u16, name: &str, message: &str, details: &Value) -> Self {
        let error =
            json!({ "code": status, "message": message, "status": name, "details": details });
        Self::Failure { status, body: json!({ "error": error }) }
    }
}

/// Something that is waited for, and happens once for all who wait.
#[derive(Debug, Clone, Default)]
pub struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn open(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    pub fn wait(&self) {
        let open = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.1.wait_while(open, |open| !*open));
    }
}
