//! What happens while it happens: a moving line in a terminal, `[INFO]` lines
//! elsewhere, nothing when quiet. Counts, never percentages.

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::pretty::hanging;
use super::terminal::{FAINT, GREEN, Look, Terminal, YELLOW};
use crate::plugins::contract::{Preparation, Round};
use crate::report::words::{count, duration, grouped, one_line, quoted_list, shortened};
use crate::tasks::Event;

/// Lines of the same work are at least this far apart.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);

pub enum Progress {
    Silent,
    Plain { last: Option<(String, Instant)> },
    Moving { bar: ProgressBar, look: Look },
}

impl Progress {
    pub fn new(terminal: &Terminal, verbose: u8) -> Self {
        if terminal.quiet {
            return Self::Silent;
        }
        // Log lines and a moving line would tear each other apart.
        let moves = terminal.err.is_terminal
            && verbose == 0
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        if !moves {
            return Self::Plain { last: None };
        }
        let bar = ProgressBar::new_spinner().with_style(spinner());
        bar.enable_steady_tick(Duration::from_millis(100));
        *moving() = Some(bar.clone());
        Self::Moving { bar, look: terminal.err }
    }

    pub fn handle(&mut self, event: &Event, terminal: &mut Terminal) {
        match event {
            Event::Progress { message, done, total } => {
                self.advance(message, *done, *total, terminal);
            }
            Event::Prepared { plugin, preparation } => {
                // Nothing to tell when all was up to date.
                if preparation.updated + preparation.removed > 0 || !preparation.notes.is_empty() {
                    self.mark(true, &prepared(plugin, preparation), terminal);
                }
                for note in &preparation.notes {
                    self.mark(false, &one_line(note), terminal);
                }
            }
            Event::Planned { plan } => {
                let most = match plan.rounds {
                    0 => String::new(),
                    rounds => format!(", at most {}", count(rounds.into(), "round")),
                };
                self.now(
                    &format!("plan: {}{most} ({})", plan.level.in_words(), one_line(&plan.reason)),
                    terminal,
                );
            }
            Event::RoundStarted { number, of, step, reason } => {
                self.now(&round_started(*number, *of, step, reason), terminal);
            }
            Event::RoundEnded { round, of } => {
                self.mark(round.error.is_none(), &round_ended(round, *of), terminal);
            }
            Event::Started { .. } | Event::Completed { .. } => {}
        }
    }

    /// Something the user should read at once, such as that Ctrl-C was heard.
    pub fn tell(&mut self, text: &str, terminal: &mut Terminal) {
        self.now(text, terminal);
    }

    /// Takes the moving line away, so that what follows begins on a clean one.
    pub fn end(&mut self) {
        if let Self::Moving { bar, .. } = self {
            bar.finish_and_clear();
            *moving() = None;
        }
    }

    fn advance(&mut self, message: &str, done: u64, total: Option<u64>, terminal: &mut Terminal) {
        let message = one_line(message);
        match self {
            Self::Silent => {}
            Self::Plain { last } => {
                let due = last.as_ref().is_none_or(|(previous, at)| {
                    *previous != message || at.elapsed() >= PLAIN_INTERVAL || total == Some(done)
                });
                if due {
                    terminal.say(&format!("[INFO] {message}{}", counted(done, total)));
                    *last = Some((message, Instant::now()));
                }
            }
            Self::Moving { bar, .. } => {
                if let Some(total) = total.filter(|total| *total > 0) {
                    bar.set_style(counted_bar());
                    bar.set_length(total);
                    bar.set_position(done.min(total));
                    bar.set_message(message);
                } else {
                    bar.set_style(spinner());
                    bar.set_message(format!("{message}{}", counted(done, total)));
                }
            }
        }
    }

    /// What is going on now; in a terminal it gives way to what comes next.
    fn now(&mut self, text: &str, terminal: &mut Terminal) {
        match self {
            Self::Silent => {}
            Self::Plain { last } => {
                terminal.say(&format!("[INFO] {text}"));
                *last = None;
            }
            Self::Moving { bar, .. } => {
                bar.set_style(spinner());
                bar.set_message(text.to_owned());
            }
        }
    }

    /// What was done, or went wrong; it stays.
    fn mark(&mut self, good: bool, text: &str, terminal: &mut Terminal) {
        match self {
            Self::Silent => {}
            Self::Plain { last } => {
                terminal.say(&format!("[{}] {text}", if good { "INFO" } else { "WARN" }));
                *last = None;
            }
            Self::Moving { bar, look } => {
                let sign = if good { look.paint(GREEN, "✓") } else { look.paint(YELLOW, "!") };
                let text = hanging(
                    text,
                    "",
                    "  ",
                    Look { width: look.width.map(|width| width - 2), ..*look },
                );
                bar.suspend(|| terminal.say(&format!("{sign} {}", look.paint(FAINT, &text))));
            }
        }
    }
}

/// The line that moves now, so that log lines can step around it.
static MOVING: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn moving() -> MutexGuard<'static, Option<ProgressBar>> {
    MOVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes to stderr without tearing the moving line apart.
