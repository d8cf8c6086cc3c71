//! The command line: one file a command. It reads what was typed, asks the
//! `Desk` for the work, and prints what comes back; it researches nothing itself.

mod arguments;
mod attend;
mod attention;
mod cancel;
mod completions;
mod config;
mod costs;
mod deep_research;
mod deep_search;
pub mod desk;
mod doctor;
mod documents;
mod estimate;
mod find;
mod help;
mod herald;
mod history;
mod logging;
mod plugin;
mod pretty;
mod progress;
mod question;
mod research;
mod save;
mod search;
mod serve;
mod show;
mod snippet;
mod start;
mod status;
mod table;
mod task;
mod terminal;
mod worker;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use arguments::{Arguments, Command, Json, PluginCommand};
use desk::{Desk, Setup};
use terminal::{Stop, Terminal};

use crate::gates;
use crate::report::Answer;
use crate::tasks::ErrorReport;

/// Does what the command line says. `open` makes the desk that the flags ask for;
/// it is not called for what needs none.
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    open: impl FnOnce(Setup) -> Arc<dyn Desk>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let color = help::wanted_color(&arguments);
    let arguments = match help::parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(refuse(&error, &mut Terminal::standard(color, false))),
    };
    let global = &arguments.global;
    let mut terminal = Terminal::standard(global.color, global.quiet);
    let serves = matches!(arguments.command, Command::Serve(_));
    logging::start(global.verbose, global.quiet, serves, terminal.err);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            terminal.complain(&ErrorReport {
                code: "INTERNAL".to_owned(),
                message: format!("cannot start the runtime: {error}"),
                hint: Some(
                    "see that there are threads and file handles left (`ulimit -a`)".to_owned(),
                ),
            });
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        let _heard = hear_file_size_limit();
        carry_out(arguments, open, &mut terminal, &mut std::io::stdin()).await
    });
    // A thread that still waits for stdin must not hold the process back.
    runtime.shutdown_background();
    // Nothing that a plugin started outlives us.
    gates::process::end_all();
    ExitCode::from(code)
}

/// Passing a limit on file size ends a process that does not listen for the
/// signal. To one that does it is an error of the write, and the database tells it
/// as a full disk.
#[cfg(unix)]
fn hear_file_size_limit() -> Option<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).ok()
}

#[cfg(not(unix))]
fn hear_file_size_limit() {}

/// Carries a command out to its exit code. With `--json` stdout holds JSON
/// whatever happens, and stderr the words.
async fn carry_out(
    arguments: Arguments,
    open: impl FnOnce(Setup) -> Arc<dyn Desk>,
    terminal: &mut Terminal,
    stdin: &mut (impl Read + Send),
) -> u8 {
    let json = arguments.command.json();
    let mut ended = dispatch(arguments, open, terminal, stdin).await;
    if let Err(Stop::Error(report)) = &ended
        && report.code != terminal::OUTPUT
    {
        let printed = match json {
            None => Ok(()),
            Some(Json::Answer) => terminal.print_json(&Answer::of_error(report)),
            Some(Json::Plain) => terminal.print_json(&serde_json::json!({ "error": report })),
        };
        if let Err(stop) = printed {
            ended = Err(stop);
        }
    }
    exit_code(ended, terminal)
}

