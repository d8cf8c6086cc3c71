//! A fake of the Gemini CLI: it says what a test scripts, and records how it was
//! called. It needs nothing but a shell.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::gemini_program::{is_running, search_path, write_program};
use super::program::DEADLINE;

/// What one run of the fake does. Starts as a run that prints nothing and exits with 0.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Shell lines, before anything is printed.
    before: Vec<String>,
    output: String,
    error_output: String,
    session: String,
    /// Shell lines, after all is printed.
    after: Vec<String>,
    code: i32,
    echoes: bool,
}

impl Run {
    pub fn new() -> Self {
        Self::default()
    }

    /// The events of an answer, as the real CLI prints them.
    pub fn answers(text: &str) -> Self {
        Self::new().begins().says(text).succeeds()
    }

    /// The same after one search. Its sources (titles and addresses) are in the
    /// session's record, which also names the model.
    pub fn searches(query: &str, found: &[(&str, &str)], text: &str) -> Self {
        Self::new().begins().uses_search(query, found).says(text).succeeds()
    }

    /// A failure that is told in the last event, with the exit code that the real CLI
    /// has for it.
    pub fn fails(code: i32, message: &str) -> Self {
        let mut run = Self::new().begins();
        run.event(&json!({
            "type": "result", "status": "error",
            "error": { "type": "unknown", "message": format!("[API Error: {message}]") },
            "stats": stats(0, 0),
        }));
        run.exits(code)
    }

    /// The API does not accept the key.
    pub fn bad_key() -> Self {
        let error = json!({ "error": {
            "code": 400, "message": "API key not valid. Please pass a valid API key.",
            "status": "INVALID_ARGUMENT", "details": [{ "reason": "API_KEY_INVALID" }],
        } });
        Self::fails(144, &error.to_string())
    }

    pub fn model_not_found() -> Self {
        Self::fails(1, "models/gemini-x is not found for API version v1beta, or is not supported.")
    }

    pub fn daily_quota() -> Self {
        Self::fails(173, "You have exhausted your daily quota on this model.")
    }

    pub fn rate_limited(seconds: u32) -> Self {
        Self::fails(173, &format!("You exceeded your current quota.\nPlease retry in {seconds}s."))
    }

    pub fn overloaded() -> Self {
        Self::fails(247, "The model is overloaded. Please try again later.")
    }

    pub fn internal_error() -> Self {
        Self::fails(
            244,
            r#"{"error":{"code":500,"message":"An internal error.","status":"INTERNAL"}}"#,
        )
    }

    /// Exits with 0, and the answer is empty.
    pub fn empty() -> Self {
        Self::invalid("The model returned an empty response with no text or thoughts.")
    }

    /// Exits with 0, and the answer was blocked.
    pub fn safety_block() -> Self {
        Self::invalid("The model response was blocked due to safety settings.")
    }

    /// Exits with 0 and without a word: nothing was asked.
    pub fn context_overflow() -> Self {
        let mut run = Self::new().begins();
        run.event(&json!({
            "type": "result", "status": "success",
            "stats": { "total_tokens": 0, "input_tokens": 0, "output_tokens": 0, "models": {} },
        }));
        run
    }

    fn invalid(message: &str) -> Self {
        let mut run = Self::new().begins();
        run.event(&json!({ "type": "error", "severity": "error", "message": message }));
        run.event(&json!({ "type": "result", "status": "error", "stats": stats(1000, 70) }));
        run
    }

    /// Begins as `answers` does, and then waits without end.
    pub fn hangs() -> Self {
        let mut run = Self::new().begins();
        run.after.push("sleep 1000000 & wait $!".into());
        run
    }

    /// The same, deaf to the polite signal.
    pub fn hangs_deaf() -> Self {
        let mut run = Self::hangs();
        run.before.push("trap '' TERM".into());
        run
    }

    /// The same, with a deaf child that outlives it unless the group is ended.
    pub fn hangs_with_orphan() -> Self {
        let mut run = Self::hangs();
        run.before.push(
            r#"sh -c 'trap "" TERM; echo $$ > "$1/orphan"; exec sleep 1000000' sh "$run" &"#.into(),
        );
        run
    }

    /// Events without end, of a few hundred bytes.
    pub fn floods() -> Self {
        let mut run = Self::new().begins();
        let noise = json!({ "type": "message", "role": "assistant", "delta": true,
            "content": "noise without end ".repeat(20) });
        run.after.push(format!("yes '{noise}'"));
        run
    }

    pub fn floods_error_output() -> Self {
        let mut run = Self::new().begins();
        run.after.push("yes 'a complaint without end' >&2".into());
        run
    }

