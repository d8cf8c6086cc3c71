//! The database fails while research goes on: the disk is full, the file is locked,
//! damaged, removed, or a newer version's. What is wrong is told, the research goes
//! on, its result becomes a file at once, and is in the database when that is sound
//! again; nothing is started twice, and its end is told once.
//!
//! A disk is full for one server alone: its files may not grow any more.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bathysphere::store::Store;
use rusqlite::Connection;
use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::support::client::{Client, LEGACY_NEW};
use crate::support::explorer::{Explorer, ask, start, status, wait_for_status};
use crate::support::home::Home;
use crate::support::interactions::{Fault, Script, Until};
use crate::support::program::DEADLINE;
use crate::support::researcher::structured;

const QUESTION: &str = "What is a TPU?";

/// A user whose notifications are lines of a file, and whose servers keep temporary
/// files in a directory of their own.
struct Trouble {
    explorer: Explorer,
    told: PathBuf,
    temporary: PathBuf,
}

impl Trouble {
    /// A start waits for so long.
    fn who_waits(seconds: u32) -> Self {
        let home = Home::with_config("");
        let told = home.path().join("told");
        let config = format!(
            "[research]\npoll_seconds = 0.05\nwait_seconds = {seconds}\n\n[notify]\ndesktop = false\n\
             command = [\"sh\", \"-c\", 'echo $BATHYSPHERE_STATUS >> {}']\n",
            told.display()
        );
        fs::write(home.path().join("plugins.toml"), config).unwrap();
        let temporary = home.path().join("temporary");
        fs::create_dir(&temporary).unwrap();
        let explorer = Explorer::at(home);
        explorer.api.on(|_| Script::until(Until::Released));
        Self { explorer, told, temporary }
    }

    fn command(&self) -> Command {
        let mut command = self.explorer.command(["serve"]);
        command.env("TMPDIR", &self.temporary);
        command
    }

    #[track_caller]
    fn connect(&self) -> Client {
        Self::greet(self.command())
    }

    #[track_caller]
    fn greet(command: Command) -> Client {
        let mut client = Client::start(command);
        client.initialize(LEGACY_NEW);
        client
    }

    fn directory(&self) -> PathBuf {
        self.explorer.home.data().join("bathysphere")
    }

    fn database(&self) -> PathBuf {
        self.directory().join("bathysphere.sqlite3")
    }

    /// There is a sound database, with nothing in it.
    fn make_database(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::open(self.database());
            store.check().await.unwrap();
            store.close().await;
        });
    }

    /// The files that hold what the database does not.
    fn unsaved(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.directory().join("unsaved")).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
    }

    /// The only task there is.
    fn id(&self) -> String {
        let database = Connection::open(self.database()).unwrap();
        database.query_row("SELECT id FROM tasks", [], |row| row.get(0)).unwrap()
    }

    fn posts(&self) -> usize {
        self.explorer.api.log().creates(QUESTION)
    }

    /// Asks, and returns the request as soon as the vendor was looked at.
    #[track_caller]
    fn begin(&self, client: &mut Client) -> u64 {
        let request = client.begin("start_deep_research", json!({ "query": QUESTION }));
        self.explorer.api.wait_for("a look", |log| {
            log.ids(QUESTION).first().is_some_and(|id| log.polls(id) > 1)
        });
        request
    }

    /// The result comes to whoever waits, and is in a file that nobody else may read.
    #[track_caller]
    fn assert_rescued(&self, client: &mut Client, request: u64, trouble: &str) -> PathBuf {
        self.explorer.api.release(QUESTION);
        let answer = structured(&client.answer(request));
        assert_eq!(answer["status"], "completed", "{answer:#}");
        let report = answer["results"]["report"].as_str().unwrap();
        assert!(report.contains("TPU"), "{report}");
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(message.contains(trouble), "{message}");
        assert!(message.contains("a copy is in "), "{message}");
        let path = message.split("a copy is in ").nth(1).unwrap().split(';').next().unwrap();
        let path = PathBuf::from(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(report.lines().last().unwrap()), "{text}");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

        // This server goes on to tell it, whatever the database says.
        let id = answer["task_id"].as_str().unwrap();
        let told = status(client, id);
        assert_eq!(told["status"], "completed", "{told:#}");
        assert!(told["note"].as_str().unwrap().contains(trouble), "{told:#}");
        let results = ask(client, "get_research_results", json!({ "task_id": &id[..8] }));
        assert_eq!(results["report"], answer["results"]["report"]);
        path
    }

    /// The database has it: another server tells it, the user was told once, nothing
    /// was asked twice, and no file waits any more.
    #[track_caller]
    fn assert_saved(&self, id: &str) {
        let mut another = self.connect();
        let ended = wait_for_status(&mut another, id, "completed");
        assert_eq!(ended.get("note"), None, "{ended:#}");
        let results = ask(&mut another, "get_research_results", json!({ "task_id": id }));
        assert_eq!(results["success"], true, "{results:#}");
        assert!(results["report"].as_str().unwrap().contains("TPU"));
        assert!(results["metadata"]["cost_usd"].as_f64().unwrap() > 0.0, "{results:#}");
        wait_until("the user is told", || self.told.exists());
        wait_until("the file goes", || self.unsaved("json").is_empty());
        // A second herald would have been sent with the first, or by this server.
        ask(&mut another, "list_research", json!({}));
        another.end();
        assert_eq!(fs::read_to_string(&self.told).unwrap(), "completed\n");
        assert_eq!(self.posts(), 1);
    }
}

