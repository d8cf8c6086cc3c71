//! Being told of the end of a task: once, whatever is killed, and in some way or
//! other even where there is no desktop.
//!
//! The tasks are real ones; that their user wants to be told is written into the
//! database.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::{Signal, kill_process_group};
use serde_json::Value;

use crate::support::client::{Client, LEGACY_NEW};
use crate::support::desktop::{Desktop, Shown, SilentBus};
use crate::support::documents::Documents;
use crate::support::home::Home;
use crate::support::program::{self, DEADLINE};

const QUESTION: &str = "When do <b>spring tides</b> & neap tides happen?";

/// No desktop is there.
const NOWHERE: &str = "unix:path=/nowhere/at/all";

/// A user whose task has ended, and who wants to know.
struct Waiting {
    home: Home,
    documents: Documents,
    id: String,
}

impl Waiting {
    fn with_config(text: &str) -> Self {
        let home = if text.is_empty() { Home::new() } else { Home::with_config(text) };
        let documents = Documents::new();
        let mut search = home.command(["search", QUESTION, "--docs"]);
        program::run(search.arg(documents.path())).assert_success();
        let waiting =
            Self { id: newest(&home)["id"].as_str().unwrap().to_owned(), home, documents };
        waiting.want();
        waiting
    }

    /// One whose program is this shell script, which can write to `DIRECTORY`.
    fn with_hook(script: &str) -> (Self, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let script = script.replace("DIRECTORY", &directory.path().display().to_string());
        let config = format!("[notify]\ncommand = [\"sh\", \"-c\", '''{script}''']\n");
        (Self::with_config(&config), directory)
    }

    fn want(&self) {
        let changed = self
            .database()
            .execute("UPDATE tasks SET background = 1, notify = 1, notified_at = NULL", [])
            .unwrap();
        assert!(changed > 0);
    }

    fn database(&self) -> Connection {
        Connection::open(self.directory().join("bathysphere.sqlite3")).unwrap()
    }

    fn directory(&self) -> PathBuf {
        self.home.data().join("bathysphere")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory().join("notifications.log")).unwrap_or_default()
    }

    fn herald(&self, bus: &str) -> Command {
        let mut command = self.home.command(["herald", &self.id]);
        command.env("DBUS_SESSION_BUS_ADDRESS", bus);
        command
    }
}

fn newest(home: &Home) -> Value {
    home.run(["history", "--json"]).assert_success().json()[0].clone()
}

