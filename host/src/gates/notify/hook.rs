//! The user's own program: what it is given, how long it may take, and what is said
//! of one that fails.
//!
//! It is the user's, so it runs in the user's home and may do as it likes; but it
//! gets only the variables of a list, none of which is a key.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin};

use super::Notice;
use super::log::one_line;

const TIMEOUT: Duration = Duration::from_secs(30);

/// How long we wait for the rest of what a program has complained of, when it has
/// ended and something that it started still holds the pipe.
const DRAIN: Duration = Duration::from_millis(200);

/// How much of that is told.
const COMPLAINT_BYTES: usize = 1000;

/// The longest question in a variable, in characters; standard input has all of it.
const QUESTION_CHARACTERS: usize = 4000;

/// What of our own environment it is given: who the user is, where things lie, how
/// to speak, and how to reach the desktop and the network.
const PASSED: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CURRENT_DESKTOP",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_TYPE",
    "XDG_STATE_HOME",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

#[derive(Debug, thiserror::Error)]
pub enum HookError {
    #[error("the command of [notify], `{program}`, cannot be started: {reason}")]
    NotStarted { program: String, reason: String },
    #[error("the command of [notify], `{program}`, {end}{}", complaint(.said))]
    Failed { program: String, end: String, said: String },
    #[error("the command of [notify], `{program}`, was ended after {} seconds{}", .after.as_secs_f64(), complaint(.said))]
    TooSlow { program: String, after: Duration, said: String },
}

