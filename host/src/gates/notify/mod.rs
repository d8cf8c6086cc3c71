//! The notification gate: tells the user that a task has ended, on the desktop
//! (`desktop`), by a program of the user's own (`hook`), or, where neither works,
//! by a line in a file (`log`).
//!
//! It is the user's configuration that decides what is started here, never a
//! plugin. What is told has come from elsewhere: it reaches a program as data, in
//! variables and on standard input, and never in its arguments or through a shell.
//! Everything has its time, so that neither a desktop nor a program that hangs
//! keeps anybody waiting.
//!
//! [`Herald`] starts this program once more to do it, so that the server may die
//! meanwhile.

mod desktop;
mod herald;
mod hook;
mod log;

pub use desktop::service;
pub use herald::Herald;

use std::path::Path;

use serde::Serialize;

use crate::config::NotifyConfig;

/// What the user is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notice {
    pub task_id: String,
    /// `completed` or `failed`.
    pub status: &'static str,
    /// As it was asked.
    pub question: String,
    /// One line, plain text.
    pub title: String,
    /// A few lines, plain text.
    pub message: String,
    pub seconds: f64,
    /// None where it is not known.
    pub cost_usd: Option<f64>,
    /// The command that prints the report.
    pub report: String,
}

/// Where the program's own things are.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The directory of the log.
    pub data: &'a Path,
    /// `--home`, so that the command that prints the report finds it.
    pub home: Option<&'a Path>,
}

/// Tells it in every way that is configured; a line in the log stands in where
/// none has worked.
pub async fn send(notice: &Notice, config: &NotifyConfig, places: Places<'_>) {
    let desktop = async {
        if !config.desktop {
            return false;
        }
        let shown = desktop::show(notice).await;
        if let Err(reason) = &shown {
            tracing::debug!("no notification on the desktop: {reason}");
        }
        shown.is_ok()
    };
    let hook = async {
        if config.command.is_empty() {
            return false;
        }
        let ran = hook::run(&config.command, notice, places.home).await;
        if let Err(error) = &ran {
            tracing::warn!("{error}");
            log::append(places.data, &error.to_string());
        }
        ran.is_ok()
    };
    let (shown, ran) = tokio::join!(desktop, hook);
    if !shown && !ran {
        let line = format!("{}: {}", notice.title, notice.message);
        tracing::info!("{line}");
        log::append(places.data, &line);
    }
}
