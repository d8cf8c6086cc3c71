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
use crate::tasks::{DEEP_SEARCH, Event, START_DEEP_RESEARCH};

/// Lines of the same work are at least this far apart.
const PLAIN_INTERVAL: Duration = Duration::from_secs(2);

/// Lines of what an agent does by itself, which may be dozens of things a minute.
const AGENT_INTERVAL: Duration = Duration::from_secs(10);

/// Queries of a round that are named when it ends.
const QUERIES: usize = 3;

pub struct Progress {
    shown: Shown,
    /// Rounds are told in the words that scripts look for.
    deep_search: bool,
    /// An agent that searches by itself is at work.
    asking: bool,
    /// It goes on when the command has ended.
    background: bool,
}

enum Shown {
    Silent,
    Plain { last: Option<(String, Instant)> },
    Moving { bar: ProgressBar, look: Look },
}

impl Progress {
    /// `tool`: whose task it is, if it is one.
    pub fn new(terminal: &Terminal, verbose: u8, tool: Option<&str>) -> Self {
        let shown = Shown::new(terminal, verbose);
        Self {
            shown,
            deep_search: tool == Some(DEEP_SEARCH),
            asking: false,
            background: tool == Some(START_DEEP_RESEARCH),
        }
    }

    /// What is said to whoever presses Ctrl-C.
    pub fn farewell(&self) -> &'static str {
        if self.background {
            "leaving it to go on by itself (again to stop at once)"
        } else {
            "cancelling; what is done is kept (again to stop at once)"
        }
    }

    pub fn handle(&mut self, event: &Event, terminal: &mut Terminal) {
        match event {
            Event::Progress { message, done, total } => {
                let interval = if self.asking { AGENT_INTERVAL } else { PLAIN_INTERVAL };
                self.shown.advance(message, *done, *total, (interval, self.asking), terminal);
            }
            Event::Prepared { plugin, preparation } => {
                // Nothing to tell when all was up to date.
                if preparation.updated + preparation.removed > 0 || !preparation.notes.is_empty() {
                    self.shown.mark(true, &prepared(plugin, preparation), terminal);
                }
                for note in &preparation.notes {
                    self.shown.mark(false, &one_line(note), terminal);
                }
            }
            Event::Planned { plan } => {
                let most = match plan.rounds {
                    0 => String::new(),
                    rounds => format!(", at most {}", count(rounds.into(), "round")),
                };
                self.shown.now(
                    &format!("plan: {}{most} ({})", plan.level.in_words(), one_line(&plan.reason)),
                    terminal,
                );
            }
            Event::RoundStarted { number, of, step, reason } => {
                self.asking = step == "ask";
                let line = self.exactly(event);
                self.shown.begin_round(*number, *of, step, reason, line, terminal);
            }
            Event::RoundEnded { round, of } => {
                self.asking = false;
                let line = self.exactly(event);
                self.shown.end_round(round, *of, line, terminal);
            }
            Event::Completed { .. } => {
                // In a terminal the last line tells it.
                if let Some(line) = self.exactly(event)
                    && matches!(self.shown, Shown::Plain { .. })
                {
                    self.shown.now(&line, terminal);
                }
            }
            Event::Started { .. } => {}
        }
    }

    fn exactly(&self, event: &Event) -> Option<String> {
        let line = if self.deep_search { event.deep_search_line() } else { None };
        line.map(|line| one_line(&line))
    }

    /// Something the user should read at once, such as that Ctrl-C was heard.
    pub fn tell(&mut self, text: &str, terminal: &mut Terminal) {
        self.shown.now(text, terminal);
    }

    /// Takes the moving line away, so that what follows begins on a clean one.
    pub fn end(&mut self) {
        if let Shown::Moving { bar, .. } = &self.shown {
            bar.finish_and_clear();
            *moving() = None;
        }
    }
}