#[track_caller]
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < DEADLINE, "{what}: it did not come to that");
        thread::sleep(Duration::from_millis(5));
    }
}

/// From now on the server's files may grow no more: the log of what is to be written
/// to the database is the largest of those it writes.
fn fill_disk(trouble: &Trouble, client: &Client) {
    let log = trouble.directory().join("bathysphere.sqlite3-wal");
    let size = log.metadata().unwrap().len();
    limit_files(client, Some(size));
}

fn free_disk(client: &Client) {
    limit_files(client, None);
}

fn limit_files(client: &Client, size: Option<u64>) {
    let limit = Rlimit { current: size, maximum: None };
    prlimit(Some(client.pid()), Resource::Fsize, limit).unwrap();
}

/// Locks the database until it is dropped.
fn lock(trouble: &Trouble) -> Connection {
    let connection = Connection::open(trouble.database()).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
    connection
}

fn damage(path: &Path) {
    let size = path.metadata().unwrap().len();
    fs::write(path, vec![0xAA; size as usize]).unwrap();
}

fn version(database: &Connection) -> i64 {
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn move_away(trouble: &Trouble) {
    for ending in ["", "-wal", "-shm"] {
        let path = trouble.directory().join(format!("bathysphere.sqlite3{ending}"));
        let _ = fs::remove_file(path);
    }
}

/// A research question is refused, and so are questions about earlier ones, in words
/// that name the file; and the server goes on.
#[track_caller]
fn assert_refused(trouble: &Trouble, client: &mut Client, words: &str) {
    let refused = ask(client, "start_deep_research", json!({ "query": QUESTION }));
    assert_eq!(refused["success"], false, "{refused:#}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
    assert!(message.contains("bathysphere.sqlite3"), "{message}");
    assert!(refused["error"]["hint"].is_string(), "{refused:#}");
    assert_eq!(trouble.posts(), 0, "nothing was sent");
}

#[track_caller]
fn assert_told(client: &mut Client, words: &str) {
    for (tool, arguments) in [
        ("check_research_status", json!({ "task_id": "abcdef12" })),
        ("get_research_results", json!({ "task_id": "abcdef12" })),
        ("list_research", json!({})),
        ("list_research", json!({ "query": "tides" })),
        ("cancel_research", json!({ "task_id": "abcdef12" })),
    ] {
        let told = ask(client, tool, arguments);
        assert_eq!(told["success"], false, "{tool}: {told:#}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{tool}: {message}");
        assert!(told["error"]["hint"].is_string(), "{tool}: {told:#}");
    }
}

/// When the trouble is over it can be asked.
#[track_caller]
fn assert_works(trouble: &Trouble, client: &mut Client) {
    trouble.explorer.api.release(QUESTION);
    let id = start(client, QUESTION);
    wait_for_status(client, &id, "completed");
    assert_eq!(trouble.posts(), 1);
}

#[test]
fn with_a_damaged_database_nothing_is_sent_and_everything_says_why() {
    let trouble = Trouble::who_waits(0);
    trouble.make_database();
    damage(&trouble.database());
    let mut client = trouble.connect();
    assert_refused(&trouble, &mut client, "is not a database");
    assert_told(&mut client, "is not a database");
    move_away(&trouble);
    assert_works(&trouble, &mut client);
}

#[test]
fn with_a_newer_database_nothing_is_sent_and_everything_says_why() {
    let trouble = Trouble::who_waits(0);
    trouble.make_database();
    let other = Connection::open(trouble.database()).unwrap();
    let known = version(&other);
    other.pragma_update(None, "user_version", 99).unwrap();
    let mut client = trouble.connect();
    assert_refused(&trouble, &mut client, "was written by a newer version: its schema is 99");
    assert_told(&mut client, "was written by a newer version");
    other.pragma_update(None, "user_version", known).unwrap();
    assert_works(&trouble, &mut client);
}

#[test]
fn with_a_directory_in_its_place_nothing_is_sent_and_everything_says_why() {
    let trouble = Trouble::who_waits(0);
    fs::create_dir_all(trouble.database()).unwrap();
    let mut client = trouble.connect();
    assert_refused(&trouble, &mut client, "cannot be opened");
    assert_told(&mut client, "cannot be opened");
    fs::remove_dir(trouble.database()).unwrap();
    assert_works(&trouble, &mut client);
}

#[test]
fn with_a_full_disk_nothing_is_sent_and_earlier_research_can_be_read() {
    let trouble = Trouble::who_waits(0);
    let mut client = trouble.connect();
    let earlier = "What was first?";
    trouble.explorer.api.release(earlier);
    let id = start(&mut client, earlier);
    wait_for_status(&mut client, &id, "completed");
    fill_disk(&trouble, &client);
    assert_refused(&trouble, &mut client, "the disk is full or failing");
    let listed = ask(&mut client, "list_research", json!({}));
    assert_eq!(listed["count"], 1, "{listed:#}");
    let results = ask(&mut client, "get_research_results", json!({ "task_id": id }));
    assert_eq!(results["success"], true, "{results:#}");
    free_disk(&client);
    assert_works(&trouble, &mut client);
}

#[test]
fn with_a_locked_database_nothing_is_sent_and_earlier_research_can_be_read() {
    let trouble = Trouble::who_waits(0);
    trouble.make_database();
    let lock = lock(&trouble);
    let mut client = trouble.connect();
    assert_refused(&trouble, &mut client, "is locked by another process");
    let listed = ask(&mut client, "list_research", json!({}));
    assert_eq!(listed["count"], 0, "{listed:#}");
    drop(lock);
    assert_works(&trouble, &mut client);
}

/// The same server for a user who is bound by permissions: root is not, unless it
/// gives that up.
fn bound_by_permissions(mut command: Command) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(command);
    }
    let mut bound = Command::new("setpriv");
    bound.args(["--bounding-set=-all", "--inh-caps=-all"]);
    if !bound.arg("true").output().is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut bound = Command::new("setpriv");
    bound.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(command.get_program());
    bound.args(command.get_args()).current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bound.env(name, value),
            None => bound.env_remove(name),
        };
    }
    command = bound;
    Some(command)
}