    /// A line that never ends.
    pub fn endless_line() -> Self {
        let mut run = Self::new().begins();
        run.after.push("cat /dev/zero".into());
        run
    }

    /// Begins as `answers` does, and dies by this signal.
    pub fn dies(signal: i32) -> Self {
        let mut run = Self::new().begins();
        run.after.push(format!("kill -{signal} $$"));
        run
    }

    /// The first event.
    pub fn begins(mut self) -> Self {
        self.event(&json!({ "type": "init", "session_id": "fake", "model": "auto" }));
        self
    }

    /// One use of the search tool, with its result.
    pub fn uses_search(mut self, query: &str, found: &[(&str, &str)]) -> Self {
        let id = format!("google_web_search_{}", self.output.len());
        self.event(&json!({
            "type": "tool_use", "tool_name": "google_web_search", "tool_id": id,
            "parameters": { "query": query },
        }));
        self.event(&json!({
            "type": "tool_result", "tool_id": id, "status": "success",
            "output": format!("Search results for \"{query}\" returned."),
        }));
        let list: Vec<String> = (1..)
            .zip(found)
            .map(|(number, (title, url))| format!("[{number}] {title} ({url})"))
            .collect();
        let output = format!(
            "Web search results for \"{query}\":\n\nText.\n\nSources:\n{}",
            list.join("\n")
        );
        self.record(&json!({
            "id": id, "type": "gemini", "content": "", "model": MODEL,
            "toolCalls": [{
                "id": id, "name": "google_web_search", "args": { "query": query },
                "status": "success",
                "result": [{ "functionResponse": { "response": { "output": output } } }],
            }],
        }));
        self
    }

    /// One use of the page reader, with its result.
    pub fn reads_page(mut self, url: &str) -> Self {
        let id = format!("web_fetch_{}", self.output.len());
        self.event(&json!({
            "type": "tool_use", "tool_name": "web_fetch", "tool_id": id,
            "parameters": { "prompt": format!("Summarise {url}") },
        }));
        self.event(&json!({ "type": "tool_result", "tool_id": id, "status": "success" }));
        self
    }

    /// The answer, in two pieces.
    pub fn says(mut self, text: &str) -> Self {
        let middle = text.floor_char_boundary(text.len() / 2);
        let (start, end) = text.split_at(middle);
        for piece in [start, end] {
            self.event(&json!({
                "type": "message", "role": "assistant", "content": piece, "delta": true,
            }));
        }
        self.record(&json!({
            "id": "answer", "type": "gemini", "content": text, "model": MODEL,
        }));
        self
    }

    /// The last event, with the tokens of a real run.
    pub fn succeeds(mut self) -> Self {
        self.event(&json!({ "type": "result", "status": "success", "stats": stats(1000, 70) }));
        self
    }

    /// Prints this as it is, after all events so far.
    pub fn prints(mut self, text: &str) -> Self {
        self.output.push_str(text);
        self
    }

    /// Writes this to standard error, first.
    pub fn complains(mut self, text: &str) -> Self {
        self.error_output.push_str(text);
        self
    }

    pub fn exits(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// Prints nothing until the hold is released.
    pub fn held_by(mut self, hold: &Hold) -> Self {
        let pipe = hold.pipe.display();
        self.before.push(format!("dd if='{pipe}' bs=1 count=1 of=/dev/null 2>/dev/null & wait $!"));
        self
    }

    /// Prints what it has so far, and the rest when the hold is released.
    pub fn then_held_by(mut self, hold: &Hold) -> Self {
        let said = std::mem::take(&mut self.output);
        self.before.push(format!("cat << 'SAID'\n{said}SAID"));
        self.held_by(hold)
    }

    /// Puts the first `question-NUMBER` of its prompt in place of every `ECHO` of what
    /// it says.
    pub fn echoes(mut self) -> Self {
        self.echoes = true;
        self
    }

    /// Takes this long, as a model would. Nothing in a test should wait for it.
    pub fn takes(mut self, time: Duration) -> Self {
        self.before.push(format!("sleep {} & wait $!", time.as_secs_f64()));
        self
    }

    fn event(&mut self, event: &Value) {
        self.output.push_str(&event.to_string());
        self.output.push('\n');
    }

    fn record(&mut self, message: &Value) {
        self.session.push_str(&message.to_string());
        self.session.push('\n');
    }
}

/// The model that the fake's sessions name.
pub const MODEL: &str = "gemini-3.8-flash";

fn stats(input: u64, output: u64) -> Value {
    let tokens = json!({
        "total_tokens": input + output, "input_tokens": input, "output_tokens": output,
        "cached": 0, "input": input,
    });
    let mut stats = tokens.clone();
    stats["duration_ms"] = 200.into();
    stats["models"] = json!({ MODEL: tokens });
    stats
}

/// Something that runs of the fake wait for, each at most once.
pub struct Hold {
    pipe: PathBuf,
    released: Option<File>,
}

impl Hold {
    /// Lets all go that wait now or later.
    pub fn release(&mut self) {
        // For both ways: a pipe that nobody reads yet can be opened so, and keeps
        // what is written as long as it is open.
        let mut pipe = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.pipe)
            .expect("a pipe of this test");
        pipe.write_all(&[b'\n'; 4096]).expect("there is room");
        self.released = Some(pipe);
    }
}