pub fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = moving().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {wide_msg}")
        .expect("a fixed template")
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
}

fn counted_bar() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {msg} {bar:24} {human_pos}/{human_len}")
        .expect("a fixed template")
        .progress_chars("━━┄")
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
}

fn counted(done: u64, total: Option<u64>) -> String {
    match total {
        Some(total) => format!(": {} of {}", grouped(done), grouped(total)),
        None if done > 0 => format!(": {}", grouped(done)),
        None => String::new(),
    }
}

fn prepared(plugin: &str, preparation: &Preparation) -> String {
    let mut text = format!("{plugin}: {} ready", count(preparation.items, "document"));
    let mut changes = Vec::new();
    if preparation.updated > 0 {
        changes.push(format!("{} read", grouped(preparation.updated)));
    }
    if preparation.removed > 0 {
        changes.push(format!("{} gone", grouped(preparation.removed)));
    }
    if !changes.is_empty() {
        let _ = write!(text, " ({})", changes.join(", "));
    }
    text
}

fn round_started(number: u32, of: u32, step: &str, reason: &str) -> String {
    let doing = match step {
        "gather" => "searching",
        "ask" => "asking the agent",
        "delegate" => "waiting for the research backend",
        other => other,
    };
    let reason = one_line(reason);
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    format!("round {number} of at most {of}: {doing}{reason}")
}

fn round_ended(round: &Round, of: u32) -> String {
    let queries: Vec<String> =
        round.queries.iter().map(|query| shortened(&one_line(query), 60)).collect();
    let did = if queries.is_empty() {
        round.step.clone()
    } else {
        format!("searched {}", quoted_list(queries.iter().map(String::as_str)))
    };
    let brought = match &round.error {
        Some(error) => {
            format!("failed after {}: {}", duration(round.duration_ms), one_line(&error.message))
        }
        None if round.new_findings + round.new_sources == 0 => {
            format!("nothing new in {}", duration(round.duration_ms))
        }
        None => format!(
            "{} and {} in {}",
            count(round.new_sources.into(), "new source"),
            count(round.new_findings.into(), "new finding"),
            duration(round.duration_ms),
        ),
    };
    format!("round {} of at most {of}: {did}: {brought}", round.number)
}

#[cfg(test)]
mod tests {
    use super::super::terminal::tests::captured;
    use super::*;
    use crate::plugins::contract::{ErrorKind, PluginError};
    use crate::report::tests as outcomes;

    fn events() -> Vec<Event> {
        let mut failing = outcomes::round(2, &["neap"], 0, 0);
        failing.error = Some(PluginError::new(ErrorKind::Unavailable, "the index is locked"));
        vec![
            Event::Started { id: "0198".to_owned() },
            Event::Progress { message: "reading documents".to_owned(), done: 0, total: None },
            Event::Progress { message: "reading documents".to_owned(), done: 120, total: None },
            Event::Progress { message: "indexing".to_owned(), done: 1, total: Some(1234) },
            Event::Progress { message: "indexing".to_owned(), done: 600, total: Some(1234) },
            Event::Progress { message: "indexing".to_owned(), done: 1234, total: Some(1234) },
            Event::Prepared {
                plugin: "search-documents".to_owned(),
                preparation: Preparation {
                    items: 1234,
                    updated: 1234,
                    removed: 2,
                    notes: vec!["passed over 3 binary files".to_owned()],
                },
            },
            Event::Planned { plan: outcomes::found().plan.unwrap() },
            Event::RoundStarted {
                number: 1,
                of: 3,
                step: "gather".to_owned(),
                reason: "the words of the question".to_owned(),
            },
            Event::RoundEnded {
                round: Box::new(outcomes::round(1, &["spring tides", "predict tides"], 3, 3)),
                of: 3,
            },
            Event::RoundEnded { round: Box::new(failing), of: 3 },
        ]
    }

    #[test]
    fn plain_lines_tell_what_happened_and_are_few() {
        let (mut terminal, printed, said) = captured(Look::default());
        let mut progress = Progress::Plain { last: None };
        for event in events() {
            progress.handle(&event, &mut terminal);
        }
        progress.tell("cancelling", &mut terminal);
        assert_eq!(printed.text(), "", "progress is never data");
        insta::assert_snapshot!(said.text());
    }

    #[test]
    fn quiet_says_nothing() {
        let (mut terminal, _, said) = captured(Look::default());
        terminal.quiet = true;
        let mut progress = Progress::new(&terminal, 0);
        for event in events() {
            progress.handle(&event, &mut terminal);
        }
        assert_eq!(said.text(), "");
    }

    #[test]
    fn what_was_up_to_date_is_not_told() {
        let (mut terminal, _, said) = captured(Look::default());
        let preparation = Preparation { items: 9, ..Preparation::default() };
        Progress::Plain { last: None }
            .handle(&Event::Prepared { plugin: "p".to_owned(), preparation }, &mut terminal);
        assert_eq!(said.text(), "");
    }
}