fn allow_writing(trouble: &Trouble, writing: bool) {
    let mode = |file: u32, directory: u32| {
        fs::set_permissions(trouble.database(), fs::Permissions::from_mode(file)).unwrap();
        fs::set_permissions(trouble.directory(), fs::Permissions::from_mode(directory)).unwrap();
    };
    if writing { mode(0o600, 0o700) } else { mode(0o400, 0o500) }
}

#[test]
fn with_a_read_only_database_nothing_is_sent() {
    let trouble = Trouble::who_waits(0);
    trouble.make_database();
    allow_writing(&trouble, false);
    let Some(command) = bound_by_permissions(trouble.command()) else {
        return eprintln!("skipped: nothing is forbidden to root, and setpriv is not here");
    };
    let mut client = Trouble::greet(command);
    assert_refused(&trouble, &mut client, "cannot be written");
    allow_writing(&trouble, true);
    assert_works(&trouble, &mut client);
}

#[test]
fn a_database_that_becomes_read_only_loses_no_result() {
    let trouble = Trouble::who_waits(29);
    let Some(command) = bound_by_permissions(trouble.command()) else {
        return eprintln!("skipped: nothing is forbidden to root, and setpriv is not here");
    };
    let mut client = Trouble::greet(command);
    let request = trouble.begin(&mut client);
    // A file that is open stays open: a copy in its place does not.
    let (database, copy) = (trouble.database(), trouble.directory().join("copy"));
    Connection::open(&database)
        .unwrap()
        .execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
        .unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o400)).unwrap();
    move_away(&trouble);
    fs::rename(&copy, &database).unwrap();
    let id = trouble.id();
    trouble.assert_rescued(&mut client, request, "cannot be written");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o600)).unwrap();
    client.wait_for_log("is saved in the database after all");
    trouble.assert_saved(&id);
}

