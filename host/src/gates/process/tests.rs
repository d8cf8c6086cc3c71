//! The gate with real programs: the shell and what it can start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Instant;

use rustix::process::{Pid, test_kill_process};

use super::*;

const SHELL: &str = "/bin/sh";

/// Grants the shell, under an environment with a secret in it.
fn gate() -> ProcessGate {
    gate_with(ProcessLimits::default())
}

fn gate_with(limits: ProcessLimits) -> ProcessGate {
    let grants = Grants {
        commands: vec![SHELL.to_owned(), "sh".to_owned(), "no-such-program".to_owned()],
        environment: vec!["GRANTED".to_owned(), "ABSENT".to_owned()],
        ..Grants::default()
    };
    ProcessGate::with_lookup(&grants, limits, |name| match name {
        "PATH" => Some(".:/usr/bin:/bin".into()),
        "GRANTED" => Some("granted-value".into()),
        "HOST_SECRET" => Some("secret-value".into()),
        "ABSENT" => None,
        _ => Some("something".into()),
    })
}

fn shell(script: &str) -> Command {
    Command {
        program: SHELL.to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        ..Command::default()
    }
}

fn output(text: &str) -> ProcessEvent {
    ProcessEvent::Output(text.as_bytes().to_vec())
}

fn other(name: &str) -> GateErrorKind {
    GateErrorKind::Other(name.to_owned())
}

fn spawn_error(command: Command) -> GateError {
    match gate().spawn(command) {
        Ok(_) => panic!("it was started"),
        Err(error) => error,
    }
}

async fn all(child: &mut Child) -> Result<Vec<ProcessEvent>, GateError> {
    let mut events = Vec::new();
    while let Some(event) = child.next().await? {
        events.push(event);
    }
    Ok(events)
}

async fn run(command: Command) -> Vec<ProcessEvent> {
    all(&mut gate().spawn(command).expect("it starts")).await.expect("it ends")
}

/// The next line of standard output, which has to be there. How it falls among
/// the lines of standard error is chance.
async fn line(child: &mut Child) -> String {
    loop {
        match child.next().await.expect("no error") {
            Some(ProcessEvent::Output(line)) => return String::from_utf8(line).expect("text"),
            Some(ProcessEvent::ErrorOutput(_)) => {}
            event => panic!("not a line: {event:?}"),
        }
    }
}

async fn process_id(child: &mut Child) -> Pid {
    Pid::from_raw(line(child).await.parse().expect("a number")).expect("not zero")
}

/// A dead process may stay in the table where nobody adopts orphans.
fn is_running(process: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    test_kill_process(process).is_ok() && !state.contains(") Z ")
}