#[test]
fn of_many_heralds_one_tells() {
    let (waiting, directory) = Waiting::with_hook(
        "cat > DIRECTORY/json; { printenv | grep ^BATHYSPHERE_; pwd; } > DIRECTORY/variables; \
         echo told >> DIRECTORY/told",
    );
    let heralds: Vec<_> = (0..8)
        .map(|_| {
            let mut herald = waiting.herald(NOWHERE);
            herald.env("GEMINI_API_KEY", "not for the hook");
            thread::spawn(move || program::run(&mut herald).assert_success())
        })
        .collect();
    for herald in heralds {
        let finished = herald.join().unwrap();
        assert_eq!(finished.stdout, "", "{}", finished.transcript());
    }
    assert_eq!(fs::read_to_string(directory.path().join("told")).unwrap(), "told\n");
    // It was told by the program, so no line has to stand in.
    assert_eq!(waiting.log(), "");

    let short = &waiting.id[..8];
    let json: Value =
        serde_json::from_slice(&fs::read(directory.path().join("json")).unwrap()).unwrap();
    assert_eq!(json["task_id"], waiting.id);
    assert_eq!(json["status"], "completed");
    assert_eq!(json["question"], QUESTION);
    assert_eq!(json["title"], "Research completed");
    assert_eq!(json["report"], format!("bathysphere show {short}"));
    assert!(json["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{json}");
    let message = json["message"].as_str().unwrap();
    assert!(message.starts_with(QUESTION), "{message}");
    assert!(message.ends_with(&format!("bathysphere show {short}")), "{message}");

    let variables = fs::read_to_string(directory.path().join("variables")).unwrap();
    for line in [
        format!("BATHYSPHERE_TASK_ID={}", waiting.id),
        "BATHYSPHERE_STATUS=completed".to_owned(),
        format!("BATHYSPHERE_QUESTION={QUESTION}"),
        "BATHYSPHERE_TITLE=Research completed".to_owned(),
        format!("BATHYSPHERE_REPORT=bathysphere show {short}"),
        format!("BATHYSPHERE_SECONDS={}", json["seconds"]),
        waiting.home.path().display().to_string(),
    ] {
        assert!(variables.lines().any(|one| one == line), "{line}: {variables}");
    }
    // What the report is told to be, it is.
    let report = waiting.home.run(["show", short]).assert_success();
    assert!(report.stdout.contains("tides"), "{}", report.transcript());
}

#[test]
fn what_failed_is_told_and_what_was_cancelled_is_not() {
    let (waiting, directory) =
        Waiting::with_hook("echo $BATHYSPHERE_STATUS $BATHYSPHERE_TITLE >> DIRECTORY/told");
    let cancel = "UPDATE tasks SET status = 'cancelled' WHERE id = ?1";
    waiting.database().execute(cancel, [&waiting.id]).unwrap();
    // There is no Gemini CLI in this PATH.
    let mut search = waiting.home.command(["search", "What is a tide?"]);
    program::run(search.env("PATH", "/usr/bin:/bin")).assert_failure();
    let failed = newest(&waiting.home);
    assert_eq!(failed["status"], "failed", "{failed}");
    waiting.want();
    for id in [&waiting.id, failed["id"].as_str().unwrap()] {
        program::run(&mut waiting.home.command(["herald", id])).assert_success();
    }
    let told = fs::read_to_string(directory.path().join("told")).unwrap();
    assert_eq!(told, "failed Research failed\n");
}

#[test]
fn a_program_that_fails_is_told_of_in_the_log() {
    let (waiting, _directory) = Waiting::with_hook("echo no route to the phone >&2; exit 3");
    program::run(&mut waiting.herald(NOWHERE)).assert_success();
    let log = waiting.log();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].contains("`sh`, ended with code 3: no route to the phone"), "{log}");
    assert!(lines[1].contains("Research completed: When do <b>spring tides</b>"), "{log}");
    assert_eq!(lines.len(), 2, "{log}");
}

#[test]
fn without_a_desktop_a_line_stands_in() {
    let waiting = Waiting::with_config("");
    program::run(&mut waiting.herald(NOWHERE)).assert_success();
    program::run(&mut waiting.herald(NOWHERE)).assert_success();
    let log = waiting.log();
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains(&format!("bathysphere show {}", &waiting.id[..8])), "{log}");
    let path = waiting.directory().join("notifications.log");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_bus_that_hangs_keeps_nobody_waiting() {
    let (bus, waiting) = (SilentBus::start(), Waiting::with_config(""));
    let started = Instant::now();
    program::run(&mut waiting.herald(&bus.address())).assert_success();
    // 1.5 s for the desktop, and the rest for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(bus.callers() > 0, "the bus was not asked");
    assert_eq!(waiting.log().lines().count(), 1, "{}", waiting.log());
}

fn desktop(capabilities: &'static [&'static str]) -> Option<Desktop> {
    match Desktop::start(capabilities) {
        Ok(desktop) => Some(desktop),
        Err(error) => {
            eprintln!("skipped: there is no dbus-daemon here ({error})");
            None
        }
    }
}

#[test]
fn on_a_desktop_it_is_shown_once_and_markup_is_text() {
    let Some(desktop) = desktop(&["body", "body-markup"]) else { return };
    let waiting = Waiting::with_config("");
    let heralds: Vec<_> = (0..4)
        .map(|_| {
            let mut herald = waiting.herald(&desktop.address());
            thread::spawn(move || program::run(&mut herald).assert_success())
        })
        .collect();
    for herald in heralds {
        herald.join().unwrap();
    }
    let shown = desktop.shown();
    let [Shown { program, title, body }] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((program.as_str(), title.as_str()), ("Bathysphere", "Research completed"));
    assert!(
        body.starts_with("When do &lt;b&gt;spring tides&lt;/b&gt; &amp; neap tides happen?\n"),
        "{body}"
    );
    assert_eq!(waiting.log(), "");

    let doctor = |bus: &str| {
        let mut doctor = waiting.home.command(["doctor", "--json"]);
        let report = program::run(doctor.env("DBUS_SESSION_BUS_ADDRESS", bus)).json();
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "desktop").unwrap().clone()
    };
    let answers = doctor(&desktop.address());
    assert_eq!((&answers["state"], &answers["detail"]), (&"ok".into(), &"stand-in 1.0".into()));
    assert_eq!(doctor(NOWHERE)["state"], "absent");
}

