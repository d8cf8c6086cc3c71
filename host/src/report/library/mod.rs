//! Reports that are kept for good: `{directory}/{month}/{prefix}_{task}_{time}.md`.
//! Never outside the directory, whatever the prefix or a link says, and never over a
//! file that is there.

mod name;
mod write;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::cited::Form;
use super::document::{Document, tidy};
use super::facts::{facts, front_matter};
use super::html;
use super::markdown::inline;
use super::outcome::{ErrorReport, Outcome, TaskStatus, short_id};
use super::templates::{Kind, Templates};
use crate::config::ConfigError;
pub use write::WriteError;

/// Sources that nothing cites; a file that is kept names more of them than a
/// terminal.
const OTHERS: usize = 500;

/// Where reports go when nothing else is said.
pub const DIRECTORY: &str = "./research_reports";
pub const PREFIX: &str = "research";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Markdown,
    Html,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }
}

/// What is to be saved, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveOptions {
    /// Made where it is missing.
    pub output_dir: PathBuf,
    /// What the file's name begins with; what no name can hold is replaced.
    pub filename_prefix: String,
    /// Front matter, and how it was researched.
    pub include_metadata: bool,
    /// The numbered list; footnotes stay.
    pub include_sources: bool,
    pub format: Format,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self {
            output_dir: PathBuf::from(DIRECTORY),
            filename_prefix: PREFIX.to_owned(),
            include_metadata: true,
            include_sources: true,
            format: Format::Markdown,
        }
    }
}

/// What `save_research_to_markdown` returns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SavedReport {
    /// False where nothing was saved; `error` then says why.
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
    /// In kilobytes of 1,024 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size_kb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// When the file was written, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Where the task stands, when it is not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
}

impl SavedReport {
    /// Nothing was saved. The outcome is there where the task was found.
    pub fn of_error(error: &ErrorReport, outcome: Option<&Outcome>) -> Self {
        Self {
            success: false,
            task_id: outcome.map(|outcome| outcome.id.clone()),
            file_path: None,
            file_size_kb: None,
            filename: None,
            created_at: None,
            status: outcome.map(|outcome| status_of(outcome).to_owned()),
            error: Some(error.clone()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("{0}")]
    Template(#[from] ConfigError),
    #[error("{0}")]
    Write(#[from] WriteError),
}

impl From<LibraryError> for ErrorReport {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Template(error) => error.into(),
            LibraryError::Write(error) => Self {
                code: error.code().to_owned(),
                hint: Some(error.hint()),
                message: error.to_string(),
            },
        }
    }
}

/// As the tools say it: research that a vendor does runs by itself.
fn status_of(outcome: &Outcome) -> &'static str {
    match outcome.status {
        TaskStatus::Running if outcome.is_background() => "running_async",
        status => status.as_str(),
    }
}

/// Only what is completed is worth keeping for good; anything else is refused with
/// the status it has.
pub fn require_completed(outcome: &Outcome) -> Result<(), ErrorReport> {
    if outcome.status == TaskStatus::Completed {
        return Ok(());
    }
    let id = short_id(&outcome.id);
    let hint = match outcome.status {
        TaskStatus::Running => "wait until it is completed, then save it".to_owned(),
        _ => format!("`bathysphere show {id} --format markdown` prints what there is"),
    };
    Err(ErrorReport {
        code: "NOT_COMPLETED".to_owned(),
        message: format!(
            "the research {id} is not completed: its status is {}",
            status_of(outcome)
        ),
        hint: Some(hint),
    })
}

/// Saves a report, with the user's own templates where there are any. Whether the
/// task must be completed is for the caller to say, with [`require_completed`].
pub fn save_report(
    outcome: &Outcome,
    options: &SaveOptions,
    config_directory: &Path,
) -> Result<SavedReport, ErrorReport> {
    let templates = Templates::load(config_directory)?;
    Ok(save_to_library(outcome, options, &templates)?)
}

/// The same with templates that are at hand.
pub fn save_to_library(
    outcome: &Outcome,
    options: &SaveOptions,
    templates: &Templates,
) -> Result<SavedReport, LibraryError> {
    save_at(outcome, options, templates, Timestamp::now())
}

fn save_at(
    outcome: &Outcome,
    options: &SaveOptions,
    templates: &Templates,
    now: Timestamp,
) -> Result<SavedReport, LibraryError> {
    let text = rendered(outcome, options, templates)?;
    let stem = name::stem(&options.filename_prefix, &outcome.id, now);
    let month = now.strftime("%Y-%m").to_string();
    let path = write::write_new(
        &at_home(&options.output_dir, etcetera::home_dir().ok()),
        &month,
        &stem,
        options.format.extension(),
        text.as_bytes(),
    )?;
    let filename = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(SavedReport {
        success: true,
        task_id: Some(outcome.id.clone()),
        file_path: Some(path.display().to_string()),
        file_size_kb: Some((text.len() as f64 / 1024.0 * 10.0).round() / 10.0),
        filename: Some(filename),
        created_at: Some(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        status: None,
        error: None,
    })
}

/// A shell reads `~/reports` as a directory at home; who asks over MCP has no shell,
/// and means the same.
fn at_home(directory: &Path, home: Option<PathBuf>) -> PathBuf {
    match (directory.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) if !directory.exists() => home.join(rest),
        _ => directory.to_owned(),
    }
}

fn rendered(
    outcome: &Outcome,
    options: &SaveOptions,
    templates: &Templates,
) -> Result<String, ConfigError> {
    match options.format {
        Format::Html => {
            html::render(outcome, options.include_metadata, options.include_sources, templates)
        }
        Format::Markdown => {
            markdown(outcome, options.include_metadata, options.include_sources, templates)
        }
    }
}

/// A report as a Markdown file that stands alone.
fn markdown(
    outcome: &Outcome,
    include_metadata: bool,
    include_sources: bool,
    templates: &Templates,
) -> Result<String, ConfigError> {
    let mut document = Document::new(outcome, Form::Footnotes, OTHERS);
    if !include_sources {
        document.sources.clear();
        document.visited.clear();
        document.also_read = None;
    }
    if !include_metadata {
        document.course.clear();
    }
    let facts = facts(outcome);
    let task: std::collections::BTreeMap<&str, String> =
        facts.iter().map(|fact| (fact.key, inline(&fact.shown))).collect();
    let values = minijinja::context! {
        front_matter => include_metadata.then(|| front_matter(&facts)),
        task,
        ..minijinja::Value::from(minijinja::value::Serde(&document))
    };
    Ok(tidy(&templates.render(Kind::Markdown, values)?))
}

#[cfg(test)]
mod tests;