impl Shown {
    fn new(terminal: &Terminal, verbose: u8) -> Self {
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
        bar.set_message("getting ready");
        bar.enable_steady_tick(Duration::from_millis(100));
        *moving() = Some(bar.clone());
        Self::Moving { bar, look: terminal.err }
    }

    /// `pace`: how far apart lines are, and whether a new message must wait too.
    fn advance(
        &mut self,
        message: &str,
        done: u64,
        total: Option<u64>,
        pace: (Duration, bool),
        terminal: &mut Terminal,
    ) {
        let message = one_line(message);
        match self {
            Self::Silent => {}
            Self::Plain { last } => {
                let (interval, waits) = pace;
                let due = last.as_ref().is_none_or(|(previous, at)| {
                    (*previous != message && !waits)
                        || at.elapsed() >= interval
                        || total == Some(done)
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
                    bar.set_style(spinner_of(bar));
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
                bar.set_style(spinner_of(bar));
                bar.set_message(text.to_owned());
            }
        }
    }

    /// In a terminal the round, and the time it has taken, stay beside what is
    /// going on in it.
    fn begin_round(
        &mut self,
        number: u32,
        of: u32,
        step: &str,
        reason: &str,
        line: Option<String>,
        terminal: &mut Terminal,
    ) {
        if let Self::Moving { bar, .. } = self {
            bar.set_prefix(format!("round {number} of {of}"));
            bar.reset_elapsed();
            bar.set_style(round_spinner());
            bar.set_message(doing(step, reason));
            return;
        }
        let line = line
            .unwrap_or_else(|| format!("round {number} of at most {of}: {}", doing(step, reason)));
        self.now(&line, terminal);
        // What the agent does first is told after a while, not at once.
        if let Self::Plain { last } = self
            && step == "ask"
        {
            *last = Some((String::new(), Instant::now()));
        }
    }

    fn end_round(&mut self, round: &Round, of: u32, line: Option<String>, terminal: &mut Terminal) {
        let line = match self {
            Self::Moving { bar, .. } => {
                bar.set_prefix("");
                bar.set_style(spinner());
                bar.set_message("deciding what is next");
                round_ended(round, of)
            }
            _ => line.unwrap_or_else(|| round_ended(round, of)),
        };
        self.mark(round.error.is_none(), &line, terminal);
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

/// The same, with the round under way and how long it has taken.
fn round_spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {prefix} · {elapsed} · {wide_msg}")
        .expect("a fixed template")
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
}

fn spinner_of(bar: &ProgressBar) -> ProgressStyle {
    if bar.prefix().is_empty() { spinner() } else { round_spinner() }
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

fn doing(step: &str, reason: &str) -> String {
    let doing = match step {
        "gather" => "searching",
        "ask" => "asking the agent",
        "delegate" => "waiting for the research backend",
        other => other,
    };
    match one_line(reason) {
        reason if reason.is_empty() => doing.to_owned(),
        reason => format!("{doing} ({reason})"),
    }
}

fn round_ended(round: &Round, of: u32) -> String {
    let mut queries: Vec<String> =
        round.queries.iter().map(|query| shortened(&one_line(query), 60)).collect();
    let more = queries.len().saturating_sub(QUERIES);
    let did = if queries.is_empty() {
        if round.step == "ask" { "asked the agent".to_owned() } else { round.step.clone() }
    } else if round.step == "gather" || more < 2 {
        format!("searched {}", quoted_list(queries.iter().map(String::as_str)))
    } else {
        queries.truncate(QUERIES);
        let quoted: Vec<String> = queries.iter().map(|query| format!("“{query}”")).collect();
        format!("searched {} and {more} more", quoted.join(", "))
    };
    let took = duration(round.duration_ms);
    let brought = match &round.error {
        Some(error) => format!("failed after {took}: {}", one_line(&error.message)),
        None if round.step == "gather" && round.new_findings + round.new_sources == 0 => {
            format!("nothing new in {took}")
        }
        None if round.step == "gather" => format!(
            "{} and {} in {took}",
            count(round.new_sources.into(), "new source"),
            count(round.new_findings.into(), "new finding"),
        ),
        None => {
            let verified = match round.verified {
                Some(true) => ", verified",
                Some(false) => ", not verified",
                None => "",
            };
            format!("{} in {took}{verified}", count(round.new_sources.into(), "new source"))
        }
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
        let mut progress = Progress::new(&terminal, 0, Some("research"));
        for event in events() {
            progress.handle(&event, &mut terminal);
        }
        progress.tell("cancelling", &mut terminal);
        assert_eq!(printed.text(), "", "progress is never data");
        insta::assert_snapshot!(said.text());
    }

    /// A deep search by an agent that searches by itself.
    fn asked() -> Vec<Event> {
        let rounds = outcomes::written().rounds;
        let started = |number: u32| Event::RoundStarted {
            number,
            of: 5,
            step: "ask".to_owned(),
            reason: "to check it".to_owned(),
        };
        let ended = |round: &Round| Event::RoundEnded { round: Box::new(round.clone()), of: 5 };
        let talk =
            Event::Progress { message: "searching “x”".to_owned(), done: 0, total: None };
        vec![
            Event::Started { id: "0198".to_owned() },
            started(1),
            talk.clone(),
            ended(&rounds[0]),
            started(2),
            talk,
            ended(&rounds[1]),
            started(3),
            ended(&rounds[2]),
            Event::Completed { rounds: 3, verified: true },
        ]
    }

    #[test]
    fn a_deep_search_is_told_in_the_words_that_scripts_look_for() {
        let (mut terminal, _, said) = captured(Look::default());
        let mut progress = Progress::new(&terminal, 0, Some(DEEP_SEARCH));
        for event in asked() {
            progress.handle(&event, &mut terminal);
        }
        insta::assert_snapshot!(said.text(), @r"
        [INFO] Deep search round 1/5...
        [INFO] Round 1 completed, verified: false
        [INFO] Deep search round 2/5...
        [WARN] Round 2 failed: agent-gemini-cli: 503
        [INFO] Deep search round 3/5...
        [INFO] Round 3 completed, verified: true
        [INFO] Deep search completed: 3 rounds, verified: true
        ");
    }

    #[test]
    fn in_a_terminal_finished_rounds_stay() {
        let (mut terminal, _, said) = captured(Look::default());
        let look = Look::default();
        let shown = Shown::Moving { bar: ProgressBar::hidden(), look };
        let mut progress = Progress { shown, deep_search: true, asking: false, background: false };
        for event in asked() {
            progress.handle(&event, &mut terminal);
            if let (Shown::Moving { bar, .. }, Event::Progress { .. }) = (&progress.shown, &event) {
                assert!(bar.prefix().starts_with("round "), "{}", bar.prefix());
                assert_eq!(bar.message(), "searching “x”");
            }
        }
        insta::assert_snapshot!(said.text(), @r"
        ✓ round 1 of at most 5: searched “spring tides”, “tide prediction”, “age of the tide” and 3 more: 3 new sources in 12 ms, not verified
        ! round 2 of at most 5: asked the agent: failed after 12 ms: agent-gemini-cli: 503
        ✓ round 3 of at most 5: searched “spring tides” and “neap tides”: 0 new sources in 12 ms, verified
        ");
    }

    #[test]
    fn quiet_says_nothing() {
        let (mut terminal, _, said) = captured(Look::default());
        terminal.quiet = true;
        let mut progress = Progress::new(&terminal, 0, None);
        for event in events() {
            progress.handle(&event, &mut terminal);
        }
        assert_eq!(said.text(), "");
    }

    #[test]
    fn what_was_up_to_date_is_not_told() {
        let (mut terminal, _, said) = captured(Look::default());
        let preparation = Preparation { items: 9, ..Preparation::default() };
        Progress::new(&terminal, 0, None)
            .handle(&Event::Prepared { plugin: "p".to_owned(), preparation }, &mut terminal);
        assert_eq!(said.text(), "");
    }
}
