//! What went wrong, in the contract's words: the CLI's exit codes, the failures that
//! exit with 0, and what the gate says. Messages are short; they hold neither the
//! prompt nor a stack trace.

use bathysphere_sdk::types::{Error, ErrorKind};
use serde_json::Value;

use crate::error::{error, other, quoted};
use crate::settings::Settings;
use crate::transcript::{Ending, Outcome};

/// A wait that is longer is not one that passes soon.
const SOON_SECONDS: u32 = 600;

const INSTALL: &str = "install it with `npm install -g @google/gemini-cli` (it needs Node.js 20 \
    or newer), and set GEMINI_API_KEY (a key is made at https://aistudio.google.com/apikey); or \
    choose another backend: `--docs DIR` answers from your own documents, and another `agent` \
    can be named in [tools] of plugins.toml";
const KEY: &str = "set GEMINI_API_KEY to a valid key (made at https://aistudio.google.com/apikey); \
    for Vertex AI set `auth = \"vertex-ai\"` in [plugins.agent-gemini-cli.settings]";
const VERTEX: &str = "`auth = \"vertex-ai\"` needs GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and \
    GOOGLE_CLOUD_LOCATION with the credentials that GOOGLE_APPLICATION_CREDENTIALS names; they \
    have to be in `grants.environment` of [plugins.agent-gemini-cli]";
const MACHINE: &str = "`auth = \"compute-default-credentials\"` needs a machine on Google Cloud whose \
    service account may use Gemini; elsewhere set another `auth` in \
    [plugins.agent-gemini-cli.settings]";
const MODEL: &str = "correct `model` or `correction_model` in [plugins.agent-gemini-cli.settings] \
    (or GEMINI_MODEL, GEMINI_CORRECTION_MODEL), or leave it out and let the CLI choose";
const WAIT: &str = "wait a little and ask again, or use another model or key";
const QUOTA: &str = "wait until the quota is renewed, raise it or its billing at \
    https://aistudio.google.com, or use another model or key";
const UPDATE: &str = "update it with `npm install -g @google/gemini-cli@latest`: version 0.61 or \
    newer is needed";
const SHORTER: &str = "ask a narrower question, or use a model with a larger context";
const AGAIN: &str = "ask again; if it happens every time, put the question differently or use \
    another model";
const SLOW: &str = "ask a narrower question, or raise `timeout_seconds` in \
    [plugins.agent-gemini-cli.settings]";

/// What the gate said against starting or going on.
pub fn of_the_gate(gate: Error, settings: &Settings) -> Error {
    match &gate.kind {
        ErrorKind::NotFound => other(
            "cli-not-found",
            format!("the Gemini CLI (`{}`) cannot be started: {}", settings.program, gate.message),
            INSTALL,
        ),
        ErrorKind::Other(name) if name == "timeout" => other(
            "timeout",
            format!("the Gemini CLI did not end within {} s", settings.timeout_seconds),
            SLOW,
        ),
        ErrorKind::Other(name) if name == "too-large" => {
            other("too-large", format!("too much for one run: {}", gate.message), AGAIN)
        }
        _ => gate,
    }
}

/// More lines than any answer has.
pub fn flood() -> Error {
    other("too-large", "the Gemini CLI wrote more than any answer takes, and was ended", AGAIN)
}

pub fn prompt_too_long() -> Error {
    other("context-overflow", "the prompt is longer than the Gemini CLI reads (8 MiB)", SHORTER)
}

/// Why a run that has ended is no answer; none if it is one.
pub fn of_the_run(
    outcome: &Outcome,
    ending: Ending,
    prompt: &str,
    settings: &Settings,
) -> Option<Error> {
    let answered = !outcome.text.trim().is_empty();
    if ending == Ending::Exited(0) && answered && !outcome.failed && !outcome.cut {
        return None;
    }
    let report = Report::new(outcome, ending, settings);
    Some(report.known(prompt).unwrap_or_else(|| report.unknown(outcome, prompt)))
}

/// All that was said about a failure.
struct Report {
    ending: Ending,
    /// HTTP status of the API.
    status: Option<u32>,
    /// The API's or the CLI's own words, without wrapping.
    message: String,
    /// Everything, for looking up telling words.
    all: String,
    silent: bool,
    asked: Option<bool>,
    /// What the login that is set needs.
    login: &'static str,
}