async fn dispatch(
    arguments: Arguments,
    open: impl FnOnce(Setup) -> Arc<dyn Desk>,
    terminal: &mut Terminal,
    stdin: &mut (impl Read + Send),
) -> Result<u8, Stop> {
    let Arguments { global, command } = arguments;
    let verbose = global.verbose;
    let desk = |documents: &[std::path::PathBuf]| {
        open(Setup { home: global.home, config: global.config, documents: documents.to_vec() })
    };
    match command {
        Command::Research(arguments) => {
            let desk = desk(&arguments.documents.documents);
            task::run(research::errand(arguments, stdin)?, desk, terminal, verbose).await
        }
        Command::Search(arguments) => {
            let desk = desk(&arguments.documents.documents);
            task::run(search::errand(arguments, stdin)?, desk, terminal, verbose).await
        }
        Command::DeepSearch(arguments) => {
            let desk = desk(&arguments.documents.documents);
            task::run(deep_search::errand(arguments, stdin)?, desk, terminal, verbose).await
        }
        Command::DeepResearch(arguments) => {
            let desk = desk(&arguments.documents.documents);
            task::run(deep_research::errand(arguments, stdin)?, desk, terminal, verbose).await
        }
        Command::Start(arguments) => {
            start::run(arguments, desk(&[]), terminal, stdin, verbose).await
        }
        Command::Status(arguments) => status::run(&arguments, &*desk(&[]), terminal).await,
        Command::Cancel(arguments) => cancel::run(&arguments, &*desk(&[]), terminal).await,
        Command::Task(command) => attention::run(&command, &*desk(&[]), terminal).await,
        Command::Worker(arguments) => worker::run(&arguments, desk(&[]), terminal).await,
        Command::Find(arguments) => {
            let desk = desk(&arguments.documents.documents);
            find::run(arguments, desk, terminal, stdin, verbose).await
        }
        Command::Estimate(arguments) => {
            estimate::run(&arguments, &*desk(&[]), terminal, stdin).await
        }
        Command::Costs(arguments) => costs::run(&arguments, &*desk(&[]), terminal).await,
        Command::History(arguments) => history::run(&arguments, &*desk(&[]), terminal).await,
        Command::Show(arguments) => show::run(&arguments, &*desk(&[]), terminal).await,
        Command::Save(arguments) => save::run(&arguments, &*desk(&[]), terminal).await,
        Command::Serve(arguments) => {
            documents::check(&arguments.documents.documents)?;
            serve::run(desk(&arguments.documents.documents)).await
        }
        Command::Plugin(PluginCommand::List { json }) => {
            plugin::list(json, &*desk(&[]), terminal).await
        }
        Command::Config(arguments) => {
            let desk = desk(&arguments.documents.documents);
            config::run(&arguments, &*desk, terminal).await
        }
        Command::Doctor(arguments) => {
            let desk = desk(&arguments.documents.documents);
            doctor::run(&arguments, &*desk, terminal).await
        }
        Command::Herald(arguments) => {
            let desk = desk(&arguments.documents.documents);
            herald::run(&arguments, &*desk).await
        }
        Command::Completions(arguments) => completions::run(&arguments, terminal),
    }
}

/// What a command came to, as the shell sees it: 2 for wrong input, 130 for a
/// cancelled task, 1 for other errors. A closed pipe is no error.
fn exit_code(ended: Result<u8, Stop>, terminal: &mut Terminal) -> u8 {
    match ended {
        Ok(code) => code,
        Err(Stop::PipeClosed) => 0,
        Err(Stop::Error(report)) => {
            terminal.complain(&report);
            code_of(&report)
        }
    }
}

fn code_of(report: &ErrorReport) -> u8 {
    match report.code.as_str() {
        "INVALID_INPUT" => 2,
        "CANCELLED" => 130,
        _ => 1,
    }
}

/// Prints what clap has to say: help on stdout, a refusal on stderr.
fn refuse(error: &clap::Error, terminal: &mut Terminal) -> u8 {
    let look = if error.use_stderr() { terminal.err } else { terminal.out };
    let rendered = error.render();
    let mut text = if look.styled { rendered.ansi().to_string() } else { rendered.to_string() };
    if !error.use_stderr() {
        let printed = terminal.print(&text).map(|()| 0);
        return exit_code(printed, terminal);
    }
    if let Some(hint) = help::hint(error) {
        let _ = writeln!(text, "\n{} {hint}", look.paint(terminal::CYAN, "hint:"));
    }
    terminal.write_err(&text);
    u8::try_from(error.exit_code()).unwrap_or(2)
}

#[cfg(test)]
mod tests;