/// Waits for something that has to happen soon.
#[track_caller]
fn eventually(what: &str, happened: impl Fn() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[tokio::test]
async fn lines_and_the_exit_code_are_told() {
    let events = run(shell("echo one; printf 'two\\r\\n\\nlast'; exit 7")).await;
    let lines = [output("one"), output("two"), output(""), output("last")];
    assert_eq!(events[..4], lines);
    assert_eq!(events[4..], [ProcessEvent::Exited(7)]);

    let events = run(shell("echo bad >&2")).await;
    assert_eq!(events, [ProcessEvent::ErrorOutput(b"bad".to_vec()), ProcessEvent::Exited(0)]);
}

#[tokio::test]
async fn the_end_stays_the_end() {
    let mut child = gate().spawn(shell("exit 0")).expect("it starts");
    assert_eq!(all(&mut child).await.expect("it ends").len(), 1);
    assert_eq!(child.next().await, Ok(None));
}

#[tokio::test]
async fn a_signal_is_told() {
    assert_eq!(run(shell("kill -9 $$")).await, [ProcessEvent::Signalled(9)]);
}

#[tokio::test]
async fn input_is_handed_over_and_closed() {
    let command = Command { input: b"from outside\n".to_vec(), ..shell("cat; echo end") };
    let expected = [output("from outside"), output("end"), ProcessEvent::Exited(0)];
    assert_eq!(run(command).await, expected);
    assert_eq!(run(shell("cat")).await, [ProcessEvent::Exited(0)]);
}

#[tokio::test]
async fn much_input_flows_while_output_is_read() {
    let input = b"0123456789abcde\n".repeat(64 << 10);
    let events = run(Command { input, ..shell("cat") }).await;
    assert_eq!(events.len(), (64 << 10) + 1);
}

#[tokio::test]
async fn a_program_need_not_read_its_input() {
    let command = Command { input: vec![b'x'; 1 << 20], ..shell("exec <&-; echo done") };
    assert_eq!(run(command).await, [output("done"), ProcessEvent::Exited(0)]);
}

#[tokio::test]
async fn arguments_are_passed_as_they_are() {
    let mut command = shell("for a in \"$@\"; do echo \"$a\"; done");
    command
        .arguments
        .extend(["sh", "-x", "--", "--flag=1", "", "a b", "$HOME;`id`", "é"].map(String::from));
    let expected = ["-x", "--", "--flag=1", "", "a b", "$HOME;`id`", "é"].map(output);
    assert_eq!(run(command).await[..7], expected);
}

#[tokio::test]
async fn what_is_not_granted_is_refused() {
    for program in ["/bin/ls", "ls", "/bin/../bin/sh", "//bin/sh", "./sh", "sh ", "", "SH"] {
        let error = spawn_error(Command { program: program.to_owned(), ..shell("true") });
        assert_eq!(error.kind, GateErrorKind::Refused, "{program}: {error}");
        assert!(error.hint.expect("a hint").contains("grants.commands"));
    }
}

#[tokio::test]
async fn a_granted_name_is_looked_up_in_the_path() {
    assert_eq!(
        run(Command { program: "sh".to_owned(), ..shell("exit 3") }).await,
        [ProcessEvent::Exited(3)]
    );
    assert!(gate().locate("sh").expect("installed").is_absolute());
}

#[tokio::test]
async fn a_missing_program_is_not_found() {
    let error = spawn_error(Command { program: "no-such-program".to_owned(), ..shell("") });
    assert_eq!(error.kind, GateErrorKind::NotFound);
    assert_eq!(error.message, "the program `no-such-program` is not installed");
    assert!(error.hint.expect("a hint").contains("install `no-such-program`"));
}

#[test]
fn a_path_relative_to_the_current_directory_is_not_searched() {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("program");
    fs::write(&program, "#!/bin/sh\n").expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("permission");
    let grants = Grants { commands: vec!["program".to_owned()], ..Grants::default() };
    let locate = |path: &Path| {
        let path = OsString::from(path);
        ProcessGate::with_lookup(&grants, ProcessLimits::default(), |_| Some(path.clone()))
            .locate("program")
    };
    assert_eq!(locate(place.path()), Ok(program));

    let here = std::env::current_dir().expect("a directory");
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(place.path().strip_prefix("/").expect("absolute"));
    assert!(relative.join("program").exists());
    assert_eq!(locate(&relative).expect_err("not searched").kind, GateErrorKind::NotFound);
}

#[tokio::test]
async fn a_path_to_nothing_is_not_found() {
    let place = tempfile::tempdir().expect("a directory");
    let text = place.path().join("text");
    fs::write(&text, "not a program").expect("a file");
    for path in [place.path().join("absent"), text, place.path().to_owned(), "bin/sh".into()] {
        let program = path.to_str().expect("text").to_owned();
        let grants = Grants { commands: vec![program.clone()], ..Grants::default() };
        let kind = ProcessGate::new(&grants).locate(&program).expect_err("no program").kind;
        assert_eq!(kind, GateErrorKind::NotFound, "{program}");
    }
}

#[tokio::test]
async fn only_the_granted_environment_is_seen() {
    let environment = vec![("OWN".to_owned(), "own value".to_owned())];
    let events = run(Command { environment, ..shell("env | grep -v '^_=' | sort") }).await;
    let mut lines: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            ProcessEvent::Output(line) => Some(String::from_utf8_lossy(line).into_owned()),
            _ => None,
        })
        .collect();
    // Shells add some of their own.
    lines.retain(|line| !["PWD=", "OLDPWD=", "SHLVL="].iter().any(|own| line.starts_with(own)));
    let names: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert_eq!(names, ["GRANTED", "HOME", "OWN", "PATH", "TMPDIR"]);
    assert!(lines.contains(&"GRANTED=granted-value".to_owned()));
    assert!(lines.contains(&"OWN=own value".to_owned()));
}

