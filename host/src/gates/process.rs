//! The process gate: starts the programs that a plugin is granted, and nothing
//! else. Each has a process group, a directory and an environment of its own,
//! and none of them outlives its `Child`.
//!
//! The rules, each with a test that it refuses:
//! - only programs named in the grant, found in PATH or by absolute path;
//! - a private directory with an empty working directory, a HOME and a TMPDIR side
//!   by side, removed afterwards;
//! - an environment of PATH, the granted names and what the plugin adds, which
//!   may not be a name that makes a program load code or trust another server;
//! - a granted variable that holds a secret is masked in all that comes back;
//! - time and output are bounded; a program that passes a limit is ended;
//! - ending a program ends its whole process group.
//!
//! A program that moves itself into another session is out of the group's reach;
//! grant only programs that you would start yourself.

mod child;
mod directory;
mod environment;
mod group;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

pub use self::child::Child;
use self::directory::PrivateDirectory;
pub use self::directory::clear_leftovers;
use self::environment::Environment;
pub use self::environment::is_secret;
pub use self::group::end_all;
use super::secrets::Secret;
use super::{GateError, GateErrorKind};
use crate::config::resolved::Grants;

/// See `process.command` in `wit/host.wit`.
#[derive(Debug, Clone, Default)]
pub struct Command {
    pub program: String,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub input: Vec<u8>,
    pub files: Vec<(String, Vec<u8>)>,
    pub timeout: Option<Duration>,
}

/// See `process.event` in `wit/host.wit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent {
    /// A line of standard output, without its end.
    Output(Vec<u8>),
    /// A line of standard error, without its end.
    ErrorOutput(Vec<u8>),
    Exited(i32),
    Signalled(i32),
}

/// What one program may use; a command may ask for less time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessLimits {
    pub timeout: Duration,
    /// Standard output and standard error together.
    pub output_bytes: usize,
    pub line_bytes: usize,
    /// Standard input and files together.
    pub input_bytes: usize,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_mins(10),
            output_bytes: 16 << 20,
            line_bytes: 4 << 20,
            input_bytes: 16 << 20,
        }
    }
}

/// One plugin's way to programs.
pub struct ProcessGate {
    programs: Vec<String>,
    environment: Environment,
    limits: ProcessLimits,
}

impl ProcessGate {
    /// Reads PATH and the granted variables, once.
    pub fn new(grants: &Grants) -> Self {
        Self::with_limits(grants, ProcessLimits::default())
    }

    pub fn with_limits(grants: &Grants, limits: ProcessLimits) -> Self {
        Self::with_lookup(grants, limits, |name| std::env::var_os(name))
    }

    fn with_lookup(
        grants: &Grants,
        limits: ProcessLimits,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let environment = Environment::new(&grants.environment, lookup);
        Self { programs: grants.commands.clone(), environment, limits }
    }

    /// What the programs are given, and must not tell.
    pub(in crate::gates) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let given = self.environment.secrets();
        let copies: Vec<Secret> = given.iter().map(|one| Secret::new(one.expose())).collect();
        copies.into_iter()
    }

    /// Where a granted program is installed.
    pub fn locate(&self, program: &str) -> Result<PathBuf, GateError> {
        if !self.programs.iter().any(|granted| granted == program) {
            return Err(GateError::refused(format!(
                "the program `{}` is not granted",
                program.escape_debug()
            ))
            .with_hint("if the plugin should start it, add it to its `grants.commands`"));
        }
        self.environment.find_program(program)
    }

    /// Starts a granted program. Has to be called inside a Tokio runtime.
    pub fn spawn(&self, command: Command) -> Result<Child, GateError> {
        let program = self.locate(&command.program)?;
        self.check_input(&command)?;
        let directory = PrivateDirectory::create()?;
        let environment = self.environment.for_command(&command.environment, &directory)?;
        directory.lay(&command.files)?;

        let mut system = system_command(&program);
        end_with_us(&mut system);
        system
            .args(&command.arguments)
            .env_clear()
            .envs(environment)
            .current_dir(directory.work())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let process = system.spawn().map_err(|error| not_started(&command.program, &error))?;
        let timeout =
            command.timeout.map_or(self.limits.timeout, |asked| asked.min(self.limits.timeout));
        let secrets = self.environment.secrets();
        Child::new(process, command, directory, timeout, self.limits.clone(), secrets)
    }

    fn check_input(&self, command: &Command) -> Result<(), GateError> {
        if command.arguments.iter().any(|argument| argument.contains('\0')) {
            return Err(GateError::new(
                GateErrorKind::InvalidInput,
                "an argument holds a zero byte, which no program can be given",
            ));
        }
        let files: usize = command.files.iter().map(|(_, contents)| contents.len()).sum();
        let bytes = command.input.len() + files;
        let most = self.limits.input_bytes;
        if bytes > most {
            return Err(GateError::other(
                "too-large",
                format!("input and files have {bytes} bytes, and at most {most} are handed over"),
            ));
        }
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place, behind the process gate")]
fn system_command(program: &std::path::Path) -> std::process::Command {
    std::process::Command::new(program)
}

/// Should this process be killed, nobody is left to end the program, and it would go
/// on spending. Linux can be asked to end it then; elsewhere it goes on to its end.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "there is no safe way to act between fork and exec")]
fn end_with_us(command: &mut std::process::Command) {
    use rustix::process::{Signal, getpid, set_parent_process_death_signal};
    let parent = getpid();
    // SAFETY: what runs between fork and exec must not allocate, lock or unwind. It is
    // two system calls, and an error that is a number.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            still_child_of(parent)
        });
    }
}

/// Whoever was orphaned before it had asked for the signal never gets it.
#[cfg(target_os = "linux")]
fn still_child_of(parent: rustix::process::Pid) -> io::Result<()> {
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        Err(rustix::io::Errno::SRCH.into())
    }
}

#[cfg(not(target_os = "linux"))]
fn end_with_us(_: &mut std::process::Command) {}

fn not_started(program: &str, error: &io::Error) -> GateError {
    let message = |why: &str| format!("cannot start `{program}`: {why}");
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => GateError::new(
            GateErrorKind::InvalidInput,
            message("its arguments and environment are longer than the system allows"),
        )
        .with_hint("hand long text over on standard input or in a file"),
        // The file was there a moment ago: what is missing is its interpreter.
        io::ErrorKind::NotFound => GateError::new(
            GateErrorKind::NotFound,
            message("the interpreter that it names is not installed"),
        ),
        io::ErrorKind::PermissionDenied => GateError::refused(message("the system forbids it")),
        _ => GateError::new(GateErrorKind::Unavailable, message(&error.to_string())),
    }
}
