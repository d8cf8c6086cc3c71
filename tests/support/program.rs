//! Running the program to its end, with a deadline instead of patience.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Long enough for a debug build on a busy machine; a test that reaches it has
/// found a hang.
pub const DEADLINE: Duration = Duration::from_mins(2);

/// The program under test. `BATHYSPHERE_TEST_BINARY` puts another in its place,
/// such as a packaged release.
pub fn binary() -> PathBuf {
    std::env::var_os("BATHYSPHERE_TEST_BINARY")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_bathysphere")), PathBuf::from)
}

/// What a finished program leaves behind.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("the program ended by a signal: {self:?}"))
    }

    /// The whole run, for a failing assertion.
    pub fn transcript(&self) -> String {
        format!("{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.stdout, self.stderr)
    }

    #[track_caller]
    pub fn assert_success(self) -> Self {
        assert!(self.status.success(), "expected success, got {}", self.transcript());
        self
    }

    /// A failure that is told, rather than a panic or a signal.
    #[track_caller]
    pub fn assert_failure(self) -> Self {
        let code = self.status.code();
        assert!(
            matches!(code, Some(1..=99)),
            "expected an exit code that says failure, got {}",
            self.transcript()
        );
        assert!(
            !self.stderr.contains("RUST_BACKTRACE") && !self.stderr.contains("thread 'main'"),
            "the program panicked: {}",
            self.transcript()
        );
        assert!(!self.stderr.trim().is_empty(), "a failure without a word: {}", self.transcript());
        self
    }

    /// A failure that is the caller's: something in the input is wrong.
    #[track_caller]
    pub fn assert_wrong_input(self) -> Self {
        let finished = self.assert_failure();
        assert_eq!(finished.code(), 2, "{}", finished.transcript());
        finished
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is not JSON ({error}): {}", self.transcript()))
    }
}

/// Runs a command with nothing on standard input.
#[track_caller]
pub fn run(command: &mut Command) -> Finished {
    run_with_input(command, b"")
}

/// Runs a command that is given all of its input at once.
#[track_caller]
pub fn run_with_input(command: &mut Command, input: &[u8]) -> Finished {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let pid = Pid::from_child(&child);
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let input = input.to_vec();
    // Written beside the waiting, so that neither side can fill a pipe and stop.
    // A program that does not read its input is no fault here.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || drop(sender.send(child.wait_with_output())));
    let Ok(output) = receiver.recv_timeout(DEADLINE) else {
        // Ours alone, and gone already at worst.
        let _ = kill_process(pid, Signal::KILL);
        panic!("{command:?} did not end within {DEADLINE:?}");
    };
    let _ = writer.join();
    let output = output.expect("a child can be waited for");
    Finished {
        status: output.status,
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
