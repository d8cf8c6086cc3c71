//! Several real processes on one file, and processes that die in the middle.
//!
//! A process is this test binary again, running only [`child`], which does what
//! the environment says. It talks on stderr, because the test harness talks on
//! stdout.

#![expect(clippy::disallowed_methods, reason = "each process is this test binary again")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use super::*;
use crate::store::{CallState, Fault, Status, TaskFilter};

const ROLE: &str = "BATHYSPHERE_TEST_STORE_ROLE";
const DIRECTORY: &str = "BATHYSPHERE_TEST_STORE_DIRECTORY";

const TASKS: usize = 12;
const ROUNDS: u32 = 5;

/// Large enough to need several pages of the file, so that half of it could be
/// written.
fn large_round(number: u32) -> NewRound {
    NewRound { round: format!("{number}:{}", "x".repeat(20_000)), ..round(number) }
}

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Process {
    fn start(role: &str, directory: &Path) -> Self {
        let program = Command::new(std::env::current_exe().unwrap());
        Self::start_with(program, role, directory)
    }

    /// One whose files cannot grow beyond 256 or, on some systems, 128 KB: a
    /// disk that is full, for this process alone.
    fn start_without_space(role: &str, directory: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", r#"trap "" XFSZ; ulimit -f 1024; exec "$0" "$@""#])
            .arg(std::env::current_exe().unwrap());
        Self::start_with(shell, role, directory)
    }

    fn start_with(mut command: Command, role: &str, directory: &Path) -> Self {
        let (_, module) = module_path!().split_once("::").unwrap();
        let mut child = command
            .args(["--exact", &format!("{module}::child"), "--nocapture"])
            .env(ROLE, role)
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines }
    }

    fn says(&mut self) -> String {
        self.lines.next().expect("the process goes on").unwrap()
    }

    fn go(&mut self) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n").unwrap();
    }

    /// SIGKILL, which leaves it no time for anything.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ends(mut self) -> (ExitStatus, Vec<String>) {
        let said = self.lines.map_while(Result::ok).collect();
        (self.child.wait().unwrap(), said)
    }
}

fn say(text: &str) {
    writeln!(std::io::stderr(), "{text}").unwrap();
}

fn wait_for_go() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

/// Not a test of its own: the part of another process.
#[tokio::test]
async fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let directory = std::path::PathBuf::from(std::env::var_os(DIRECTORY).unwrap());
    match role.as_str() {
        "write" => {
            say("ready");
            wait_for_go();
            write_many(&open(&directory)).await;
        }
        "call" => {
            let store = open(&directory);
            let claim = create(&store, "question").await;
            store.save_round(&claim, round(1)).await.unwrap();
            store.begin_call(&claim, call("ask")).await.unwrap();
            say(&claim.id);
            // Until it is killed.
            wait_for_go();
        }
        "rounds" => {
            let store = open(&directory);
            let claim = create(&store, "question").await;
            say(&claim.id);
            for number in 1.. {
                store.save_round(&claim, large_round(number)).await.unwrap();
                say(&number.to_string());
            }
        }
        "fill" => {
            let store = open(&directory);
            let claim = create(&store, "question").await;
            say(&claim.id);
            let mut number = 1;
            let error = loop {
                match store.save_round(&claim, large_round(number)).await {
                    Ok(()) => number += 1,
                    Err(error) => break error,
                }
            };
            assert_eq!(error.fault(), Some(Fault::Full), "{error}");
            // What was saved can still be read.
            let rounds = store.rounds(&claim.id).await.unwrap();
            assert_eq!(rounds.len(), number as usize - 1);
            say(&rounds.len().to_string());
        }
        other => panic!("unknown role {other}"),
    }
}

