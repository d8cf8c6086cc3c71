//! Logs, on stderr: warnings, and more with `-v`. Only what Bathysphere itself
//! says, until the user asks for everything.

use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

use super::progress;
use super::terminal::Look;

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

/// Called once, at start; a second call changes nothing.
pub fn start(verbose: u8, quiet: bool, look: Look) {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        (false, _) => LevelFilter::TRACE,
    };
    let everything = verbose > 2;
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| Aside)
        .with_ansi(look.styled)
        .with_target(verbose > 1)
        .without_time()
        .finish()
        .with(filter_fn(move |metadata| {
            everything || metadata.target().starts_with("bathysphere")
        }));
    // Fails only where a subscriber is set already, as in a test.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