#[test]
fn a_desktop_that_reads_no_markup_gets_none() {
    let Some(desktop) = desktop(&["body"]) else { return };
    let waiting = Waiting::with_config("");
    program::run(&mut waiting.herald(&desktop.address())).assert_success();
    let shown = desktop.shown();
    assert!(shown[0].body.starts_with(QUESTION), "{shown:?}");
}

#[test]
fn a_desktop_that_is_not_wanted_is_left_alone() {
    let Some(desktop) = desktop(&["body"]) else { return };
    let waiting = Waiting::with_config("[notify]\ndesktop = false\n");
    program::run(&mut waiting.herald(&desktop.address())).assert_success();
    assert_eq!(desktop.shown(), []);
    assert_eq!(waiting.log().lines().count(), 1, "{}", waiting.log());
}

/// The first line that is written to a pipe.
fn first_line(pipe: &Path) -> String {
    let (pipe, (sender, receiver)) = (pipe.to_owned(), mpsc::channel());
    thread::spawn(move || {
        let lines = fs::File::open(pipe).map(|file| BufReader::new(file).lines());
        drop(sender.send(lines.ok().and_then(|mut lines| lines.next()?.ok())));
    });
    receiver.recv_timeout(DEADLINE).expect("a line in time").expect("a line")
}

fn pipe(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    path
}

#[test]
fn who_kills_the_server_and_its_group_does_not_silence_the_herald() {
    let (waiting, directory) = Waiting::with_hook(
        "echo began > DIRECTORY/began; read word < DIRECTORY/go; echo $word >&2; exit 3",
    );
    let [began, go] = ["began", "go"].map(|name| pipe(directory.path(), name));
    let mut command = waiting.home.serve_command(waiting.documents.path());
    // A task that an earlier server has left untold is told at the next start.
    command.env("DBUS_SESSION_BUS_ADDRESS", NOWHERE).process_group(0);
    let mut client = Client::start(command);
    client.initialize(LEGACY_NEW);
    assert_eq!(first_line(&began), "began");
    kill_process_group(client.pid(), Signal::KILL).unwrap();
    client.end();
    // Opened for both, so that nobody who does not read keeps us waiting.
    let mut go = fs::File::options().read(true).write(true).open(go).unwrap();
    go.write_all(b"afterwards\n").unwrap();
    // Only a herald that is still there can write down what its program came to.
    let end = Instant::now() + DEADLINE;
    while !waiting.log().contains("ended with code 3: afterwards") {
        assert!(Instant::now() < end, "the herald is gone: {}", waiting.log());
        thread::sleep(Duration::from_millis(5));
    }

    // And the next server has nothing more to tell: the pipe would keep it waiting.
    let untold: i64 = waiting
        .database()
        .query_row(
            "SELECT count(*) FROM tasks WHERE notify = 1 AND notified_at IS NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(untold, 0);
}

#[test]
fn where_no_herald_can_do_it_the_server_does() {
    let (waiting, directory) = Waiting::with_hook("echo told > DIRECTORY/told");
    let told = pipe(directory.path(), "told");
    let mut command = waiting.home.serve_command(waiting.documents.path());
    command.env("DBUS_SESSION_BUS_ADDRESS", NOWHERE);
    // The herald finds a configuration that was broken after the server had read it.
    let gone = tempfile::tempdir().unwrap();
    let copy = gone.path().join("plugins.toml");
    fs::copy(waiting.home.path().join("plugins.toml"), &copy).unwrap();
    command.env("BATHYSPHERE_CONFIG", &copy);
    let mut client = Client::start(command);
    let id = client.request(
        "initialize",
        serde_json::json!({
            "protocolVersion": LEGACY_NEW,
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }),
    );
    client.answer(id);
    fs::write(&copy, "[nonsense").unwrap();
    client.notify("notifications/initialized", serde_json::json!({}));
    assert_eq!(first_line(&told), "told");
    client.end();
}
