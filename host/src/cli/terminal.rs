//! The only code that writes to stdout and stderr. stdout is data: a reader that
//! goes away ends the command quietly. stderr is talk: it may be lost.

use std::io::{self, Write};

use anstream::AutoStream;
use anstream::stream::RawStream;
use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::pretty::hanging;
use crate::report::words::clean;
use crate::tasks::ErrorReport;

pub const BOLD: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();
pub const ITALIC: Style = Style::new().italic();
pub const RED: Style = AnsiColor::Red.on_default().bold();
pub const GREEN: Style = AnsiColor::Green.on_default();
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
pub const CYAN: Style = AnsiColor::Cyan.on_default();

/// The code of an error in writing the result itself.
pub const OUTPUT: &str = "OUTPUT";

/// Wider lines than this are tiring to read.
const READABLE_WIDTH: usize = 100;

/// Why a command ends early.
#[derive(Debug)]
pub enum Stop {
    Error(ErrorReport),
    /// Who read our output has gone; nothing is wrong.
    PipeClosed,
}

impl From<ErrorReport> for Stop {
    fn from(report: ErrorReport) -> Self {
        Self::Error(report)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// How one stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    pub is_terminal: bool,
    pub styled: bool,
    /// Columns to wrap prose to; none in a pipe.
    pub width: Option<usize>,
    /// Columns there are; none in a pipe.
    pub columns: Option<usize>,
}

impl Look {
    fn of(stream: &impl RawStream, color: Color) -> Self {
        let is_terminal = stream.is_terminal();
        let styled = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(stream) != anstream::ColorChoice::Never,
        };
        let pretty = is_terminal || color == Color::Always;
        let columns = pretty.then(|| {
            let columns =
                terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
            columns.max(20)
        });
        let width = columns.map(|columns| columns.min(READABLE_WIDTH));
        Self { is_terminal, styled, width, columns }
    }

    /// The text in a style, where this stream takes styles.
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.styled && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

pub struct Terminal {
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    pub out: Look,
    pub err: Look,
    pub quiet: bool,
}

impl Terminal {
    pub fn standard(color: Color, quiet: bool) -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let (out, err) = (Look::of(&stdout, color), Look::of(&stderr, color));
        let stdout: Box<dyn Write + Send> =
            if out.styled { Box::new(AutoStream::always(stdout)) } else { Box::new(stdout) };
        let stderr: Box<dyn Write + Send> =
            if err.styled { Box::new(AutoStream::always(stderr)) } else { Box::new(stderr) };
        Self { stdout, stderr, out, err, quiet }
    }

    /// Data, to stdout.
    pub fn print(&mut self, text: &str) -> Result<(), Stop> {
        let written = self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::PipeClosed,
            _ => Stop::Error(ErrorReport {
                code: OUTPUT.to_owned(),
                message: format!("cannot write to standard output: {error}"),
                hint: Some("see that there is room where the output goes".to_owned()),
            }),
        })
    }

    /// Data for programs.
    pub fn print_json(&mut self, value: &impl Serialize) -> Result<(), Stop> {
        let text = serde_json::to_string_pretty(value).map_err(|error| ErrorReport {
            code: "INTERNAL".to_owned(),
            message: format!("cannot write the result as JSON: {error}"),
            hint: None,
        })?;
        self.print(&format!("{text}\n"))
    }

    /// Talk, to stderr, unless the user wants quiet.
    pub fn say(&mut self, text: &str) {
        if !self.quiet {
            self.write_err(&format!("{text}\n"));
        }
    }

    pub fn complain(&mut self, report: &ErrorReport) {
        self.labelled("error:", RED, &report.message);
        if let Some(hint) = &report.hint {
            self.labelled("hint:", CYAN, hint);
        }
    }

    fn labelled(&mut self, label: &str, style: Style, text: &str) {
        let text = clean(text);
        let label = format!("{} ", self.err.paint(style, label));
        // What has lines of its own, such as a piece of a file, keeps them.
        let shown = if text.contains('\n') {
            format!("{label}{text}")
        } else {
            hanging(&text, &label, "  ", self.err)
        };
        self.write_err(&format!("{shown}\n"));
    }

    pub(super) fn write_err(&mut self, text: &str) {
        // Nobody is left to be told when stderr is gone.
        let _ = self.stderr.write_all(text.as_bytes()).and_then(|()| self.stderr.flush());
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A stream whose contents a test reads.
    #[derive(Clone, Default)]
    pub struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Captured {
        pub fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A terminal for tests, with what it prints and what it says.
    pub fn captured(out: Look) -> (Terminal, Captured, Captured) {
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let terminal = Terminal {
            stdout: Box::new(stdout.clone()),
            stderr: Box::new(stderr.clone()),
            out,
            err: Look::default(),
            quiet: false,
        };
        (terminal, stdout, stderr)
    }

    struct Failing(io::ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
        let (mut terminal, _, _) = captured(Look::default());
        terminal.stdout = Box::new(Failing(io::ErrorKind::BrokenPipe));
        assert!(matches!(terminal.print("x"), Err(Stop::PipeClosed)));
        terminal.stdout = Box::new(Failing(io::ErrorKind::StorageFull));
        let Err(Stop::Error(report)) = terminal.print("x") else { panic!("an error") };
        assert!(report.message.starts_with("cannot write to standard output"), "{report:?}");
    }

    #[test]
    fn losing_stderr_is_survived_and_quiet_is_quiet() {
        let (mut terminal, _, said) = captured(Look::default());
        terminal.quiet = true;
        terminal.say("progress");
        assert_eq!(said.text(), "");
        terminal.stderr = Box::new(Failing(io::ErrorKind::BrokenPipe));
        terminal.complain(&ErrorReport {
            code: "X".to_owned(),
            message: "m".to_owned(),
            hint: None,
        });
    }

    #[test]
    fn styles_are_only_for_streams_that_take_them() {
        let plain = Look::default();
        let styled = Look { styled: true, ..plain };
        assert_eq!(plain.paint(BOLD, "x"), "x");
        assert_eq!(styled.paint(BOLD, "x"), "\u{1b}[1mx\u{1b}[0m");
    }
}
