//! Logs, on stderr, one `[LEVEL] message` a line: warnings, and more with `-v`; a
//! server also tells what it does. Only what Bathysphere itself says, until the
//! user asks for everything.

use std::fmt;
use std::io::{self, Write};

use anstyle::Style;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;

use super::progress;
use super::terminal::{FAINT, Look, RED, YELLOW};
use crate::report::words::clean;

/// stderr, around the progress that moves there.
struct Aside;

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        progress::aside(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// `[INFO] message`, and nothing before it.
struct Format {
    look: Look,
    with_target: bool,
}

impl<S, N> FormatEvent<S, N> for Format
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        context.format_fields(Writer::new(&mut text), event)?;
        writer.write_str(&self.line(*event.metadata().level(), event.metadata().target(), &text))
    }
}

impl Format {
    fn line(&self, level: Level, target: &str, text: &str) -> String {
        let style = match level {
            Level::ERROR => RED,
            Level::WARN => YELLOW,
            Level::INFO => Style::new(),
            _ => FAINT,
        };
        let label = format!("[{level}]");
        let label = if style == Style::new() { label } else { self.look.paint(style, &label) };
        let target = if self.with_target { format!("{target}: ") } else { String::new() };
        // What was quoted cannot begin a line of its own and pass for one of ours.
        let text = clean(text).trim_end().replace('\n', "\n  ");
        format!("{label} {target}{text}\n")
    }
}

fn level(verbose: u8, quiet: bool, serves: bool) -> LevelFilter {
    match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) if serves => LevelFilter::INFO,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    }
}

/// Whether something is shown. What plugins tell of themselves is for those who
/// look closer.
fn is_shown(metadata: &Metadata<'_>, verbose: u8) -> bool {
    let is_ours = metadata.target().starts_with("bathysphere");
    let is_guest = metadata.target().starts_with("bathysphere::plugins");
    verbose > 2 || (is_ours && (verbose > 0 || !is_guest || *metadata.level() <= Level::WARN))
}

/// Called once, at start; a second call changes nothing.
pub fn start(verbose: u8, quiet: bool, serves: bool, look: Look) {
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level(verbose, quiet, serves))
        .with_writer(|| Aside)
        .with_ansi(false)
        .event_format(Format { look, with_target: verbose > 1 })
        .finish()
        .with(filter_fn(move |metadata| is_shown(metadata, verbose)));
    // Fails only where a subscriber is set already, as in a test.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_level_and_a_message() {
        let plain = Format { look: Look::default(), with_target: false };
        assert_eq!(
            plain.line(Level::INFO, "x", "Deep search round 1/5..."),
            "[INFO] Deep search round 1/5...\n"
        );
        assert_eq!(
            plain.line(Level::WARN, "x", "bad\u{1b}[2J\n[INFO] forged\n"),
            "[WARN] bad\n  [INFO] forged\n"
        );
        let look = Look { styled: true, ..Look::default() };
        let styled = Format { look, with_target: true };
        assert_eq!(styled.line(Level::INFO, "a::b", "x"), "[INFO] a::b: x\n");
        assert!(styled.line(Level::ERROR, "a", "x").starts_with('\u{1b}'));
    }

    #[test]
    fn a_server_tells_what_it_does_unless_it_is_to_be_quiet() {
        assert_eq!(level(0, false, false), LevelFilter::WARN);
        assert_eq!(level(0, false, true), LevelFilter::INFO);
        assert_eq!(level(0, true, true), LevelFilter::ERROR);
        assert_eq!(level(2, false, true), LevelFilter::DEBUG);
    }
}