/// How one run of the fake was called, and what became of it.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub number: usize,
    pub process: Option<Pid>,
    pub arguments: Vec<String>,
    /// What came in on standard input; none until it was closed.
    pub input: Option<String>,
    /// Names of variables, sorted.
    pub environment: Vec<String>,
    /// What was in the working directory.
    pub files: Vec<String>,
    pub working_directory: PathBuf,
    pub home: PathBuf,
    /// The files of the included directories that could be read: names and contents.
    pub included: Vec<(String, String)>,
    /// It heard the polite signal.
    pub terminated: bool,
    /// It came to its own end.
    pub ended: bool,
    /// The child that it left behind.
    pub orphan: Option<Pid>,
    /// From its first to its last line, where it came to its own end.
    pub time: Option<(SystemTime, SystemTime)>,
}

impl Recorded {
    /// The value after a flag.
    pub fn argument(&self, flag: &str) -> Option<&str> {
        let at = self.arguments.iter().position(|argument| argument == flag)?;
        self.arguments.get(at + 1).map(String::as_str)
    }

    /// Whether it, or what it left behind, still runs.
    pub fn is_running(&self) -> bool {
        self.process.into_iter().chain(self.orphan).any(is_running)
    }
}

/// An executable called `gemini`, in a directory of its own.
pub struct FakeCli {
    directory: TempDir,
}

