//! A task's events as progress notifications: what happened, in words, with a
//! number that only ever rises. What counts is told in full and in order; of small
//! talk only the newest. While nothing happens a heartbeat says that it goes on, so
//! that clients with a limit on silence stay.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::tools::DEEP_SEARCH;
use crate::report::words::{duration, one_line, shortened};
use crate::tasks::Event;

/// After this long without a word a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(8);

/// Lines that wait for a client that does not read. A task has fewer, so none is
/// lost unless something is very wrong; then the oldest go.
const MOST_LINES: usize = 256;

/// One message is a line, not a page.
const MESSAGE_CHARACTERS: usize = 300;

/// What is still to be told.
pub struct Telling {
    deep_search: bool,
    state: Mutex<State>,
    changed: Notify,
}

struct State {
    lines: VecDeque<String>,
    /// Gives way to what is newer.
    small_talk: Option<String>,
    /// The round under way: its number, of how many, since when.
    round: Option<(u32, u32, Instant)>,
    /// The last thing that was heard.
    last: String,
    begun: Instant,
    ended: bool,
}

impl Telling {
    pub fn new(tool: &str) -> Self {
        Self {
            deep_search: tool == DEEP_SEARCH,
            state: Mutex::new(State {
                lines: VecDeque::new(),
                small_talk: None,
                round: None,
                last: String::new(),
                begun: Instant::now(),
                ended: false,
            }),
            changed: Notify::new(),
        }
    }

