//! The four calls from start to end, over whatever sends: in the sandbox the http
//! gate, in tests a script. A start is sent once, and never again.

use bathysphere_sdk::http;
use bathysphere_sdk::research::{Job, Request};
use bathysphere_sdk::types::{Error, ErrorKind};
use serde_json::Value;

use crate::request::{self, Deed};
use crate::settings::Settings;
use crate::value::text;
use crate::{failure, job};

pub trait Outside {
    fn send(&mut self, request: &http::Request) -> Result<http::Response, Error>;
}

/// Starts an interaction. What the gate says of a request that did not get through
/// is passed on: it knows whether anything was sent.
pub fn start(
    settings: &Settings,
    request: &Request,
    outside: &mut impl Outside,
) -> Result<Job, Error> {
    let agent = request.model.as_deref().map_or("", str::trim);
    let agent = if agent.is_empty() { &settings.agent } else { agent };
    let sent = request::create(settings, &request.input, agent)?;
    let response = outside.send(&sent)?;
    if !is_success(&response) {
        let refused = failure::of_answer(&response);
        // Whoever redirects may have taken it first: the refusal is another's.
        if !response.url.is_empty() && !response.url.eq_ignore_ascii_case(&sent.url) {
            return Err(Error { kind: ErrorKind::Unavailable, ..refused });
        }
        return Err(refused);
    }
    let interaction = interaction(&response).ok_or_else(|| {
        failure::unreadable("it is not an interaction, and may have been started")
    })?;
    let id = text(&interaction, "id").filter(|id| request::is_usable(id)).ok_or_else(|| {
        failure::unreadable("it names no id by which the interaction could be asked for")
    })?;
    Ok(job::read(id, &interaction, Some(agent)))
}

/// Asks how far it is. An interaction that is gone, or that the key may not see, is
/// expired.
pub fn poll(settings: &Settings, id: &str, outside: &mut impl Outside) -> Result<Job, Error> {
    let response = outside.send(&request::existing(settings, id, Deed::Get)?)?;
    match response.status {
        403 | 404 => Ok(job::expired(id, failure::of_answer(&response))),
        _ if !is_success(&response) => Err(failure::of_answer(&response)),
        _ => {
            let interaction = interaction(&response)
                .filter(|interaction| interaction.get("status").is_some_and(Value::is_string))
                .ok_or_else(|| failure::unreadable("it is not an interaction"))?;
            if text(&interaction, "id").is_some_and(|told| told != id) {
                return Err(failure::unreadable("it is about another interaction"));
            }
            Ok(job::read(id, &interaction, None))
        }
    }
}

/// Ends it at the vendor. Where that is refused, or the answer does not say what
/// became of it, it is looked at: one that has ended is as it is.
pub fn cancel(settings: &Settings, id: &str, outside: &mut impl Outside) -> Result<Job, Error> {
    let response = outside.send(&request::existing(settings, id, Deed::Cancel)?)?;
    let refused = match response.status {
        404 => return Ok(job::expired(id, failure::of_answer(&response))),
        401 | 429 | 500.. => return Err(failure::of_answer(&response)),
        _ if is_success(&response) => {
            let told = interaction(&response)
                .filter(|interaction| interaction.get("status").is_some_and(Value::is_string))
                .filter(|interaction| text(interaction, "id").is_none_or(|told| told == id));
            if let Some(interaction) = told {
                return Ok(job::read(id, &interaction, None));
            }
            None
        }
        _ => Some(failure::of_answer(&response)),
    };
    let now = poll(settings, id, outside)?;
    match refused {
        Some(error) if !job::has_ended(&now) => Err(error),
        _ => Ok(now),
    }
}

/// Removes it at the vendor; what is gone already is removed.
pub fn delete(settings: &Settings, id: &str, outside: &mut impl Outside) -> Result<(), Error> {
    let response = outside.send(&request::existing(settings, id, Deed::Delete)?)?;
    if is_success(&response) || response.status == 404 {
        Ok(())
    } else {
        Err(failure::of_answer(&response))
    }
}

fn is_success(response: &http::Response) -> bool {
    (200..300).contains(&response.status)
}

fn interaction(response: &http::Response) -> Option<Value> {
    serde_json::from_slice(&response.body).ok().filter(Value::is_object)
}