#[tokio::test]
async fn dangerous_variables_are_refused() {
    for name in [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "HOME",
        "TMPDIR",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "BASH_ENV",
        "BASH_FUNC_ls%%",
        "GIT_SSH_COMMAND",
        "https_proxy",
        "SSL_CERT_FILE",
        "GRANTED",
    ] {
        let environment = vec![(name.to_owned(), "x".to_owned())];
        let error = spawn_error(Command { environment, ..shell("true") });
        assert_eq!(error.kind, GateErrorKind::Refused, "{name}: {error}");
    }
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0")] {
        let environment = vec![(name.to_owned(), value.to_owned())];
        let error = spawn_error(Command { environment, ..shell("true") });
        assert_eq!(error.kind, GateErrorKind::InvalidInput, "{name:?}");
    }
}

/// Grants variables that hold secrets.
fn gate_with_secrets() -> ProcessGate {
    let grants = Grants {
        commands: vec![SHELL.to_owned()],
        environment: ["API_KEY", "my_token", "PEM_SECRET", "HTTPS_PROXY", "PLAIN", "BAD_PASSWORD"]
            .map(str::to_owned)
            .into(),
        ..Grants::default()
    };
    ProcessGate::with_lookup(&grants, ProcessLimits::default(), |name| match name {
        "PATH" => Some("/usr/bin:/bin".into()),
        "API_KEY" => Some("key/0123456789".into()),
        "my_token" => Some("quote\"and\\slash".into()),
        "PEM_SECRET" => Some("first line\nsecond line".into()),
        "HTTPS_PROXY" => Some("http://diver:bubbles@proxy.example:3128/".into()),
        "PLAIN" => Some("plain value".into()),
        "BAD_PASSWORD" => Some("abc".into()),
        _ => None,
    })
}

#[tokio::test]
async fn a_granted_secret_does_not_come_back() {
    let script = r#"
        echo "key $API_KEY, again ${API_KEY}!"
        echo "proxy $HTTPS_PROXY, $PLAIN, $BAD_PASSWORD"
        printf '%s\n' "$PEM_SECRET" "$my_token" 'json quote\"and\\slash' 'url key%2F0123456789'
        printf '%s' "$API_KEY" > left; printf '%s' "$API_KEY" > "$HOME/left"
        touch "second line of it"
        echo "error $API_KEY" >&2
    "#;
    let mut child = gate_with_secrets().spawn(shell(script)).expect("it starts");
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    for event in all(&mut child).await.expect("it ends") {
        match event {
            ProcessEvent::Output(line) => lines.push(String::from_utf8(line).expect("text")),
            ProcessEvent::ErrorOutput(line) => errors.push(String::from_utf8(line).expect("text")),
            _ => {}
        }
    }
    assert_eq!(
        lines,
        [
            "key [secret], again [secret]!",
            // The name of a proxy is no secret, its login is; three letters protect nothing.
            "proxy http://[secret]@proxy.example:3128/, plain value, abc",
            "[secret]",
            "[secret]",
            "[secret]",
            "json [secret]",
            "url [secret]",
        ]
    );
    assert_eq!(errors, ["error [secret]"]);
    assert_eq!(child.read_file("left", 99), Ok(b"[secret]".to_vec()));
    assert_eq!(child.read_file("~/left", 99), Ok(b"[secret]".to_vec()));
    assert_eq!(child.list_files(), ["left", "[secret] of it", "~/left"]);
}

#[tokio::test]
async fn a_secret_cut_in_two_writes_is_masked() {
    let script = "printf '%s' 'key/01234'; printf '%s\n' '56789'; printf '%s' \"$API_KEY\"";
    let mut child = gate_with_secrets().spawn(shell(script)).expect("it starts");
    let masked = [output("[secret]"), output("[secret]"), ProcessEvent::Exited(0)];
    assert_eq!(all(&mut child).await.expect("it ends"), masked);
}

#[tokio::test]
async fn home_can_be_granted() {
    let grants = Grants {
        commands: vec![SHELL.to_owned()],
        environment: vec!["HOME".to_owned()],
        ..Grants::default()
    };
    let gate =
        ProcessGate::with_lookup(&grants, ProcessLimits::default(), |_| Some("/granted".into()));
    let mut child = gate.spawn(shell("echo $HOME")).expect("it starts");
    assert_eq!(line(&mut child).await, "/granted");
}