    /// Never waits, and never holds more than a bounded number of lines.
    pub fn hear(&self, event: &Event) {
        let line = if self.deep_search { event.deep_search_line() } else { None };
        // The id too: whoever gives up early can go on with it.
        let counts = matches!(
            event,
            Event::Started { .. }
                | Event::RoundStarted { .. }
                | Event::RoundEnded { .. }
                | Event::Completed { .. }
        );
        let message =
            shortened(&one_line(&line.unwrap_or_else(|| describe(event))), MESSAGE_CHARACTERS);
        let mut state = self.state();
        match event {
            Event::RoundStarted { number, of, .. } => {
                state.round = Some((*number, *of, Instant::now()));
                state.last.clear();
            }
            Event::RoundEnded { .. } | Event::Completed { .. } => {
                state.round = None;
                state.last.clear();
            }
            _ => state.last.clone_from(&message),
        }
        if counts {
            if state.lines.len() == MOST_LINES {
                state.lines.pop_front();
            }
            state.lines.push_back(message);
            // What was said before it is old.
            state.small_talk = None;
        } else {
            state.small_talk = Some(message);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Nothing more will be heard.
    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_one();
    }

    /// The next message, when there is one; none at the end.
    async fn next(&self) -> Option<String> {
        let heartbeat = tokio::time::sleep(HEARTBEAT);
        tokio::pin!(heartbeat);
        loop {
            {
                let mut state = self.state();
                if let Some(line) = state.lines.pop_front() {
                    return Some(line);
                }
                if state.ended {
                    return None;
                }
                if let Some(message) = state.small_talk.take() {
                    return Some(message);
                }
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = &mut heartbeat => return Some(self.state().heartbeat()),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn heartbeat(&self) -> String {
        let passed = |since: Instant| duration(since.elapsed().as_millis() as u64);
        let doing = match self.round {
            Some((number, of, since)) => format!("round {number} of {of}, {}", passed(since)),
            None => format!("working, {}", passed(self.begun)),
        };
        if self.last.is_empty() { doing } else { format!("{doing}: {}", self.last) }
    }
}

/// Passes on what is told until the end; where the client gave no token it only
/// waits for it. One message is under way at a time: a client that does not read
/// holds this up, and nothing else.
pub async fn report(peer: Peer<RoleServer>, token: Option<ProgressToken>, telling: &Telling) {
    let Some(token) = token else { return };
    let mut step = 0.0;
    while let Some(message) = telling.next().await {
        step += 1.0;
        let notification =
            ProgressNotificationParam::new(token.clone(), step).with_message(message);
        if peer.notify_progress(notification).await.is_err() {
            return;
        }
    }
}

fn describe(event: &Event) -> String {
    match event {
        Event::Started { id } => format!("started as task {id}"),
        Event::Progress { message, done, total: Some(total) } => {
            format!("{message}: {done} of {total}")
        }
        Event::Progress { message, done: 0, total: None } => message.clone(),
        Event::Progress { message, done, total: None } => format!("{message}: {done}"),
        Event::Prepared { preparation, .. } => format!(
            "{} items ready, {} of them new or changed",
            preparation.items, preparation.updated
        ),
        Event::Planned { plan } => format!("{}: {}", plan.level.in_words(), plan.reason),
        Event::RoundStarted { number, of, reason, .. } => {
            format!("round {number} of {of}: {reason}")
        }
        Event::Completed { rounds, .. } => format!("done after {rounds} rounds"),
        Event::RoundEnded { round, of } => match &round.error {
            Some(error) => format!("round {} of {of} failed: {}", round.number, error.message),
            None => format!(
                "round {} of {of} ended: {} sources, {} findings",
                round.number,
                round.sources.len(),
                round.findings.len()
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::contract::{ErrorKind, PluginError};
    use crate::report::tests as outcomes;

    fn talk(message: &str) -> Event {
        Event::Progress { message: message.to_owned(), done: 0, total: None }
    }

    fn started(number: u32) -> Event {
        Event::RoundStarted {
            number,
            of: 5,
            step: "ask".to_owned(),
            reason: "to check it".to_owned(),
        }
    }

    fn ended(number: u32) -> Event {
        Event::RoundEnded { round: Box::new(outcomes::round(number, &[], 0, 0)), of: 5 }
    }

    async fn rest(telling: &Telling) -> Vec<String> {
        telling.end();
        let mut messages = Vec::new();
        while let Some(message) = telling.next().await {
            messages.push(message);
        }
        messages
    }

    #[tokio::test]
    async fn a_burst_keeps_every_line_of_a_round_and_drops_small_talk() {
        let telling = Telling::new(DEEP_SEARCH);
        let mut failing = outcomes::round(2, &[], 0, 0);
        failing.error = Some(PluginError::new(ErrorKind::Unavailable, "it\nis down"));
        for event in [
            Event::Started { id: "0198".to_owned() },
            started(1),
            talk("searching “a”"),
            talk("searching “b”"),
            ended(1),
            started(2),
            Event::RoundEnded { round: Box::new(failing), of: 5 },
            Event::Completed { rounds: 2, verified: false },
        ] {
            telling.hear(&event);
        }
        assert_eq!(
            rest(&telling).await,
            [
                "started as task 0198",
                "Deep search round 1/5...",
                "Round 1 completed, verified: false",
                "Deep search round 2/5...",
                "Round 2 failed: it is down",
                "Deep search completed: 2 rounds, verified: false",
            ]
        );
    }

    #[tokio::test]
    async fn the_newest_small_talk_is_told() {
        let telling = Telling::new("search");
        telling.hear(&started(1));
        telling.hear(&talk("searching “a”"));
        telling.hear(&talk("searching “b”"));
        assert_eq!(telling.next().await.unwrap(), "round 1 of 5: to check it");
        assert_eq!(telling.next().await.unwrap(), "searching “b”");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_broken_by_a_heartbeat_that_says_what_goes_on() {
        let telling = Telling::new(DEEP_SEARCH);
        telling.hear(&started(2));
        telling.hear(&talk("reading https://tides.example"));
        assert_eq!(telling.next().await.unwrap(), "Deep search round 2/5...");
        assert_eq!(telling.next().await.unwrap(), "reading https://tides.example");
        let before = Instant::now();
        assert_eq!(
            telling.next().await.unwrap(),
            "round 2 of 5, 8.0 s: reading https://tides.example"
        );
        assert!(before.elapsed() < Duration::from_secs(10));
        assert_eq!(
            telling.next().await.unwrap(),
            "round 2 of 5, 16 s: reading https://tides.example"
        );
        telling.hear(&ended(2));
        assert_eq!(telling.next().await.unwrap(), "Round 2 completed, verified: false");
        assert_eq!(telling.next().await.unwrap(), "working, 24 s");
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_costs_a_bounded_number_of_lines() {
        let telling = Telling::new(DEEP_SEARCH);
        for number in 0..10_000 {
            telling.hear(&started(number));
            telling.hear(&talk(&"x".repeat(10_000)));
        }
        let messages = rest(&telling).await;
        assert_eq!(messages.len(), MOST_LINES);
        assert_eq!(messages.last().unwrap(), "Deep search round 9999/5...");
        assert!(telling.state().last.chars().count() <= MESSAGE_CHARACTERS);
    }
}