#[test]
fn a_disk_that_is_full_at_the_end_loses_no_result() {
    let trouble = Trouble::who_waits(29);
    let mut client = trouble.connect();
    let request = trouble.begin(&mut client);
    let id = trouble.id();
    fill_disk(&trouble, &client);
    trouble.assert_rescued(&mut client, request, "the disk is full or failing");
    assert!(!trouble.told.exists(), "the database does not know of its end yet");
    assert_eq!(trouble.unsaved("json").len(), 1);
    // What was refused meanwhile costs nothing.
    let refused = ask(&mut client, "start_deep_research", json!({ "query": "Another?" }));
    assert_eq!(refused["success"], false, "{refused:#}");
    free_disk(&client);
    client.wait_for_log("is saved in the database after all");
    wait_for_status(&mut client, &id, "completed");
    trouble.assert_saved(&id);
    assert_eq!(trouble.explorer.api.log().inputs(), [QUESTION]);
    assert!(!client.log().contains("panicked"), "{}", client.log());
}

#[test]
fn a_result_whose_process_ends_before_the_database_recovers_is_taken_in_by_the_next() {
    let trouble = Trouble::who_waits(29);
    let mut client = trouble.connect();
    let request = trouble.begin(&mut client);
    let id = trouble.id();
    fill_disk(&trouble, &client);
    trouble.assert_rescued(&mut client, request, "the disk is full or failing");
    client.kill();
    let looks = |log: &crate::support::interactions::Log| log.polls(&log.ids(QUESTION)[0]);
    let before = looks(&trouble.explorer.api.log());
    trouble.assert_saved(&id);
    assert_eq!(looks(&trouble.explorer.api.log()), before, "what is known is not asked again");
    let shown = trouble.explorer.run(["costs", "--json"]).assert_success().json();
    assert!(shown["total"]["cost_usd"].as_f64().unwrap() > 0.0, "{shown:#}");
}

#[test]
fn where_nothing_can_be_written_beside_the_database_the_copy_is_a_temporary_file() {
    let trouble = Trouble::who_waits(29);
    let mut client = trouble.connect();
    let request = trouble.begin(&mut client);
    let id = trouble.id();
    fs::write(trouble.directory().join("unsaved"), "in the way").unwrap();
    fill_disk(&trouble, &client);
    let copy = trouble.assert_rescued(&mut client, request, "the disk is full or failing");
    assert!(copy.starts_with(&trouble.temporary), "{}", copy.display());
    client.kill();
    trouble.assert_saved(&id);
    let left: Vec<_> =
        fs::read_dir(copy.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [copy], "the report stays, since the user was told of it");
}

#[test]
fn a_database_that_is_removed_loses_no_result() {
    let trouble = Trouble::who_waits(29);
    let mut client = trouble.connect();
    let request = trouble.begin(&mut client);
    let id = trouble.id();
    fs::remove_dir_all(trouble.directory()).unwrap();
    // Long enough for the server to look whose its tasks are.
    trouble.explorer.api.wait_for("looks that go on", |log| log.polls(&log.ids(QUESTION)[0]) > 40);
    trouble.assert_rescued(&mut client, request, "was removed or replaced while the task ran");
    client.wait_for_log("is saved in the database after all");
    trouble.assert_saved(&id);
}

