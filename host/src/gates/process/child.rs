//! A running program, as a plugin sees it: one event after the other. Nothing is
//! read ahead of what is asked for, so a program that talks too fast has to wait.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

use super::directory::PrivateDirectory;
use super::group::Group;
use super::{Command, ProcessEvent, ProcessLimits};
use crate::gates::secrets::{Secret, redact_bytes};
use crate::gates::{GateError, GateErrorKind};

/// How long we wait for more output after the program and its group have ended: only
/// one that has left the group can still hold the pipes open.
const DRAIN: Duration = Duration::from_millis(500);

const CHUNK: usize = 16 << 10;

/// What a program may write ahead of us, where the system allows it.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

/// What is still to be written to standard input.
struct Input {
    pipe: ChildStdin,
    bytes: Vec<u8>,
    written: usize,
}

/// Standard output or standard error, cut into lines.
struct Lines<Reader> {
    /// None at its end.
    pipe: Option<Reader>,
    chunk: Vec<u8>,
    partial: Vec<u8>,
    event: fn(Vec<u8>) -> ProcessEvent,
}

impl<Reader: AsyncRead + Unpin> Lines<Reader> {
    fn new(pipe: Reader, event: fn(Vec<u8>) -> ProcessEvent) -> Self {
        Self { pipe: Some(pipe), chunk: vec![0; CHUNK], partial: Vec::new(), event }
    }

    /// Reads some bytes into `chunk`; does not return once the end was seen.
    async fn read(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.chunk).await,
            None => pending().await,
        }
    }

    /// Cuts what was read into lines, and tells how long the longest is.
    fn cut(&mut self, count: usize, events: &mut VecDeque<ProcessEvent>) -> usize {
        let mut longest = 0;
        for piece in self.chunk[..count].split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(piece);
            longest = longest.max(self.partial.len());
            if self.partial.ends_with(b"\n") {
                self.partial.pop();
                if self.partial.ends_with(b"\r") {
                    self.partial.pop();
                }
                events.push_back((self.event)(std::mem::take(&mut self.partial)));
            }
        }
        longest
    }

    /// The end: what is left is a line, too.
    fn close(&mut self, events: &mut VecDeque<ProcessEvent>) {
        self.pipe = None;
        if !self.partial.is_empty() {
            events.push_back((self.event)(std::mem::take(&mut self.partial)));
        }
    }
}

/// A running program. Dropping it ends the program and all it started, and
/// removes its directory.
pub struct Child {
    /// First, and so dropped first: the program is asked to end before its pipes
    /// break.
    group: Group,
    program: String,
    input: Option<Input>,
    output: Lines<ChildStdout>,
    error_output: Lines<ChildStderr>,
    exit: oneshot::Receiver<ExitStatus>,
    /// How it ended; what it wrote may still be unread.
    ended: Option<ExitStatus>,
    events: VecDeque<ProcessEvent>,
    /// Nothing more will happen.
    over: bool,
    timeout: Duration,
    deadline: Instant,
    received: usize,
    limits: ProcessLimits,
    /// What the program was given and must not tell.
    secrets: Arc<[Secret]>,
}

/// What happened while we waited.
enum Step {
    Fed,
    Output(io::Result<usize>),
    ErrorOutput(io::Result<usize>),
    Ended(Option<ExitStatus>),
    Deadline,
}