#[tokio::test]
async fn the_directory_is_private_and_then_gone() {
    let mut child = gate()
        .spawn(shell(
            "pwd -P; echo $HOME; echo $TMPDIR; ls -A; ls -A $HOME; ls -A $TMPDIR; echo end; \
             mkdir -p a/b; echo x > a/b/c; chmod 0 a/b a",
        ))
        .expect("it starts");
    let work = line(&mut child).await;
    let path = Path::new(&work).parent().expect("it is inside another");
    assert_eq!(fs::metadata(path).expect("it is there").permissions().mode() & 0o777, 0o700);
    assert_eq!(Path::new(&work), path.join("work"));
    let resolved = |text: String| fs::canonicalize(text).expect("it is there");
    assert_eq!(resolved(line(&mut child).await), path.join("home"));
    assert_eq!(resolved(line(&mut child).await), path.join("tmp"));
    // All three are empty.
    assert_eq!(line(&mut child).await, "end");
    assert_eq!(child.next().await, Ok(Some(ProcessEvent::Exited(0))));
    assert!(path.exists());
    drop(child);
    eventually("the directory is removed", || !path.exists());
}

#[tokio::test]
async fn files_are_laid_out_and_read_back() {
    let files = vec![
        ("in.txt".to_owned(), b"one".to_vec()),
        ("~/.config/settings.json".to_owned(), b"two".to_vec()),
    ];
    let script = "cat in.txt $HOME/.config/settings.json > out.txt; ln -s out.txt link; \
                  echo three > $HOME/left; ls -A";
    let mut child = gate().spawn(Command { files, ..shell(script) }).expect("it starts");
    // What is laid into the home is not in the working directory.
    let seen = ["in.txt", "link", "out.txt"].map(output);
    assert_eq!(all(&mut child).await.expect("it ends")[..3], seen);
    assert_eq!(child.read_file("out.txt", 6), Ok(b"onetwo".to_vec()));
    assert_eq!(child.read_file("link", 6), Ok(b"onetwo".to_vec()));
    assert_eq!(child.read_file("~/left", 6), Ok(b"three\n".to_vec()));
    let kind = |name, most| child.read_file(name, most).expect_err(name).kind;
    assert_eq!(kind("out.txt", 5), other("too-large"));
    assert_eq!(kind("absent", 5), GateErrorKind::NotFound);
    assert_eq!(kind("left", 6), GateErrorKind::NotFound);
    for name in
        ["", "/etc/passwd", "../x", "a/../../x", ".", "x\0", "~/", "~/../work/in.txt", "~//etc"]
    {
        assert_eq!(kind(name, 5), GateErrorKind::InvalidInput, "{name:?}");
    }
}

#[tokio::test]
async fn what_is_left_is_listed_without_links() {
    let files = vec![("~/.config/laid".to_owned(), Vec::new())];
    let script = "mkdir -p b/c $HOME/d; touch z b/c/x $HOME/d/y $TMPDIR/t; mkfifo pipe; \
                  ln -s /etc etc; ln -s z link; ln -s .. b/up";
    let mut child = gate().spawn(Command { files, ..shell(script) }).expect("it starts");
    all(&mut child).await.expect("it ends");
    assert_eq!(child.list_files(), ["b/c/x", "z", "~/.config/laid", "~/d/y"]);
    for name in child.list_files() {
        assert!(child.read_file(&name, 9).is_ok(), "{name}");
    }
}

