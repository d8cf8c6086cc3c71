//! Attending to work that runs: its events are shown, and Ctrl-C is heard. The
//! first one asks the work to end and keep what it has; the second ends all.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::progress::Progress;
use super::terminal::{Stop, Terminal};
use crate::tasks::{ErrorReport, Event};

/// What the work came to, and the exit code of the signal that was heard.
pub struct Attended<T> {
    pub result: Result<T, ErrorReport>,
    pub signal: Option<u8>,
}

pub async fn attend<T, Work, Running>(
    desk: Arc<dyn Desk>,
    terminal: &mut Terminal,
    mut progress: Progress,
    work: Work,
) -> Result<Attended<T>, Stop>
where
    T: Send + 'static,
    Work: FnOnce(Arc<dyn Desk>, UnboundedSender<Event>, CancellationToken) -> Running,
    Running: Future<Output = Result<T, ErrorReport>> + Send + 'static,
{
    let (sender, mut events) = unbounded_channel();
    let cancel = CancellationToken::new();
    let mut signals = Signals::new()?;
    // A task of its own, so that signals are heard while it computes.
    let mut running = tokio::spawn(work(desk, sender, cancel.clone()));
    let mut signal = None;
    let joined = loop {
        tokio::select! {
            biased;
            code = signals.next() => {
                if signal.replace(code).is_some() {
                    progress.end();
                    leave(code);
                }
                cancel.cancel();
                progress.tell(progress.farewell(), terminal);
            }
            Some(event) = events.recv() => progress.handle(&event, terminal),
            joined = &mut running => break joined,
        }
    };
    drain(&mut events, &mut progress, terminal);
    progress.end();
    let result = joined.unwrap_or_else(|error| {
        Err(ErrorReport {
            code: "INTERNAL".to_owned(),
            message: format!("the work ended unexpectedly: {error}"),
            hint: Some(
                "this is a fault of bathysphere; what was saved is in `bathysphere history`"
                    .to_owned(),
            ),
        })
    });
    Ok(Attended { result, signal })
}

fn drain(events: &mut UnboundedReceiver<Event>, progress: &mut Progress, terminal: &mut Terminal) {
    while let Ok(event) = events.try_recv() {
        progress.handle(&event, terminal);
    }
}

#[expect(clippy::exit, reason = "the user asked twice; there is nothing left to wait for")]
fn leave(code: u8) -> ! {
    // Nothing that a plugin started goes on, and costs, without us.
    crate::gates::process::end_all();
    std::process::exit(code.into())
}

/// The signals that ask a command to end; each with the exit code it stands for.
pub struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// None where it was ignored when we were started, as `nohup` does.
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    pub fn new() -> Result<Self, ErrorReport> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind).map_err(|error| ErrorReport {
                code: "INTERNAL".to_owned(),
                message: format!("cannot listen for signals: {error}"),
                hint: None,
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: if hangup_is_ignored() { None } else { Some(listen(SignalKind::hangup())?) },
        })
    }

    #[cfg(unix)]
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            _ = self.terminate.recv() => 143,
            () = heard(self.hangup.as_mut()) => 129,
        }
    }

    #[cfg(not(unix))]
    pub fn new() -> Result<Self, ErrorReport> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    pub async fn next(&mut self) -> u8 {
        // Without a handler there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        130
    }
}

#[cfg(unix)]
async fn heard(signal: Option<&mut tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether who started us wants us to outlive the terminal. Where the system does
/// not tell (it has no `/proc`), we assume not.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    // A mask in hexadecimal digits, in which the lowest bit is signal 1: hangup.
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_hangup_stays_ignored() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\tff\nSigIgn:\t{mask}\nSigCgt:\tff\n");
        assert!(ignores_hangup(&status("0000000000001001")));
        assert!(!ignores_hangup(&status("0000000000001000")));
        assert!(!ignores_hangup(&status("nonsense")));
        assert!(!ignores_hangup("Name:\tx\n"));
    }
}