impl Child {
    pub(super) fn new(
        mut process: std::process::Child,
        command: Command,
        directory: PrivateDirectory,
        timeout: Duration,
        limits: ProcessLimits,
        secrets: Arc<[Secret]>,
    ) -> Result<Self, GateError> {
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let program = command.program;
        let failed = |error: io::Error| {
            GateError::new(
                GateErrorKind::Unavailable,
                format!("cannot look after `{program}`: {error}"),
            )
        };
        // First of all, so that whatever fails from here on ends the program.
        let (group, exit) = Group::watch(process, directory).map_err(failed)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::Error::other("it has no pipes")));
        };
        // Without input the pipe is closed at once, by not keeping it.
        let input = if command.input.is_empty() {
            None
        } else {
            let pipe = ChildStdin::from_std(stdin).map_err(failed)?;
            Some(Input { pipe, bytes: command.input, written: 0 })
        };
        widen(&stdout);
        let output = ChildStdout::from_std(stdout).map_err(failed)?;
        let error_output = ChildStderr::from_std(stderr).map_err(failed)?;
        Ok(Self {
            input,
            output: Lines::new(output, ProcessEvent::Output),
            error_output: Lines::new(error_output, ProcessEvent::ErrorOutput),
            exit,
            ended: None,
            events: VecDeque::new(),
            over: false,
            timeout,
            deadline: Instant::now() + timeout,
            received: 0,
            limits,
            secrets,
            group,
            program,
        })
    }

    /// The next thing that happens; none once the program has ended and all is
    /// read. A time or size limit ends the program. May be cancelled: nothing is
    /// lost.
    pub async fn next(&mut self) -> Result<Option<ProcessEvent>, GateError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(self.redacted(event)));
            }
            if self.over {
                return Ok(None);
            }
            match self.step().await {
                Step::Fed => {}
                Step::Output(read) => {
                    let longest = match read {
                        Ok(count) if count > 0 => {
                            self.received += count;
                            self.output.cut(count, &mut self.events)
                        }
                        _ => {
                            self.output.close(&mut self.events);
                            0
                        }
                    };
                    self.check_size(longest)?;
                }
                Step::ErrorOutput(read) => {
                    let longest = match read {
                        Ok(count) if count > 0 => {
                            self.received += count;
                            self.error_output.cut(count, &mut self.events)
                        }
                        _ => {
                            self.error_output.close(&mut self.events);
                            0
                        }
                    };
                    self.check_size(longest)?;
                }
                Step::Ended(Some(status)) => self.ended = Some(status),
                Step::Ended(None) => {
                    return Err(self.stop(GateError::new(
                        GateErrorKind::Unavailable,
                        format!("`{}` ended, and nobody knows how", self.program),
                    )));
                }
                Step::Deadline if self.ended.is_some() => {
                    self.output.close(&mut self.events);
                    self.error_output.close(&mut self.events);
                }
                Step::Deadline => {
                    let message =
                        format!("`{}` did not end within {:?}", self.program, self.timeout);
                    return Err(self.stop(GateError::other("timeout", message)));
                }
            }
            if let Some(status) = self.ended
                && self.output.pipe.is_none()
                && self.error_output.pipe.is_none()
            {
                self.events.push_back(match (status.code(), status.signal()) {
                    (Some(code), _) => ProcessEvent::Exited(code),
                    (None, signal) => ProcessEvent::Signalled(signal.unwrap_or_default()),
                });
                self.over = true;
            }
        }
    }

    /// Waits for whatever happens first. Every branch leaves nothing half done
    /// when another one wins.
    async fn step(&mut self) -> Step {
        if self.ended.is_some() {
            // What is there is read before we give up waiting for more, however
            // long the plugin took to ask.
            return tokio::select! {
                biased;
                read = self.output.read() => Step::Output(read),
                read = self.error_output.read() => Step::ErrorOutput(read),
                () = sleep(DRAIN) => Step::Deadline,
            };
        }
        if let Ok(status) = self.exit.try_recv() {
            // It has ended in time, even if the plugin asks late.
            return Step::Ended(Some(status));
        }
        if Instant::now() >= self.deadline {
            // A flood must not drown the clock.
            return Step::Deadline;
        }
        tokio::select! {
            () = feed(&mut self.input) => Step::Fed,
            read = self.output.read() => Step::Output(read),
            read = self.error_output.read() => Step::ErrorOutput(read),
            status = &mut self.exit => Step::Ended(status.ok()),
            () = sleep_until(self.deadline) => Step::Deadline,
        }
    }

    fn check_size(&mut self, longest: usize) -> Result<(), GateError> {
        let message = if self.received > self.limits.output_bytes {
            format!("`{}` wrote more than {} bytes", self.program, self.limits.output_bytes)
        } else if longest > self.limits.line_bytes {
            let most = self.limits.line_bytes;
            format!("`{}` wrote a line of more than {most} bytes", self.program)
        } else {
            return Ok(());
        };
        Err(self.stop(GateError::other("too-large", message)))
    }

    /// Ends the program because of an error, which is the last that is heard.
    fn stop(&mut self, error: GateError) -> GateError {
        self.group.end();
        self.events.clear();
        self.over = true;
        error
    }

    /// A file the program left in its working directory or its home, also after it
    /// has ended.
    pub fn read_file(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, GateError> {
        let most = max_bytes.min(self.limits.output_bytes as u64);
        Ok(self.redact(self.group.directory().read(path, most)?))
    }

    /// The files the program left, as `read_file` takes them.
    pub fn list_files(&self) -> Vec<String> {
        let names = self.group.directory().list();
        names
            .into_iter()
            .filter_map(|name| String::from_utf8(self.redact(name.into_bytes())).ok())
            .collect()
    }

    fn redacted(&self, event: ProcessEvent) -> ProcessEvent {
        match event {
            ProcessEvent::Output(line) => ProcessEvent::Output(self.redact(line)),
            ProcessEvent::ErrorOutput(line) => ProcessEvent::ErrorOutput(self.redact(line)),
            ended => ended,
        }
    }

    fn redact(&self, bytes: Vec<u8>) -> Vec<u8> {
        redact_bytes(bytes, self.secrets.iter())
    }
}

/// Makes room for more output than the usual 64 KiB: a program that does not wait for
/// its pipe before it exits, as Node's often do not, loses what is not taken yet. Where
/// the system has no more to give, the pipe stays as it is.
fn widen(pipe: &std::process::ChildStdout) {
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
    #[cfg(not(target_os = "linux"))]
    let _ = pipe;
}

/// Writes some input, and closes the pipe after the last. A program need not read
/// what it is given: an error closes the pipe just as well.
async fn feed(input: &mut Option<Input>) {
    let Some(waiting) = input else {
        return pending().await;
    };
    match waiting.pipe.write(&waiting.bytes[waiting.written..]).await {
        Ok(count) if count > 0 => waiting.written += count,
        _ => waiting.written = waiting.bytes.len(),
    }
    if waiting.written == waiting.bytes.len() {
        *input = None;
    }
}