#[tokio::test]
async fn a_listing_is_bounded() {
    let script = "i=0; while [ $i -lt 5000 ]; do : > f$i; i=$((i+1)); done; \
                  d=$HOME; i=0; while [ $i -lt 40 ]; do d=$d/d; i=$((i+1)); done; \
                  mkdir -p $d; touch $d/deep";
    let mut child = gate().spawn(shell(script)).expect("it starts");
    all(&mut child).await.expect("it ends");
    let names = child.list_files();
    assert_eq!(names.len(), 4096);
    assert!(!names.iter().any(|name| name.ends_with("deep")));
}

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_leads_nowhere() {
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("treasure"), "gold").expect("a file");
    let mut command = shell(
        "cd ..; rmdir work; ln -s \"$1\" work; rmdir home; ln -s \"$1\" home; \
         mv \"$PWD\" \"$PWD.moved\"; ln -s \"$1\" \"$PWD\"; echo \"$PWD\"; : done",
    );
    let place = outside.path().to_str().expect("text").to_owned();
    command.arguments.extend(["sh".to_owned(), place]);
    let mut child = gate().spawn(command).expect("it starts");
    let path = line(&mut child).await;
    all(&mut child).await.expect("it ends");
    assert!(Path::new(&path).join("treasure").exists(), "the test itself lays the link");
    assert_eq!(child.list_files(), Vec::<String>::new());
    for name in ["treasure", "~/treasure"] {
        assert!(child.read_file(name, 9).is_err(), "{name}");
    }
    drop(child);
    eventually("the link is removed", || fs::symlink_metadata(&path).is_err());
    assert!(outside.path().join("treasure").exists());
    fs::remove_dir_all(format!("{path}.moved")).expect("what the program moved away");
}

#[tokio::test]
async fn files_outside_are_neither_written_nor_read() {
    for name in ["/tmp/x", "../x", "a/../../x", "", "x\0y", "~/", "~/../x"] {
        let files = vec![(name.to_owned(), Vec::new())];
        let error = spawn_error(Command { files, ..shell("true") });
        assert_eq!(error.kind, GateErrorKind::InvalidInput, "{name:?}: {error}");
    }
    let twice = vec![("a".to_owned(), vec![]), ("a".to_owned(), vec![])];
    assert_eq!(
        spawn_error(Command { files: twice, ..shell("") }).kind,
        GateErrorKind::InvalidInput
    );

    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("treasure"), "gold").expect("a file");
    let mut command =
        shell("ln -s \"$1/treasure\" file; ln -s \"$1\" dir; mkfifo pipe; echo x > plain");
    let place = outside.path().to_str().expect("text").to_owned();
    command.arguments.extend(["sh".to_owned(), place]);
    let mut child = gate().spawn(command).expect("it starts");
    assert_eq!(all(&mut child).await.expect("it ends"), [ProcessEvent::Exited(0)]);
    assert_eq!(child.read_file("plain", 9), Ok(b"x\n".to_vec()));
    for name in ["file", "dir/treasure", "dir", "pipe"] {
        assert!(child.read_file(name, 9).is_err(), "{name}");
    }
}

#[tokio::test]
async fn a_flood_is_cut() {
    let limits = ProcessLimits { output_bytes: 1 << 20, ..ProcessLimits::default() };
    for script in ["echo $$; yes", "echo $$; yes >&2"] {
        let mut child = gate_with(limits.clone()).spawn(shell(script)).expect("it starts");
        let process = process_id(&mut child).await;
        let error = all(&mut child).await.expect_err("too much");
        assert_eq!(error.kind, other("too-large"));
        assert_eq!(child.next().await, Ok(None));
        // Ended although the child is still held.
        eventually("the flood has ended", || !is_running(process));
    }
}

#[tokio::test]
async fn an_endless_line_is_cut() {
    let limits = ProcessLimits { line_bytes: 100 << 10, ..ProcessLimits::default() };
    let mut child = gate_with(limits).spawn(shell("cat /dev/zero")).expect("it starts");
    let error = all(&mut child).await.expect_err("too long");
    assert_eq!(error.kind, other("too-large"));
    assert_eq!(error.message, "`/bin/sh` wrote a line of more than 102400 bytes");
}

#[tokio::test]
async fn a_hanging_program_is_ended() {
    let command =
        Command { timeout: Some(Duration::from_millis(300)), ..shell("echo $$; sleep 1000") };
    let mut child = gate().spawn(command).expect("it starts");
    let process = process_id(&mut child).await;
    let error = child.next().await.expect_err("too slow");
    assert_eq!(error.kind, other("timeout"));
    assert_eq!(error.message, "`/bin/sh` did not end within 300ms");
    eventually("the program has ended", || !is_running(process));
}