fn complaint(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

/// Runs it to its end.
pub async fn run(
    command: &[String],
    notice: &Notice,
    home: Option<&Path>,
) -> Result<(), HookError> {
    run_for(TIMEOUT, command, notice, home).await
}

async fn run_for(
    time: Duration,
    command: &[String],
    notice: &Notice,
    home: Option<&Path>,
) -> Result<(), HookError> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let passed = |name: &str| std::env::var_os(name);
    let not_started = |error: std::io::Error| HookError::NotStarted {
        program: program.clone(),
        reason: error.to_string(),
    };
    let mut system = system_command(program);
    system
        .args(arguments)
        .env_clear()
        .envs(environment(notice, home, passed))
        .current_dir(directory())
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = system.spawn().map_err(not_started)?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let mut said = Vec::new();
    let input = serde_json::to_vec(notice).unwrap_or_default();
    let ended = tokio::time::timeout(time, attend(&mut child, stdin, input, stderr, &mut said));
    match ended.await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(HookError::Failed {
            program: program.clone(),
            end: how(status),
            said: beginning(&said),
        }),
        Ok(Err(error)) => Err(not_started(error)),
        Err(_) => {
            end(&mut child).await;
            let program = program.clone();
            Err(HookError::TooSlow { program, after: time, said: beginning(&said) })
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user's own program, which the user has named")]
fn system_command(program: &str) -> tokio::process::Command {
    tokio::process::Command::new(program)
}

/// Feeds it, hears it and waits for it, all at once: neither side can fill a pipe
/// and stop.
async fn attend(
    child: &mut Child,
    stdin: Option<ChildStdin>,
    input: Vec<u8>,
    stderr: Option<ChildStderr>,
    said: &mut Vec<u8>,
) -> std::io::Result<ExitStatus> {
    let feeding = async {
        if let Some(mut stdin) = stdin {
            // A program need not read what it is given.
            let _ = stdin.write_all(&input).await;
        }
        std::future::pending::<()>().await;
    };
    let hearing = hear(stderr, said);
    tokio::pin!(feeding, hearing);
    let mut heard = false;
    let waiting = child.wait();
    tokio::pin!(waiting);
    let status = loop {
        tokio::select! {
            status = &mut waiting => break status?,
            () = &mut feeding => {}
            () = &mut hearing, if !heard => heard = true,
        }
    };
    if !heard {
        let _ = tokio::time::timeout(DRAIN, hearing).await;
    }
    Ok(status)
}

/// Reads to the end, and keeps the beginning.
async fn hear(stderr: Option<ChildStderr>, said: &mut Vec<u8>) {
    let Some(mut stderr) = stderr else { return };
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let wanted = COMPLAINT_BYTES.saturating_sub(said.len()).min(count);
        said.extend_from_slice(&chunk[..wanted]);
    }
}

/// Ends it with all that it has started. Its number is ours until it is waited for.
async fn end(child: &mut Child) {
    let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.wait().await;
}

fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

fn beginning(said: &[u8]) -> String {
    one_line(&String::from_utf8_lossy(said))
}

/// The user's home, and else a place that is always there.
fn directory() -> std::path::PathBuf {
    std::env::home_dir().filter(|home| home.is_dir()).unwrap_or_else(|| "/".into())
}

fn environment(
    notice: &Notice,
    home: Option<&Path>,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Vec<(String, OsString)> {
    let mut variables: Vec<(String, OsString)> =
        PASSED.iter().filter_map(|name| Some(((*name).to_owned(), lookup(name)?))).collect();
    // So that the command that prints the report finds it.
    let home = home.map(|home| std::path::absolute(home).unwrap_or_else(|_| home.to_owned()));
    variables.extend(home.map(|home| ("BATHYSPHERE_HOME".to_owned(), home.into_os_string())));
    let question: String = one_line(&notice.question).chars().take(QUESTION_CHARACTERS).collect();
    let cost = notice.cost_usd.map_or_else(String::new, |cost| cost.to_string());
    for (name, value) in [
        ("TASK_ID", notice.task_id.clone()),
        ("STATUS", notice.status.to_owned()),
        ("QUESTION", question),
        ("TITLE", notice.title.clone()),
        ("MESSAGE", notice.message.clone()),
        ("SECONDS", notice.seconds.to_string()),
        ("COST_USD", cost),
        ("REPORT", notice.report.clone()),
    ] {
        // No variable can hold a zero byte.
        variables.push((format!("BATHYSPHERE_{name}"), value.replace('\0', "").into()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use super::*;

    fn notice() -> Notice {
        Notice {
            task_id: "27475b74-0000-4000-8000-000000000000".to_owned(),
            status: "completed",
            question: "What is\na \"tide\"?\0".to_owned(),
            title: "Research completed".to_owned(),
            message: "What is a tide?\nIt took 2 min 5 s.".to_owned(),
            seconds: 125.5,
            cost_usd: Some(0.42),
            report: "bathysphere show 27475b74".to_owned(),
        }
    }

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn it_gets_what_is_told_and_no_key() {
        let lookup = |name: &str| Some(OsString::from(format!("our {name}")));
        let variables: BTreeMap<String, String> = environment(&notice(), None, lookup)
            .into_iter()
            .map(|(name, value)| (name, value.into_string().unwrap()))
            .collect();
        assert_eq!(variables["PATH"], "our PATH");
        assert_eq!(variables["BATHYSPHERE_QUESTION"], "What is a \"tide\"?");
        assert_eq!(variables["BATHYSPHERE_SECONDS"], "125.5");
        assert_eq!(variables["BATHYSPHERE_COST_USD"], "0.42");
        for name in variables.keys() {
            let secret =
                ["KEY", "TOKEN", "SECRET", "PASSWORD"].iter().any(|end| name.ends_with(end));
            assert!(!secret, "{name}");
        }
        assert!(!variables.contains_key("BATHYSPHERE_HOME"));
    }

    #[tokio::test]
    async fn it_reads_the_same_as_json() {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(
            "cat > {0}/json; printenv BATHYSPHERE_MESSAGE BATHYSPHERE_HOME > {0}/printed; pwd >> {0}/printed",
            directory.path().display()
        );
        run(&shell(&script), &notice(), Some(Path::new("/srv/bathysphere"))).await.unwrap();
        let json: serde_json::Value =
            serde_json::from_slice(&std::fs::read(directory.path().join("json")).unwrap()).unwrap();
        assert_eq!(json, serde_json::to_value(notice()).unwrap());
        let printed = std::fs::read_to_string(directory.path().join("printed")).unwrap();
        let expected = format!(
            "What is a tide?\nIt took 2 min 5 s.\n/srv/bathysphere\n{}\n",
            super::directory().display()
        );
        assert_eq!(printed, expected);
    }

    #[tokio::test]
    async fn one_that_fails_is_told_with_what_it_said() {
        let failed = run(&shell("echo no route >&2; exit 7"), &notice(), None).await.unwrap_err();
        assert_eq!(
            failed.to_string(),
            "the command of [notify], `sh`, ended with code 7: no route"
        );
        let killed = run(&shell("kill -9 $$"), &notice(), None).await.unwrap_err();
        assert_eq!(killed.to_string(), "the command of [notify], `sh`, was ended by signal 9");
        let absent = run(&["/nowhere/at-all".to_owned()], &notice(), None).await.unwrap_err();
        assert!(absent.to_string().contains("`/nowhere/at-all`, cannot be started"), "{absent}");
        let loud = "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1";
        let loud = run(&shell(loud), &notice(), None).await.unwrap_err().to_string();
        assert!(loud.len() < COMPLAINT_BYTES + 100, "{}", loud.len());
    }

    #[tokio::test]
    async fn one_that_hangs_is_ended_with_all_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; echo waiting >&2; wait", file.display());
        let time = Duration::from_secs(1);
        let slow = run_for(time, &shell(&script), &notice(), None).await.unwrap_err();
        assert_eq!(
            slow.to_string(),
            "the command of [notify], `sh`, was ended after 1 seconds: waiting"
        );
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let started = Instant::now();
        // Killed, and taken from the table by whoever inherits it.
        while is_alive(pid) {
            assert!(started.elapsed() < Duration::from_secs(10), "{pid} is still there");
            tokio::task::yield_now().await;
        }
    }

    #[cfg(target_os = "linux")]
    fn is_alive(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[cfg(not(target_os = "linux"))]
    fn is_alive(pid: i32) -> bool {
        Pid::from_raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    #[tokio::test]
    async fn what_it_leaves_behind_keeps_nobody_waiting() {
        let started = Instant::now();
        run(&shell("sleep 5 & exit 0"), &notice(), None).await.unwrap();
        assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    }
}