/// The program: it claims a number, records how it was called, and runs what is
/// scripted for a prompt like this, for this number, or for all others.
const PROGRAM: &str = r#"#!/bin/sh
base='BASE'
number=1
set -C
until { echo $$ > "$base/claims/$number"; } 2> /dev/null; do number=$((number + 1)); done
set +C
run="$base/runs/$number"
mkdir -p "$run/included"
printf '%s' $$ > "$run/process"
for argument in "$@"; do printf '%s\n' "$argument"; done > "$run/arguments"
printf '%s\n' "$PWD" > "$run/directory"
printf '%s\n' "$HOME" > "$run/home"
ls -A > "$run/files"
env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | sort > "$run/environment"
id= previous=
for argument in "$@"; do
    [ "$previous" = --session-id ] && id=$argument
    [ "$previous" = --include-directories ] && cp "$argument"/* "$run/included/"
    previous=$argument
done
cat > "$run/input.part"
mv "$run/input.part" "$run/input"
trap 'echo yes > "$run/terminated"; exit 0' TERM
step=
for words in "$base"/when/*.words; do
    [ -e "$words" ] && grep -F -q -f "$words" "$run/input" && { step=${words%.words}; break; }
done
[ -n "$step" ] || step="$base/then/$number"
[ -e "$step.sh" ] || step="$base/otherwise"
[ -e "$step.sh" ] || { echo "the fake has no run $number" >&2; exit 99; }
. "$step.sh"
"#;

impl FakeCli {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["bin", "claims", "runs", "then", "when", "holds"] {
            fs::create_dir(directory.path().join(name)).expect("a fresh directory");
        }
        let fake = Self { directory };
        let base = fake.directory.path().to_str().expect("a temporary path is UTF-8");
        write_program(&fake.path(), &PROGRAM.replace("BASE", base));
        fake
    }

    /// The executable.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("bin/gemini")
    }

    /// PATH with the fake before everything else.
    pub fn search_path(&self) -> OsString {
        search_path(&self.directory.path().join("bin"))
    }

    /// What the next run that nothing is scripted for does.
    pub fn then(&self, run: &Run) -> &Self {
        let count = fs::read_dir(self.directory.path().join("then"))
            .expect("a directory of this test")
            .filter(|entry| {
                entry
                    .as_ref()
                    .is_ok_and(|entry| entry.path().extension().is_some_and(|e| e == "sh"))
            })
            .count();
        self.lay(&format!("then/{}", count + 1), run);
        self
    }

    /// What every run does whose prompt holds these words (one line). The first that
    /// fits counts, and goes before `then`.
    pub fn when(&self, words: &str, run: &Run) -> &Self {
        assert!(!words.contains('\n') && !words.is_empty(), "one line: {words:?}");
        let count = fs::read_dir(self.directory.path().join("when")).expect("a directory").count();
        let name = format!("when/{count:06}");
        self.lay(&name, run);
        fs::write(self.directory.path().join(format!("{name}.words")), words).expect("room");
        self
    }

    /// What every other run does.
    pub fn otherwise(&self, run: &Run) -> &Self {
        self.lay("otherwise", run);
        self
    }

    /// A hold for runs of this fake.
    pub fn hold(&self) -> Hold {
        let directory = self.directory.path().join("holds");
        let count = fs::read_dir(&directory).expect("a directory of this test").count();
        let pipe = directory.join(count.to_string());
        let made = Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo");
        assert!(made.success());
        Hold { pipe, released: None }
    }

    fn lay(&self, name: &str, run: &Run) {
        let path = |extension: &str| self.directory.path().join(format!("{name}.{extension}"));
        let mut script = run.before.join("\n");
        script.push_str(
            r#"
if [ -n "$id" ] && [ -s "$step.session" ]; then
    mkdir -p "$HOME/.gemini/tmp/work/chats"
    cp "$step.session" "$HOME/.gemini/tmp/work/chats/session-2026-11-15T05-43-${id%%-*}.jsonl"
fi
cat "$step.err" >&2
"#,
        );
        script.push_str(if run.echoes {
            r#"sed "s/ECHO/$(grep -o 'question-[0-9]*' "$run/input" | head -n 1)/g" "$step.out"
"#
        } else {
            r#"cat "$step.out"
"#
        });
        script.push_str(&run.after.join("\n"));
        let _ = write!(script, "\necho yes > \"$run/ended\"\nexit {}\n", run.code);
        fs::write(path("out"), &run.output).expect("room");
        fs::write(path("err"), &run.error_output).expect("room");
        fs::write(path("session"), &run.session).expect("room");
        // Last, because it is what the program looks for.
        fs::write(path("sh"), script).expect("room");
    }

    /// Every run so far, by number.
    pub fn runs(&self) -> Vec<Recorded> {
        (1..).map_while(|number| self.recorded(number)).collect()
    }

    /// Waits until so many runs have read their prompt.
    #[track_caller]
    pub fn wait_for_runs(&self, count: usize) -> Vec<Recorded> {
        self.wait_until(&format!("{count} runs"), |runs| {
            runs.iter().filter(|run| run.input.is_some()).count() >= count
        })
    }

    /// Waits until none of its runs, nor what they left behind, is running.
    #[track_caller]
    pub fn wait_until_all_are_gone(&self) -> Vec<Recorded> {
        self.wait_until("the end of all runs", |runs| runs.iter().all(|run| !run.is_running()))
    }

    /// Waits for something that has to happen, and looks again and again.
    #[track_caller]
    pub fn wait_until(&self, what: &str, happened: impl Fn(&[Recorded]) -> bool) -> Vec<Recorded> {
        let start = Instant::now();
        loop {
            let runs = self.runs();
            if happened(&runs) {
                return runs;
            }
            assert!(start.elapsed() < DEADLINE, "{what} did not come: {runs:#?}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn recorded(&self, number: usize) -> Option<Recorded> {
        if !self.directory.path().join(format!("claims/{number}")).exists() {
            return None;
        }
        let run = self.directory.path().join(format!("runs/{number}"));
        let text = |name: &str| fs::read_to_string(run.join(name)).ok();
        let lines = |name: &str| -> Vec<String> {
            text(name).unwrap_or_default().lines().map(str::to_owned).collect()
        };
        let path = |name: &str| PathBuf::from(text(name).unwrap_or_default().trim_end());
        let written = |name: &str| fs::metadata(run.join(name)).and_then(|one| one.modified()).ok();
        let process = |name: &str| Pid::from_raw(text(name)?.trim().parse().ok()?);
        let mut included: Vec<(String, String)> = fs::read_dir(run.join("included"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let contents = fs::read_to_string(entry.path()).ok()?;
                Some((entry.file_name().into_string().ok()?, contents))
            })
            .collect();
        included.sort();
        Some(Recorded {
            number,
            process: process("process"),
            arguments: lines("arguments"),
            input: text("input"),
            environment: lines("environment"),
            files: lines("files"),
            working_directory: path("directory"),
            home: path("home"),
            included,
            terminated: text("terminated").is_some(),
            ended: text("ended").is_some(),
            orphan: process("orphan"),
            time: written("process").zip(written("ended")),
        })
    }
}
