//! A user who hands questions to Gemini Deep Research, which is a stand-in: a home,
//! a key, and servers and commands that share one database.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use super::client::{Client, LEGACY_NEW};
use super::home::Home;
use super::interactions::Interactions;
use super::program::{self, DEADLINE, Finished};
use super::researcher::structured;

pub struct Explorer {
    pub home: Home,
    pub api: Arc<Interactions>,
    variables: Vec<(String, OsString)>,
}

/// The program that this user is told by: a line in a file for each task. It runs in
/// the home directory.
const HOOK: &str = r#"[notify]
desktop = false
command = ["sh", "-c", 'echo "$BATHYSPHERE_STATUS $BATHYSPHERE_TASK_ID" >> told']
"#;

/// Longer than any part of a test takes, and as long as the waiting time may be.
pub const PATIENTLY: f64 = 29.0;

impl Explorer {
    /// Whose start waits for nothing.
    pub fn new() -> Self {
        Self::with_config("")
    }

    /// Who names a plugins.toml with this text, too.
    pub fn with_config(text: &str) -> Self {
        Self::waiting(0.0, text)
    }

    /// Whose start waits for so long.
    pub fn who_waits(seconds: f64) -> Self {
        Self::waiting(seconds, "")
    }

    /// Looks at jobs come quickly, and nobody's real desktop is told.
    pub fn waiting(seconds: f64, text: &str) -> Self {
        let notify = if text.contains("[notify]") { "" } else { HOOK };
        let research = format!("[research]\npoll_seconds = 0.05\nwait_seconds = {seconds}\n");
        Self::at(Home::with_config(&format!("{research}\n{notify}\n{text}")))
    }

    /// Who lives there, and has a vendor of their own.
    pub fn at(home: Home) -> Self {
        Self { home, api: Arc::new(Interactions::start()), variables: Vec::new() }
    }

    /// With this variable in the environment of every command.
    pub fn with_variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Whose vendor cannot be reached: nobody listens at its address.
    pub fn offline(self) -> Self {
        let nobody = format!("http://{}", nobody());
        self.with_variable("GOOGLE_GEMINI_BASE_URL", nobody)
    }

    /// Who has configured this of research, and nothing else.
    #[allow(dead_code, reason = "the benchmarks look less often")]
    pub fn with_research(text: &str) -> Self {
        Self::at(Home::with_config(&format!("[research]\n{text}\n{HOOK}")))
    }

    pub fn command<I, S>(&self, arguments: I) -> Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = self.home.command(arguments);
        command
            .envs(self.api.environment())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    #[track_caller]
    pub fn run<I, S>(&self, arguments: I) -> Finished
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        program::run(&mut self.command(arguments))
    }

    /// A server, and a session with it.
    #[track_caller]
    pub fn connect(&self) -> Client {
        let mut client = Client::start(self.command(["serve"]));
        client.initialize(LEGACY_NEW);
        client
    }

    /// Each task that the user was told of: how it ended, and its id.
    pub fn told(&self) -> Vec<String> {
        let told = fs::read_to_string(self.home.path().join("told")).unwrap_or_default();
        told.lines().map(str::to_owned).collect()
    }

    /// Waits until the user was told of this task, and returns how it had ended.
    #[track_caller]
    pub fn wait_until_told(&self, id: &str) -> String {
        let told = wait_for(&format!("the notification of {id}"), || {
            self.told().into_iter().find(|line| line.ends_with(id))
        });
        told.split(' ').next().expect("a word").to_owned()
    }

    /// What the servers and commands keep, as another program sees it.
    #[track_caller]
    pub fn database(&self) -> Connection {
        let path = self.home.data().join("bathysphere/bathysphere.sqlite3");
        let connection = Connection::open(path).expect("a database");
        connection.busy_timeout(DEADLINE).expect("a timeout");
        connection
    }

    /// Waits until the vendor was asked so often how this question stands, and
    /// returns the vendor's name for it.
    #[track_caller]
    pub fn wait_for_looks(&self, question: &str, looks: usize) -> String {
        let log = self.api.wait_for("a look", |log| {
            log.ids(question).first().is_some_and(|id| log.polls(id) >= looks)
        });
        log.ids(question)[0].clone()
    }

    /// Waits until the vendor was told to stop this question, so often.
    #[track_caller]
    pub fn wait_for_cancels(&self, question: &str, cancels: usize) {
        self.api.wait_for("a cancel", |log| {
            log.ids(question).first().is_some_and(|id| log.cancels(id) >= cancels)
        });
    }

    /// How it stands with a task, by the command line.
    #[track_caller]
    pub fn status(&self, id: &str) -> Value {
        self.run(["status", id, "--json"]).assert_success().json()
    }
}

/// An address of this machine where nobody listens.
pub fn nobody() -> String {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    free.expect("a free port").to_string()
}

/// Waits until there is something, and returns it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "{what} did not come");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Calls a tool, and returns its structured result.
#[track_caller]
pub fn ask(client: &mut Client, tool: &str, arguments: Value) -> Value {
    structured(&client.call_tool(tool, arguments))
}

/// Starts research, and returns the task's id.
#[track_caller]
pub fn start(client: &mut Client, query: &str) -> String {
    start_with(client, json!({ "query": query }))
}

#[track_caller]
pub fn start_with(client: &mut Client, arguments: Value) -> String {
    let started = ask(client, "start_deep_research", arguments);
    started["task_id"].as_str().unwrap_or_else(|| panic!("no task: {started:#}")).to_owned()
}

#[track_caller]
pub fn status(client: &mut Client, id: &str) -> Value {
    ask(client, "check_research_status", json!({ "task_id": id }))
}

#[track_caller]
pub fn results(client: &mut Client, id: &str) -> Value {
    ask(client, "get_research_results", json!({ "task_id": id }))
}

#[track_caller]
pub fn cancel(client: &mut Client, id: &str) -> Value {
    ask(client, "cancel_research", json!({ "task_id": id }))
}

#[track_caller]
pub fn list(client: &mut Client, arguments: Value) -> Value {
    let list = ask(client, "list_research", arguments);
    assert_eq!(list["success"], true, "{list:#}");
    list
}

/// Asks until the task stands so, and returns its status.
#[track_caller]
pub fn wait_for_status(client: &mut Client, id: &str, wanted: &str) -> Value {
    wait_until(client, id, wanted, |status| status["status"] == wanted)
}

/// Asks until the status fits, and returns it.
#[track_caller]
pub fn wait_until(
    client: &mut Client,
    id: &str,
    what: &str,
    fits: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Value::Null;
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        last = status(client, id);
        if fits(&last) {
            return last;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("`{what}` did not come: {last:#}")
}

/// That a call failed with this code, in these words.
#[track_caller]
pub fn assert_error(value: &Value, code: &str, words: &[&str]) {
    assert_eq!(value["success"], false, "{value:#}");
    assert_eq!(value["error"]["code"], code, "{value:#}");
    let message = value["error"]["message"].as_str().expect("a message");
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}
