//! A task's events as progress notifications: what happened, in words, with a
//! number that only ever rises.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;

use crate::tasks::Event;

/// Passes events on until the sender is dropped; with no token it only drains.
pub async fn report(
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    mut events: mpsc::UnboundedReceiver<Event>,
) {
    let Some(token) = token else { return };
    let mut step = 0.0;
    while let Some(event) = events.recv().await {
        // Several at once tell no more than the last of them.
        let mut latest = event;
        while let Ok(newer) = events.try_recv() {
            latest = newer;
        }
        step += 1.0;
        let notification =
            ProgressNotificationParam::new(token.clone(), step).with_message(describe(&latest));
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
        Event::RoundEnded { round, of } => format!(
            "round {} of {of} ended: {} sources, {} findings",
            round.number,
            round.sources.len(),
            round.findings.len()
        ),
    }
}
