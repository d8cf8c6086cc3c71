//! What becomes of a connection once a request was read: the true answer, or what a
//! fault makes of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::answers;
use super::http::Response;
use super::script::Fault;

/// What is done with a connection.
pub enum Reply {
    Answer(Response),
    Half(Response),
    Cut,
    Hang,
    Later(Duration, Response),
}

impl Fault {
    /// The answer of one that takes nothing.
    pub fn before(&self) -> Option<Reply> {
        Some(match self {
            Self::Status(status) => Reply::Answer(Response::json(
                *status,
                &answers::error(*status, "The stand-in was told to."),
            )),
            Self::RateLimited(seconds) => {
                let body = answers::error("rate_limit_exceeded", "Too many requests.");
                let mut response = Response::json(429, &body);
                response.headers.push(("retry-after", seconds.to_string()));
                Reply::Answer(response)
            }
            Self::RetryInfo(seconds) => {
                Reply::Answer(Response::json(429, &answers::retry_info(*seconds)))
            }
            Self::CutBefore => Reply::Cut,
            _ => return None,
        })
    }

    /// What becomes of the true answer.
    pub fn after(&self, response: Response) -> Reply {
        let body = || serde_json::from_slice::<Value>(&response.body).unwrap_or_default();
        Reply::Answer(match self {
            Self::Delay(delay) => return Reply::Later(*delay, response),
            Self::TakenThenLater(status, delay) => {
                let error = answers::error(*status, "Something broke on the way back.");
                return Reply::Later(*delay, Response::json(*status, &error));
            }
            Self::CutAfter => return Reply::Cut,
            Self::CutMiddle => return Reply::Half(response),
            Self::Hang => return Reply::Hang,
            Self::TakenThen(status) => Response::json(
                *status,
                &answers::error(*status, "Something broke on the way back."),
            ),
            Self::Says(words) => {
                Response { status: 200, headers: Vec::new(), body: words.clone().into_bytes() }
            }
            Self::Huge(bytes) => {
                let padding = "x".repeat(*bytes);
                let body = format!("{{\"status\": \"in_progress\", \"padding\": \"{padding}\"}}");
                Response { status: 200, headers: Vec::new(), body: body.into_bytes() }
            }
            Self::OtherId => {
                let mut body = body();
                body["id"] = "v1_ffffffffffffffffffffffffffffffff".into();
                Response::json(200, &body)
            }
            Self::WrongTypes => {
                let lies = json!({
                    "id": 5, "status": ["completed"], "steps": { "type": "model_output" },
                    "usage": "much", "agent": null, "errors": 7,
                });
                Response::json(200, &lies)
            }
            _ => response,
        })
    }
}

impl Reply {
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answer(response) | Self::Later(_, response) => Some(response.status),
            Self::Half(_) | Self::Cut | Self::Hang => None,
        }
    }
}