#[test]
fn a_database_that_is_damaged_loses_no_result() {
    let trouble = Trouble::who_waits(29);
    let mut client = trouble.connect();
    let request = trouble.begin(&mut client);
    let id = trouble.id();
    // All pages but the first, in the file itself; and a write, after which nobody
    // trusts what they remember of them.
    let other = Connection::open(trouble.database()).unwrap();
    other.busy_timeout(Duration::from_secs(10)).unwrap();
    let known = version(&other);
    wait_until("all is in the file itself", || {
        let query = "PRAGMA wal_checkpoint(TRUNCATE)";
        other.query_row(query, [], |row| row.get::<_, i64>(0)).is_ok_and(|busy| busy == 0)
    });
    let size = trouble.database().metadata().unwrap().len() as usize;
    let file = fs::File::options().write(true).open(trouble.database()).unwrap();
    file.write_all_at(&vec![0xAA; size - 4096], 4096).unwrap();
    other.pragma_update(None, "user_version", known).unwrap();
    trouble.assert_rescued(&mut client, request, "is damaged");
    // As the message says.
    move_away(&trouble);
    client.wait_for_log("is saved in the database after all");
    trouble.assert_saved(&id);
    assert!(!client.log().contains("panicked"), "{}", client.log());
}

#[test]
fn a_newer_version_that_comes_meanwhile_loses_no_result() {
    let trouble = Trouble::who_waits(29);
    let mut client = trouble.connect();
    let request = trouble.begin(&mut client);
    let id = trouble.id();
    let other = Connection::open(trouble.database()).unwrap();
    other.busy_timeout(Duration::from_secs(10)).unwrap();
    let known = version(&other);
    other.pragma_update(None, "user_version", 99).unwrap();
    trouble.assert_rescued(&mut client, request, "was written by a newer version");
    other.pragma_update(None, "user_version", known).unwrap();
    client.wait_for_log("is saved in the database after all");
    trouble.assert_saved(&id);
}

/// Starts research whose name comes back when nothing can be written any more, and
/// returns the task's id and the interaction's.
#[track_caller]
fn start_without_writing_it_down(trouble: &Trouble, client: &mut Client) -> (String, String) {
    trouble.explorer.api.on(|_| Script {
        creates: vec![Fault::Delay(Duration::from_secs(3))],
        ..Script::until(Until::Released)
    });
    let id = start(client, QUESTION);
    let log = trouble.explorer.api.wait_for("a start", |log| log.creates(QUESTION) == 1);
    fill_disk(trouble, client);
    let interaction = log.ids(QUESTION)[0].clone();
    client.wait_for_log(&format!("task adopt {id} {interaction}"));
    (id, interaction)
}

#[test]
fn a_job_that_could_not_be_written_down_goes_on_and_is_written_when_it_can_be() {
    let trouble = Trouble::who_waits(0);
    let mut client = trouble.connect();
    let (id, interaction) = start_without_writing_it_down(&trouble, &mut client);
    trouble.explorer.api.wait_for("a look", |log| log.polls(&interaction) > 1);
    free_disk(&client);
    let database = Connection::open(trouble.database()).unwrap();
    let written = || -> Option<String> {
        database.query_row("SELECT job_id FROM jobs", [], |row| row.get(0)).ok()
    };
    wait_until("the job is written down", || written().as_deref() == Some(&*interaction));
    client.wait_for_log("is saved again");
    // Now another can go on with it.
    client.kill();
    trouble.explorer.api.release(QUESTION);
    trouble.assert_saved(&id);
}

#[test]
fn a_job_that_nobody_could_write_down_is_parked_until_it_is_adopted() {
    let trouble = Trouble::who_waits(0);
    let mut client = trouble.connect();
    let (id, interaction) = start_without_writing_it_down(&trouble, &mut client);
    client.kill();
    let mut next = trouble.connect();
    let parked = wait_for_status(&mut next, &id, "needs_attention");
    assert!(parked["next"].as_str().unwrap().contains("task adopt"), "{parked:#}");
    assert_eq!(trouble.posts(), 1, "and is not started again");
    trouble.explorer.api.release(QUESTION);
    trouble.explorer.run(["task", "adopt", &id, &interaction]).assert_success();
    wait_for_status(&mut next, &id, "completed");
    trouble.assert_saved(&id);
}

