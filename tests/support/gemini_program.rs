//! The real Gemini CLI, installed at a pinned version, and what it shares with its fake.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process, test_kill_process_group};
use tempfile::TempDir;

use super::packages::{attempt, installed};
use super::program::DEADLINE;

/// The Node that the CLI asks for.
const NODE: u32 = 20;

/// Why a test cannot run here.
pub type Skip = String;

/// The real Gemini CLI: the program, to be found by its directory in PATH or named by
/// its path. It starts `node` from PATH.
pub fn real_gemini() -> Result<PathBuf, Skip> {
    let output = Command::new("node")
        .arg("--version")
        .output()
        .map_err(|error| format!("there is no Node: {error}"))?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major =
        version.trim_start_matches('v').split('.').next().and_then(|text| text.parse().ok());
    if major.is_none_or(|major: u32| major < NODE) {
        return Err(format!("Node {version} is older than {NODE}"));
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/gemini/package.json");
    let manifest = fs::read_to_string(source).expect("a file of this repository");
    let directory = installed("gemini-cli", &manifest, |directory| {
        fs::write(directory.join("package.json"), &manifest).map_err(|error| error.to_string())?;
        attempt(
            Command::new("npm")
                .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
                .args(["--no-package-lock", "--loglevel=error"])
                .current_dir(directory),
        )
    })?;
    Ok(directory.join("node_modules/.bin/gemini"))
}

/// Says that a test was skipped, past libtest, which shows no word of a test that
/// passes; under `CI=true` that is a failure.
#[track_caller]
pub fn skip(reason: &Skip) {
    assert!(
        std::env::var_os("CI").is_none_or(|value| value != "true"),
        "the Gemini CLI cannot be installed: {reason}"
    );
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    // Whoever has closed standard error does not want to know.
    let _ = writeln!(
        io::stderr(),
        "skipped: {test} needs the Gemini CLI, which cannot be installed: {reason}"
    );
}

/// The real CLI: an executable called `gemini` in a directory of its own, which notes
/// its process.
pub struct RealCli {
    directory: TempDir,
}

impl RealCli {
    /// With a key and a stand-in of the API in its environment.
    pub fn new(url: &str) -> Result<Self, Skip> {
        Self::with_key(url, "a-key-for-tests")
    }

    pub fn with_key(url: &str, key: &str) -> Result<Self, Skip> {
        Self::with_environment(&format!(
            "export GEMINI_API_KEY='{key}' GOOGLE_GEMINI_BASE_URL='{url}'"
        ))
    }

    /// With nothing but the environment that it is started in.
    pub fn bare() -> Result<Self, Skip> {
        Self::with_environment(":")
    }

    /// `environment` is a line of its own in the program.
    fn with_environment(environment: &str) -> Result<Self, Skip> {
        let real = real_gemini()?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (place, real) = (directory.path().display(), real.display());
        write_program(
            &directory.path().join("gemini"),
            &format!(
                "#!/bin/sh\necho $$ >> '{place}/processes'\n{environment}\n\
                 exec '{real}' \"$@\"\n"
            ),
        );
        Ok(Self { directory })
    }

    /// The executable.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("gemini")
    }

    /// PATH with it before everything else.
    pub fn search_path(&self) -> OsString {
        search_path(self.directory.path())
    }

    /// Every process of it that has been started.
    pub fn processes(&self) -> Vec<Pid> {
        let text = fs::read_to_string(self.directory.path().join("processes")).unwrap_or_default();
        text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
    }

    /// Waits until none of them runs, nor anything in its group; there has to be one.
    #[track_caller]
    pub fn wait_until_gone(&self) {
        let start = Instant::now();
        while self.processes().is_empty() || self.processes().into_iter().any(is_group_running) {
            assert!(start.elapsed() < DEADLINE, "{:?} are still running", self.processes());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Writes a program by another process: while this one has it open for writing, a
/// program that another test starts may hold it open, too, and it could not be run.
pub fn write_program(path: &Path, text: &str) {
    let mut writer = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut input = writer.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).expect("the shell reads");
    drop(input);
    assert!(writer.wait().expect("it can be waited for").success());
}

/// PATH with a directory before everything else.
pub fn search_path(first: &Path) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(first.to_owned()).chain(std::env::split_paths(&rest)))
        .expect("no separator in a temporary path")
}

/// Each run has a process group of its own, which it leads.
fn is_group_running(leader: Pid) -> bool {
    is_running(leader) || test_kill_process_group(leader).is_ok()
}

/// A dead process may stay in the table where nobody adopts orphans.
pub fn is_running(process: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    test_kill_process(process).is_ok() && !state.contains(") Z ")
}