impl Report {
    fn new(outcome: &Outcome, ending: Ending, settings: &Settings) -> Self {
        let trouble = outcome.trouble.as_ref();
        let told = trouble.map(|trouble| unwrapped(&trouble.message)).unwrap_or_default();
        let api: Option<Value> = serde_json::from_str(told).ok();
        let api_error = api.as_ref().map(|value| &value["error"]);
        let message = api_error
            .and_then(|error| error["message"].as_str())
            .map(str::to_owned)
            .or_else(|| (!told.is_empty()).then(|| told.to_owned()))
            .or_else(|| outcome.complaints.last().cloned())
            .unwrap_or_else(|| cause_in(&outcome.error_output));
        let number = |value: &Value| value.as_u64().and_then(|code| u32::try_from(code).ok());
        let status = api_error
            .and_then(|error| number(&error["code"]))
            .or_else(|| trouble.and_then(|trouble| number(&trouble.code)))
            .filter(|code| (400..600).contains(code))
            .or_else(|| status_of(ending))
            .or_else(|| status_in(&outcome.error_output));
        let all = [
            trouble.map_or("", |trouble| trouble.kind.as_str()),
            told,
            &outcome.complaints.join("\n"),
            &outcome.error_output,
        ]
        .join("\n");
        Self {
            ending,
            status,
            message,
            all,
            silent: trouble.is_none() && outcome.complaints.is_empty(),
            asked: outcome.asked,
            login: match settings.auth.as_str() {
                "vertex-ai" => VERTEX,
                "compute-default-credentials" => MACHINE,
                _ => KEY,
            },
        }
    }

    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.all.contains(word))
    }

    /// The message in front, with the cause where it may be quoted.
    fn told(&self, message: &str, prompt: &str) -> String {
        match quoted(&self.message, prompt) {
            Some(cause) => format!("{message}: {cause}"),
            None => message.to_owned(),
        }
    }

    fn known(&self, prompt: &str) -> Option<Error> {
        self.own(prompt)
            .or_else(|| self.answer())
            .or_else(|| self.api(prompt))
            .or_else(|| self.network(prompt))
    }

    /// What the CLI itself objects to.
    fn own(&self, prompt: &str) -> Option<Error> {
        let code = match self.ending {
            Ending::Exited(code) => code,
            Ending::Signalled(signal) => {
                return Some(error(
                    ErrorKind::Unavailable,
                    format!("the Gemini CLI was ended by signal {signal}"),
                    "if it happens again, see whether the machine runs out of memory (one run \
                     takes about 300 MB), or lower `limits.concurrency`",
                ));
            }
            Ending::Storm => return None,
        };
        if self.says(&["must specify the GEMINI_API_KEY", "set an Auth method"]) || code == 41 {
            let message = self.told("the Gemini CLI has no login", prompt);
            return Some(error(ErrorKind::Auth, message, self.login));
        }
        if self.says(&["FatalTurnLimitedError", "Maximum session turns", "Loop detected"])
            || code == 53
        {
            return Some(other(
                "turn-limit",
                "the model used tools again and again without coming to an answer",
                "ask a narrower question, or raise `max_turns` in \
                 [plugins.agent-gemini-cli.settings]",
            ));
        }
        if code == 55 || self.says(&["not running in a trusted directory"]) {
            return Some(error(
                ErrorKind::Refused,
                "the Gemini CLI does not trust its working directory",
                "see whether its system settings forbid GEMINI_CLI_TRUST_WORKSPACE",
            ));
        }
        if code == 127 || self.says(&["node: No such file", "'node': No such file"]) {
            return Some(other(
                "cli-not-found",
                "the Gemini CLI cannot be started: Node.js is not installed",
                INSTALL,
            ));
        }
        if code != 0 && self.says(&["Unknown argument", "Invalid values:", "Unsupported engine"]) {
            let message = "this Gemini CLI is too old: it does not know how it was called";
            return Some(other("cli-outdated", message, UPDATE));
        }
        match code {
            42 => Some(error(
                ErrorKind::InvalidInput,
                self.told("the Gemini CLI does not accept the prompt", prompt),
                "put the question differently",
            )),
            44 => Some(other("cli-failed", "the Gemini CLI cannot start its sandbox", UPDATE)),
            52 => Some(other(
                "cli-failed",
                self.told("the Gemini CLI does not accept its settings", prompt),
                UPDATE,
            )),
            _ => None,
        }
    }

    /// What was wrong with the answer; the CLI exits with 0 all the same.
    fn answer(&self) -> Option<Error> {
        if self.says(&["blocked due to safety", "recitation/copyright", "other policy settings"]) {
            return Some(other(
                "safety-blocked",
                "the model's answer was blocked by the service's rules",
                "put the question differently, or use another model",
            ));
        }
        if self.says(&["exceeded the token limit"]) {
            return Some(other(
                "empty-answer",
                "the model reached its output limit before it answered",
                "ask a narrower question, or use a model with a larger output",
            ));
        }
        if self.says(&["empty response", "no final response text", "without a finish reason"]) {
            return Some(other("empty-answer", "the model gave an empty answer", AGAIN));
        }
        if self.ending != Ending::Exited(0) || !self.silent {
            return None;
        }
        Some(match self.asked {
            Some(false) => other(
                "context-overflow",
                "the question and what belongs to it are larger than the model's context",
                SHORTER,
            ),
            Some(true) => other("empty-answer", "the model gave an empty answer", AGAIN),
            // It was told to stop, and then exits as if all were well.
            None => {
                error(ErrorKind::Unavailable, "the Gemini CLI ended before it had answered", AGAIN)
            }
        })
    }

    /// What the API objects to.
    fn api(&self, prompt: &str) -> Option<Error> {
        if self.says(&["API_KEY_INVALID", "API key not valid", "API key expired"]) {
            let message = "the Gemini API does not accept the key";
            return Some(error(ErrorKind::Auth, message, self.login));
        }
        if self.says(&["ModelNotFoundError", "is not found for API version"]) {
            return Some(self.model_not_found(prompt));
        }
        if self.says(&["exceeds the maximum number of tokens", "input token count"]) {
            let message = "the question and what belongs to it are larger than the model's context";
            return Some(other("context-overflow", message, SHORTER));
        }
        if self.says(&["TerminalQuotaError", "daily quota", "PerDay", "credits are depleted"]) {
            return Some(self.quota(prompt));
        }
        if self.says(&["location is not supported"]) {
            return Some(error(
                ErrorKind::Refused,
                "the Gemini API is not offered where you are",
                "use Vertex AI (`auth = \"vertex-ai\"`), or another backend",
            ));
        }
        // A limit that the CLI itself waits for is told without its status.
        let limit = self.says(&["exceeded your current quota"]).then_some(429);
        let status = self.status.or(limit)?;
        Some(match status {
            400 => error(
                ErrorKind::InvalidInput,
                self.told("the Gemini API refuses the request", prompt),
                "put the question differently, or use another model",
            ),
            401 | 403 => error(
                ErrorKind::Auth,
                self.told("the Gemini API refuses the login", prompt),
                self.login,
            ),
            404 => self.model_not_found(prompt),
            429 => match self.wait_seconds() {
                Some(seconds) if seconds > SOON_SECONDS => self.quota(prompt),
                wait => error(
                    ErrorKind::RateLimited(wait),
                    self.told("the Gemini API takes no more requests for now", prompt),
                    WAIT,
                ),
            },
            408 | 499 | 500.. => error(
                ErrorKind::Unavailable,
                self.told(&format!("the Gemini API has a passing fault ({status})"), prompt),
                WAIT,
            ),
            _ => other(
                "api-error",
                self.told(&format!("the Gemini API refuses the request ({status})"), prompt),
                AGAIN,
            ),
        })
    }

    fn network(&self, prompt: &str) -> Option<Error> {
        const WORDS: &[&str] = &[
            "fetch failed",
            "terminated",
            "ECONNREFUSED",
            "ECONNRESET",
            "ENOTFOUND",
            "ETIMEDOUT",
            "EAI_AGAIN",
            "socket hang up",
            "other side closed",
            "self-signed certificate",
            "unable to get local issuer certificate",
        ];
        self.says(WORDS).then(|| {
            error(
                ErrorKind::Unavailable,
                self.told("the Gemini API cannot be reached", prompt),
                "see whether this machine is online; behind a proxy set HTTPS_PROXY, and \
                 NODE_EXTRA_CA_CERTS where it has a certificate of its own",
            )
        })
    }

    fn model_not_found(&self, prompt: &str) -> Error {
        other("model-not-found", self.told("the Gemini API does not know the model", prompt), MODEL)
    }

    fn quota(&self, prompt: &str) -> Error {
        other("quota-exhausted", self.told("the quota of the Gemini API is used up", prompt), QUOTA)
    }

    /// The wait that the API suggests, rounded up.
    fn wait_seconds(&self) -> Option<u32> {
        let after = ["Please retry in ", "Suggested retry after "]
            .iter()
            .find_map(|words| self.all.split_once(words).map(|(_, rest)| rest))?;
        let end = after.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = after[..end].parse().ok()?;
        let unit = match after[end..].get(..2) {
            Some("ms") => 0.001,
            Some(unit) if unit.starts_with('s') => 1.0,
            Some(unit) if unit.starts_with('m') => 60.0,
            Some(unit) if unit.starts_with('h') => 3600.0,
            _ => return None,
        };
        Some((number * unit).ceil() as u32)
    }

    fn unknown(&self, outcome: &Outcome, prompt: &str) -> Error {
        let how = match self.ending {
            Ending::Exited(code) => format!("the Gemini CLI failed with exit code {code}"),
            Ending::Signalled(signal) => format!("the Gemini CLI was ended by signal {signal}"),
            Ending::Storm => {
                return error(
                    ErrorKind::Unavailable,
                    self.told("the Gemini API fails again and again", prompt),
                    WAIT,
                );
            }
        };
        let message = if outcome.text.trim().is_empty() || outcome.failed {
            self.told(&how, prompt)
        } else {
            how
        };
        other("cli-failed", message, "try the CLI by itself: `gemini -p hello`; or update it")
    }
}