#[test]
fn a_start_of_unknown_fate_is_parked_when_the_database_can_be_written() {
    let trouble = Trouble::who_waits(0);
    let mut client = trouble.connect();
    trouble.explorer.api.on(|_| Script::create(Fault::TakenThenLater(500, Duration::from_secs(3))));
    let id = start(&mut client, QUESTION);
    trouble.explorer.api.wait_for("a start", |log| log.creates(QUESTION) == 1);
    fill_disk(&trouble, &client);
    client.wait_for_log(&format!("task {id}: the disk is full or failing"));
    let here = wait_for_status(&mut client, &id, "needs_attention");
    assert!(here["failure"]["hint"].as_str().unwrap().contains("task adopt"), "{here:#}");
    let mut another = trouble.connect();
    assert_eq!(status(&mut another, &id)["status"], "running_async");
    free_disk(&client);
    wait_for_status(&mut another, &id, "needs_attention");
    assert_eq!(trouble.posts(), 1);
}

#[test]
fn while_the_database_is_locked_every_task_goes_on_and_a_cancel_is_told_off() {
    const TASKS: usize = 20;
    let trouble = Trouble::who_waits(0);
    trouble.explorer.api.on(|_| Script { rounds: 1000, ..Script::until(Until::Released) });
    let mut client = trouble.connect();
    let questions: Vec<String> = (0..TASKS).map(|number| format!("Question {number}")).collect();
    let ids: Vec<String> = questions.iter().map(|question| start(&mut client, question)).collect();
    let polled = |more: usize| {
        let before = trouble.explorer.api.log();
        let looks = |log: &crate::support::interactions::Log, question: &str| {
            log.ids(question).first().map_or(0, |id| log.polls(id))
        };
        let begun = Instant::now();
        trouble.explorer.api.wait_for("looks at every task", |log| {
            questions.iter().all(|question| looks(log, question) >= looks(&before, question) + more)
        });
        begun.elapsed()
    };
    polled(2);
    let lock = lock(&trouble);
    // Each waits for the lock once, and all of them together; then hardly any more.
    let first = polled(2);
    let later = polled(2);
    assert!(first < Duration::from_secs(40), "{first:?}");
    assert!(later < Duration::from_secs(20), "{later:?}");
    let begun = Instant::now();
    let told = status(&mut client, &ids[0]);
    assert_eq!(told["status"], "running_async", "{told:#}");
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());

    let cancelled = ask(&mut client, "cancel_research", json!({ "task_id": ids[0] }));
    assert_eq!(cancelled["success"], false, "{cancelled:#}");
    let message = cancelled["error"]["message"].as_str().unwrap();
    assert!(message.contains("is locked by another process"), "{message}");
    let interaction = trouble.explorer.api.log().ids(&questions[0])[0].clone();
    assert_eq!(trouble.explorer.api.log().cancels(&interaction), 0);

    // One comes to its end meanwhile.
    trouble.explorer.api.release(&questions[1]);
    client.wait_for_log(&format!("the result of task {} is in ", ids[1]));
    drop(lock);
    let cancelled = ask(&mut client, "cancel_research", json!({ "task_id": ids[0] }));
    assert_eq!(cancelled["success"], true, "{cancelled:#}");
    assert_eq!(trouble.explorer.api.log().cancels(&interaction), 1);
    client.wait_for_log(&format!("task {} is saved in the database after all", ids[1]));
    for question in &questions {
        trouble.explorer.api.release(question);
    }
    for id in &ids[1..] {
        wait_for_status(&mut client, id, "completed");
    }
    assert_eq!(status(&mut client, &ids[0])["status"], "cancelled");
    let log = trouble.explorer.api.log();
    assert!(questions.iter().all(|question| log.creates(question) == 1));
}

#[test]
fn a_task_that_runs_while_the_database_cannot_be_read_says_that_it_goes_on() {
    let trouble = Trouble::who_waits(0);
    let mut client = trouble.connect();
    let id = start(&mut client, QUESTION);
    trouble
        .explorer
        .api
        .wait_for("a look", |log| log.ids(QUESTION).first().is_some_and(|id| log.polls(id) > 1));
    let other = Connection::open(trouble.database()).unwrap();
    other.busy_timeout(Duration::from_secs(10)).unwrap();
    let known = version(&other);
    other.pragma_update(None, "user_version", 99).unwrap();
    let told: Value = status(&mut client, &id);
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("newer version"), "{message}");
    assert!(message.contains("the research goes on all the same"), "{message}");
    other.pragma_update(None, "user_version", known).unwrap();
    trouble.explorer.api.release(QUESTION);
    wait_for_status(&mut client, &id, "completed");
    trouble.assert_saved(&id);
}
