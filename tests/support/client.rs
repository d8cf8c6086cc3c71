//! An MCP client over stdio that hides nothing: it writes lines, reads lines, and
//! fails when a line on standard output is not JSON-RPC.
//!
//! It knows both eras of the protocol: a session opened by `initialize`, and
//! requests that each carry their own context (2026-07-28).

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Longer than any answer takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(1);

/// The newest version that begins with `initialize`, and the oldest.
pub const LEGACY_NEW: &str = "2025-11-25";
pub const LEGACY_OLD: &str = "2024-11-05";
/// The version without sessions.
pub const MODERN: &str = "2026-07-28";

pub struct Client {
    child: Option<Child>,
    pid: Pid,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What the server has said there so far.
    log: Arc<Mutex<Vec<u8>>>,
    logging: Option<JoinHandle<()>>,
    /// Read while waiting for something else.
    waiting: VecDeque<Value>,
    next_id: u64,
    modern: bool,
    deadline: Duration,
}

/// How the server ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// From the call of `end` or `terminate` to the exit.
    pub elapsed: Duration,
    /// What was still on standard output.
    pub rest: Vec<Value>,
    pub stderr: String,
}

impl Client {
    /// Starts a server; nothing is said to it yet.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let log = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&log);
        let logging = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = errors.read(&mut bytes) {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend_from_slice(&bytes[..count]);
            }
        });
        Self {
            pid: Pid::from_child(&child),
            stdin: child.stdin.take(),
            child: Some(child),
            lines,
            log,
            logging: Some(logging),
            waiting: VecDeque::new(),
            next_id: 1,
            modern: false,
            deadline: DEADLINE,
        }
    }

    #[allow(dead_code, reason = "the benchmarks look at the process")]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for each answer as long as this.
    #[allow(dead_code, reason = "the benchmarks ask for more than the tests do")]
    pub fn be_patient(&mut self, deadline: Duration) {
        self.deadline = deadline;
    }

    /// Opens a session, and returns the result of `initialize`.
    #[track_caller]
    pub fn initialize(&mut self, version: &str) -> Value {
        let answer = self.call(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": "bathysphere-tests", "version": "0" },
            }),
        );
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    /// From here on every request carries its own context; returns the result of
    /// `server/discover`.
    #[track_caller]
    pub fn discover(&mut self) -> Value {
        self.modern = true;
        self.call("server/discover", json!({}))["result"].clone()
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.request(method, parameters);
        self.answer(id)
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "json! is written in the call")]
    pub fn call_tool(&mut self, name: &str, arguments: Value) -> Value {
        self.call("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// Calls a tool with a token for progress, and returns the request's id without
    /// waiting.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "json! is written in the call")]
    pub fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = self.next_id;
        self.request(
            "tools/call",
            json!({
                "name": tool, "arguments": arguments, "_meta": { "progressToken": token },
            }),
        )
    }

    /// Asks for research that takes a while, and returns as soon as the server says
    /// that it is at work.
    #[track_caller]
    pub fn begin_deep_search(&mut self) {
        self.request(
            "tools/call",
            json!({
                "name": "deep_search",
                "arguments": { "query": "sounding at station 42" },
                "_meta": { "progressToken": 1 },
            }),
        );
        self.notification("notifications/progress");
    }

    /// Sends a request, and returns its id without waiting.
    #[track_caller]
    pub fn request(&mut self, method: &str, mut parameters: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if self.modern {
            let meta = &mut parameters["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            meta["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": "bathysphere-tests", "version": "0" });
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        id
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "json! is written in the call")]
    pub fn notify(&mut self, method: &str, parameters: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    #[track_caller]
    pub fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    /// Sends whatever is given, and the end of a line.
    #[track_caller]
    pub fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the connection is open");
        stdin
            .write_all(line)
            .and_then(|()| stdin.write_all(b"\n"))
            .and_then(|()| stdin.flush())
            .expect("the server reads");
    }

    /// Waits for the answer to a request; other messages are kept.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        self.take(&format!("the answer to request {id}"), |message| {
            message["id"] == json!(id) && message.get("method").is_none()
        })
    }

    /// Waits for an error that belongs to no request, as the answer to something
    /// that could not be read.
    #[track_caller]
    pub fn stray_error(&mut self) -> Value {
        self.take("an error without a request", |message| {
            message["id"].is_null() && message.get("error").is_some()
        })
    }

    /// Waits for whichever of the two comes first.
    #[track_caller]
    pub fn answer_or_stray_error(&mut self, id: u64) -> Value {
        self.take(&format!("answer to request {id} or error"), |message| {
            message.get("method").is_none()
                && (message["id"] == json!(id)
                    || (message["id"].is_null() && message.get("error").is_some()))
        })
    }

    /// Waits for the next notification of this method.
    #[track_caller]
    pub fn notification(&mut self, method: &str) -> Value {
        self.take(method, |message| message["method"] == method)
    }

    /// Waits for progress of this request whose words fit.
    #[track_caller]
    pub fn progress(&mut self, id: u64, fits: impl Fn(&str) -> bool) -> String {
        let told = self.take(&format!("progress of request {id}"), |message| {
            message["method"] == "notifications/progress"
                && message["params"]["progressToken"] == json!(id)
                && message["params"]["message"].as_str().is_some_and(&fits)
        });
        told["params"]["message"].as_str().expect("it was just read").to_owned()
    }

    /// What the server has said on standard error so far.
    pub fn log(&self) -> String {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Waits until the server has said this on standard error.
    #[track_caller]
    pub fn wait_for_log(&self, words: &str) {
        let end = Instant::now() + self.deadline;
        while !self.log().contains(words) {
            assert!(Instant::now() < end, "waited in vain for {words:?}: {}", self.log());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Everything that has come so far, without waiting for more.
    #[allow(dead_code, reason = "the benchmarks wait for every answer")]
    pub fn read_so_far(&mut self) -> Vec<Value> {
        let mut messages: Vec<Value> = std::mem::take(&mut self.waiting).into();
        messages.extend(self.lines.try_iter().map(|line| parse(&line)));
        messages
    }

    /// What has been kept so far and fits.
    pub fn kept(&self, method: &str) -> Vec<Value> {
        self.waiting.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Whether an answer to this request is among what has been read so far.
    pub fn has_answer(&self, id: u64) -> bool {
        self.waiting.iter().any(|message| message["id"] == json!(id))
    }

    #[track_caller]
    fn take(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(position) = self.waiting.iter().position(&fits) {
            return self.waiting.remove(position).expect("it was just found");
        }
        let end = Instant::now() + self.deadline;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let message = parse(&line);
                    if fits(&message) {
                        return message;
                    }
                    self.waiting.push_back(message);
                }
                Err(RecvTimeoutError::Timeout) => {
                    panic!(
                        "waited in vain for {what} for {:?}; read so far: {:?}",
                        self.deadline, self.waiting
                    )
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let waiting = std::mem::take(&mut self.waiting);
                    let ended = self.wait(Instant::now());
                    panic!("the server ended before {what}: {ended:?}; read so far: {waiting:?}")
                }
            }
        }
    }

    /// Closes standard input, as a client does that goes away.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let started = Instant::now();
        drop(self.stdin.take());
        self.wait(started)
    }

    /// Sends SIGTERM with standard input still open.
    #[track_caller]
    pub fn terminate(mut self) -> Ended {
        let started = Instant::now();
        kill_process(self.pid, Signal::TERM).expect("the server runs");
        self.wait(started)
    }

    /// Sends SIGKILL, after which nothing can be tidied up.
    #[track_caller]
    pub fn kill(mut self) -> Ended {
        let started = Instant::now();
        kill_process(self.pid, Signal::KILL).expect("the server runs");
        self.wait(started)
    }

    #[track_caller]
    fn wait(&mut self, started: Instant) -> Ended {
        let mut child = self.child.take().expect("a server ends once");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || drop(sender.send((child.wait(), Instant::now()))));
        let Ok((status, ended)) = receiver.recv_timeout(DEADLINE) else {
            let _ = kill_process(self.pid, Signal::KILL);
            panic!("the server did not end within {DEADLINE:?}");
        };
        let mut rest: Vec<Value> = std::mem::take(&mut self.waiting).into();
        rest.extend(self.lines.iter().map(|line| parse(&line)));
        Ended {
            status: status.expect("a child can be waited for"),
            elapsed: ended.saturating_duration_since(started),
            rest,
            stderr: {
                drop(self.logging.take().map(JoinHandle::join));
                self.log()
            },
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that failed half-way leaves no server behind.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[track_caller]
fn parse(line: &str) -> Value {
    let message: Value = serde_json::from_str(line)
        .unwrap_or_else(|error| panic!("not JSON on standard output ({error}): {line:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC on standard output: {line:?}");
    message
}

/// The text of a tool's answer.
#[track_caller]
pub fn text_of(answer: &Value) -> String {
    let blocks = answer["result"]["content"]
        .as_array()
        .unwrap_or_else(|| panic!("a tool's answer has content: {answer:#}"));
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The words in which a call failed, by an error of the protocol or of the tool.
#[track_caller]
pub fn error_of(answer: &Value) -> String {
    if let Some(message) = answer["error"]["message"].as_str() {
        return format!("{message} {}", answer["error"]["data"]);
    }
    assert_eq!(answer["result"]["isError"], true, "the call was to fail: {answer:#}");
    text_of(answer)
}