async fn write_many(store: &Store) {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            let claim = create(&store, "question").await;
            for number in 1..=ROUNDS {
                let sent = store.begin_call(&claim, call("ask")).await.unwrap();
                assert_eq!(sent, number);
                store.save_round(&claim, round(number)).await.unwrap();
            }
            store.finish_task(&claim, end(Ending::Completed)).await.unwrap();
        });
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn processes_that_write_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut processes: Vec<Process> =
        (0..3).map(|_| Process::start("write", directory.path())).collect();
    // All of them find no database, and make it together.
    for process in &mut processes {
        assert_eq!(process.says(), "ready");
    }
    for process in &mut processes {
        process.go();
    }
    let store = open(directory.path());
    write_many(&store).await;
    for process in processes {
        let (status, said) = process.ends();
        assert!(status.success(), "{}", said.join("\n"));
    }

    let all = TaskFilter { status: None, limit: u32::MAX };
    let tasks = store.tasks(all).await.unwrap();
    assert_eq!(tasks.len(), 4 * TASKS);
    for task in tasks {
        assert_eq!((task.status, task.rounds), (Status::Completed, ROUNDS));
        let calls = store.calls(&task.id).await.unwrap();
        assert_eq!(calls.len(), ROUNDS as usize);
        assert!(store.result(&task.id).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_call_that_was_sent_when_the_process_died_is_seen_as_sent() {
    let (directory, store) = scratch();
    let mut process = Process::start("call", directory.path());
    let id = process.says();
    let alive = store.task(&id).await.unwrap().unwrap();
    assert_eq!(alive.status, Status::Running);
    process.kill();

    let task = store.task(&id).await.unwrap().unwrap();
    assert_eq!((task.status, task.rounds), (Status::Interrupted, 1));
    let calls = store.calls(&id).await.unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].state, CallState::Sent);
    assert_eq!((&calls[0].outcome, calls[0].returned_at), (&None, None));

    // Its lock file outlived it, until the next process took a lock.
    let locks = || std::fs::read_dir(directory.path().join("owners")).unwrap().count();
    assert_eq!(locks(), 1);
    let claim = store.claim_task(&id).await.unwrap();
    assert_eq!(locks(), 1);
    assert_eq!(store.begin_call(&claim, call("ask")).await, Ok(2));
}

#[tokio::test]
async fn a_process_killed_while_it_writes_leaves_whole_rounds() {
    let (directory, store) = scratch();
    let mut acknowledged = HashMap::new();
    for kill_after in [1_u32, 2, 3, 5, 8] {
        let mut process = Process::start("rounds", directory.path());
        let id = process.says();
        for number in 1..=kill_after {
            assert_eq!(process.says(), number.to_string());
        }
        // It is about to write, or in the middle of it.
        process.kill();
        acknowledged.insert(id, kill_after);
    }

    for (id, acknowledged) in acknowledged {
        let task = store.task(&id).await.unwrap().unwrap();
        assert_eq!(task.status, Status::Interrupted);
        let rounds = store.rounds(&id).await.unwrap();
        assert!(rounds.len() >= acknowledged as usize);
        for (number, saved) in (1..).zip(&rounds) {
            assert!(saved.number == number && saved.round == large_round(number).round);
        }
        // What is saved together is there together.
        assert_eq!(task.memo, format!("memo {}", rounds.len()));
    }
    let sound = |reading: &crate::store::Reading<'_>| {
        let check = "PRAGMA integrity_check";
        Ok(reading.connection.query_row(check, [], |row| row.get::<_, String>(0))?)
    };
    assert_eq!(store.read(sound).await.unwrap(), "ok");
}

#[tokio::test]
async fn a_process_without_space_keeps_what_it_had_saved() {
    let (directory, store) = scratch();
    let mut process = Process::start_without_space("fill", directory.path());
    let id = process.says();
    let (status, said) = process.ends();
    assert!(status.success(), "{}", said.join("\n"));
    let saved: u32 = said[0].parse().unwrap();
    assert!(saved >= 1);

    let task = store.task(&id).await.unwrap().unwrap();
    assert_eq!((task.status, task.rounds), (Status::Interrupted, saved));
    assert_eq!(task.memo, format!("memo {saved}"));
    let claim = store.claim_task(&id).await.unwrap();
    let next = large_round(saved + 1);
    store.save_round(&claim, next).await.unwrap();
}