#[tokio::test]
async fn a_program_that_talks_without_end_is_ended_in_time() {
    let limits = ProcessLimits {
        timeout: Duration::from_millis(200),
        output_bytes: usize::MAX,
        ..ProcessLimits::default()
    };
    let command = Command { timeout: Some(Duration::MAX), ..shell("yes") };
    let mut child = gate_with(limits).spawn(command).expect("it starts");
    let error = loop {
        match child.next().await {
            Ok(event) => assert!(event.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, other("timeout"));
}

#[tokio::test]
async fn dropping_ends_grandchildren_and_leaves_no_zombie() {
    // The middle shell exits, so that the last one belongs to nobody.
    let script = "echo $$; sh -c 'sh -c \"echo \\$\\$; sleep 1000; true\" & '; sleep 1000; true";
    let mut child = gate().spawn(shell(script)).expect("it starts");
    let leader = process_id(&mut child).await;
    let orphan = process_id(&mut child).await;
    assert!(is_running(leader) && is_running(orphan));
    drop(child);
    eventually("the orphan has ended", || !is_running(orphan));
    // Not even as a zombie: it was our own child.
    eventually("the leader is reaped", || test_kill_process(leader).is_err());
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it() {
    let mut child = gate().spawn(shell("sleep 1000 & echo $!")).expect("it starts");
    let left = process_id(&mut child).await;
    // The one left behind holds the pipe: the end comes all the same.
    assert_eq!(child.next().await, Ok(Some(ProcessEvent::Exited(0))));
    eventually("what was left has ended", || !is_running(left));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_that_left_the_group_does_not_hold_up_the_end() {
    let mut child = gate().spawn(shell("setsid sleep 5 & echo last")).expect("it starts");
    let start = Instant::now();
    assert_eq!(line(&mut child).await, "last");
    assert_eq!(child.next().await, Ok(Some(ProcessEvent::Exited(0))));
    assert!(start.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn a_program_deaf_to_the_polite_signal_is_ended() {
    let script = "trap '' TERM; echo $$; while true; do sleep 0.05; done";
    let mut child = gate().spawn(shell(script)).expect("it starts");
    let process = process_id(&mut child).await;
    let start = Instant::now();
    drop(child);
    assert!(start.elapsed() < Duration::from_millis(400), "dropping does not wait");
    eventually("the deaf program has ended", || test_kill_process(process).is_err());
}

#[tokio::test]
async fn a_deaf_launcher_and_its_child_are_ended_within_a_second() {
    // As a launcher does that only hands signals on, to one that hears none either.
    let script =
        "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; pwd; while :; do sleep 0.05; done' &
                  echo $$; while :; do wait; done";
    let mut child = gate().spawn(shell(script)).expect("it starts");
    let mut lines = [line(&mut child).await, line(&mut child).await, line(&mut child).await];
    lines.sort();
    let [directory, one, other] = lines;
    let processes = [one, other].map(|line| Pid::from_raw(line.parse().expect("a number")));
    let start = Instant::now();
    drop(child);
    for process in processes {
        eventually("both have ended", || !is_running(process.expect("not zero")));
    }
    eventually("the directory is removed", || !Path::new(&directory).exists());
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_program_may_tidy_up_at_the_polite_signal() {
    let outside = tempfile::tempdir().expect("a directory");
    let note = outside.path().join("note");
    // The shell would tell of the signal, into a pipe that nobody holds any more.
    let mut command = shell(
        "exec 2> /dev/null; trap 'echo tidy > \"$1\"; exit' TERM; echo ready; \
         while true; do sleep 0.02; done",
    );
    command.arguments.extend(["sh".to_owned(), note.to_str().expect("text").to_owned()]);
    let mut child = gate().spawn(command).expect("it starts");
    assert_eq!(line(&mut child).await, "ready");
    drop(child);
    eventually("the note is written", || fs::read(&note).is_ok_and(|text| text == b"tidy\n"));
}

#[test]
fn dropping_works_after_the_runtime_has_gone() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (child, process, directory) = runtime.block_on(async {
        let mut child = gate().spawn(shell("echo $$; pwd; sleep 1000")).expect("it starts");
        let process = process_id(&mut child).await;
        let directory = line(&mut child).await;
        (child, process, directory)
    });
    drop(runtime);
    assert!(is_running(process));
    drop(child);
    eventually("the program is reaped", || test_kill_process(process).is_err());
    eventually("the directory is removed", || !Path::new(&directory).exists());
}

#[tokio::test]
async fn a_late_reader_loses_nothing() {
    let command = Command {
        timeout: Some(Duration::from_millis(500)),
        ..shell("echo one; echo two; pwd; touch done")
    };
    let mut child = gate().spawn(command).expect("it starts");
    eventually("the program is done", || child.read_file("done", 1).is_ok());
    let deadline = Instant::now() + Duration::from_millis(500);
    eventually("the deadline has passed", || Instant::now() > deadline);
    assert_eq!(line(&mut child).await, "one");
    assert_eq!(line(&mut child).await, "two");
}

/// As a program that does not wait for its pipe: it writes what there is room for, and
/// exits.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_may_write_a_good_deal_ahead() {
    let script = "pwd; until [ -e go ]; do sleep 0.01; done
        dd if=/dev/zero bs=262144 count=1 oflag=nonblock 2> /dev/null; touch done";
    let mut child = gate().spawn(shell(script)).expect("it starts");
    // By now its pipe is as wide as it gets.
    let work = line(&mut child).await;
    fs::write(Path::new(&work).join("go"), "").expect("a directory of ours");
    // Nothing is read before it has ended.
    eventually("the program is done", || child.read_file("done", 1).is_ok());
    assert_eq!(line(&mut child).await.len(), 262_144);
}

#[tokio::test]
async fn waiting_can_be_given_up_and_taken_up() {
    let command = Command { input: b"go\n".repeat(50_000), ..shell("cat; echo end") };
    let mut child = gate().spawn(command).expect("it starts");
    let mut lines = 0;
    loop {
        let event = tokio::select! {
            biased;
            event = child.next() => event.expect("no error"),
            () = tokio::task::yield_now() => continue,
        };
        match event {
            Some(ProcessEvent::Output(_)) => lines += 1,
            Some(event) => assert_eq!(event, ProcessEvent::Exited(0)),
            None => break,
        }
    }
    assert_eq!(lines, 50_001);
}

#[tokio::test]
async fn arguments_that_are_too_long_are_an_input_error() {
    let mut command = shell("true");
    command.arguments.push("x".repeat(8 << 20));
    let error = spawn_error(command);
    assert_eq!(error.kind, GateErrorKind::InvalidInput);
    assert!(error.message.contains("longer than the system allows"), "{error}");
    assert!(error.hint.expect("a hint").contains("standard input"));

    let mut command = shell("true");
    command.arguments.push("a\0b".to_owned());
    assert_eq!(spawn_error(command).kind, GateErrorKind::InvalidInput);
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_whose_parent_is_gone_does_not_start() {
    let parent = rustix::process::getppid().expect("this process has one");
    still_child_of(parent).expect("it is still there");
    // As if it had been orphaned: another is the parent now.
    let error = still_child_of(rustix::process::getpid()).expect_err("it is nobody's parent");
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::SRCH.raw_os_error()));
}

#[tokio::test]
async fn too_much_input_is_not_handed_over() {
    let limits = ProcessLimits { input_bytes: 10, ..ProcessLimits::default() };
    let files = vec![("a".to_owned(), vec![0; 6])];
    let command = Command { input: vec![0; 5], files, ..shell("true") };
    let error = gate_with(limits).spawn(command).err().expect("too much");
    assert_eq!(error.kind, other("too-large"));
}

#[tokio::test]
async fn a_script_without_its_interpreter_is_not_found() {
    // Written by another process: a file that this one has just written may be
    // held open for a moment by a program that another test is starting.
    let write = "printf '#!/no/such/interpreter\\n' > script; chmod 755 script; pwd";
    let mut writer = gate().spawn(shell(write)).expect("it starts");
    let program = format!("{}/script", line(&mut writer).await);
    all(&mut writer).await.expect("it ends");
    let grants = Grants { commands: vec![program.clone()], ..Grants::default() };
    let command = Command { program, ..Command::default() };
    let error = ProcessGate::new(&grants).spawn(command).err().expect("it cannot start");
    assert_eq!(error.kind, GateErrorKind::NotFound);
    assert!(error.message.contains("interpreter"), "{error}");
}
