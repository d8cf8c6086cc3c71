//! One interaction as the vendor keeps it: what of it can be seen by now.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::answers;
use super::http::Response;
use super::script::{Ending, Script, Until};

pub struct Interaction {
    pub id: Arc<str>,
    pub input: Arc<str>,
    agent: String,
    pub script: Script,
    created: String,
    started: Instant,
    /// Polls that came, and those that were answered truly.
    pub polls: usize,
    pub looked_at: usize,
    pub cancels: usize,
    cancelled: bool,
    /// Once it was over it stays so.
    over: bool,
}

impl Interaction {
    pub fn new(id: Arc<str>, input: Arc<str>, agent: String, script: Script) -> Self {
        Self {
            id,
            input,
            agent,
            script,
            created: now(),
            started: Instant::now(),
            polls: 0,
            looked_at: 0,
            cancels: 0,
            cancelled: false,
            over: false,
        }
    }

    fn is_over(&mut self, released: bool) -> bool {
        self.over = self.over
            || match self.script.until {
                Until::AtOnce => true,
                Until::Polls(polls) => self.looked_at > polls,
                Until::Elapsed(time) => self.started.elapsed() >= time,
                Until::Released => released,
                Until::Never => false,
            };
        self.over
    }

    /// How many of the steps can be seen by now.
    fn visible(&self, steps: usize) -> usize {
        match self.script.until {
            _ if self.over => steps,
            Until::Polls(polls) if polls > 0 => (steps * self.looked_at / (polls + 1)).min(steps),
            Until::Elapsed(time) if !time.is_zero() => {
                let part = self.started.elapsed().as_secs_f64() / time.as_secs_f64();
                ((steps as f64 * part) as usize).min(steps)
            }
            _ => self.looked_at.min(steps),
        }
    }

    pub fn show(&mut self, released: bool) -> Response {
        let over = self.is_over(released);
        if let (true, Ending::Gone(status), false) = (over, &self.script.ending, self.cancelled) {
            return gone(*status);
        }
        Response::json(200, &self.interaction())
    }

    pub fn cancel(&mut self, released: bool) -> Response {
        let over = self.is_over(released);
        if self.script.refuses_cancel || (over && !self.cancelled) {
            if let (true, Ending::Gone(status)) = (over, &self.script.ending) {
                return gone(*status);
            }
            let message = "The interaction cannot be cancelled in its current state.";
            return Response::json(400, &answers::error("failed_precondition", message));
        }
        self.cancelled = true;
        Response::json(200, &self.interaction())
    }

    /// As it is now.
    fn interaction(&self) -> Value {
        let Script { rounds, ending, report, draft, first_steps, .. } = &self.script;
        let over = self.over && !self.cancelled;
        let mut steps = answers::steps(&self.input, *rounds);
        steps.truncate(if self.cancelled {
            self.looked_at.min(steps.len())
        } else {
            self.visible(steps.len())
        });
        let output = match report {
            Some(text) => answers::of_text(text, &[]),
            None => answers::output(&self.input, *rounds),
        };
        let (status, written) = match ending {
            _ if self.cancelled => ("cancelled", false),
            _ if !over => ("in_progress", false),
            Ending::Completed => ("completed", true),
            Ending::Empty => ("completed", false),
            Ending::Failed(..) => ("failed", false),
            Ending::Status(word, written) => (word.as_str(), *written),
            Ending::Gone(_) => ("in_progress", false),
        };
        let mut shown = json!({
            "id": &*self.id,
            "object": "interaction",
            "status": status,
            "agent": self.agent,
            "created": self.created,
            "updated": now(),
        });
        steps.splice(..0, first_steps.iter().cloned());
        if written {
            steps.push(output);
        } else if let Some(draft) = draft {
            steps.push(answers::of_text(draft, &[]));
        }
        if !steps.is_empty() {
            shown["steps"] = steps.into();
        }
        if let (true, Ending::Failed(code, message)) = (over, ending) {
            shown["errors"] = json!([{ "code": code, "message": message }]);
        }
        if over || self.cancelled || self.script.tells_usage {
            let rounds = if over { *rounds } else { self.looked_at.min(*rounds) };
            shown["usage"] = answers::usage(rounds);
        }
        shown
    }
}

pub fn gone(status: u16) -> Response {
    let code = if status == 403 { "permission_denied" } else { "not_found" };
    Response::json(status, &answers::error(code, "Interaction not found or not accessible."))
}

/// As the vendor writes it, to the second.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