/// `[API Error: …]` and what the CLI adds after it, taken off.
fn unwrapped(message: &str) -> &str {
    let Some((_, rest)) = message.split_once("[API Error: ") else { return message.trim() };
    rest.rsplit_once(']').map_or(rest, |(inner, _)| inner).trim()
}

/// The CLI ends with the API's status, of which a process keeps the last eight bits.
fn status_of(ending: Ending) -> Option<u32> {
    match ending {
        Ending::Exited(code @ 144..=255) => u32::try_from(code).ok().map(|code| code + 256),
        _ => None,
    }
}

/// The status that a stack trace ends with, or that a failed attempt names.
fn status_in(error_output: &str) -> Option<u32> {
    ["\n  status: ", "\n  code: ", "failed with status "].iter().find_map(|before| {
        let (_, rest) = error_output.rsplit_once(before)?;
        let status = rest.get(..3)?.parse().ok()?;
        (400..600).contains(&status).then_some(status)
    })
}

/// The line that says most, of a page of them.
fn cause_in(error_output: &str) -> String {
    let noise = |line: &str| {
        line.is_empty()
            || line.starts_with("at ")
            || line.starts_with(['{', '}', '[', ']', '"'])
            || [
                "Warning:",
                "Ripgrep is not",
                "An unexpected critical",
                "Usage:",
                "status:",
                "code:",
            ]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let lines = || error_output.lines().map(str::trim).filter(|line| !noise(line));
    let telling = lines().find_map(|line| {
        let (_, cause) = line.split_once("Error: ")?;
        let api: Value = serde_json::from_str(cause).unwrap_or_default();
        Some(api["error"]["message"].as_str().unwrap_or(cause).to_owned())
    });
    telling.unwrap_or_else(|| {
        let mut lines = lines();
        let first = lines.next().unwrap_or_default().to_owned();
        // What a colon announces is a list.
        let listed = lines.take_while(|line| first.ends_with(':') && line.starts_with('•'));
        listed.fold(first.clone(), |cause, line| format!("{cause} {line}"))
    })
}
