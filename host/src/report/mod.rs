//! The outcome of a task as a report that people read and keep. What came from
//! elsewhere is data: it cannot leave the place the template gives it. Touches no
//! network and no store; `save` and `library` write one file, whole or not at all.
//!
//! ```text
//! outcome    what a task came to
//! answer     the same as programs read it
//! document   a report in parts, and the report of the terminal
//! notices, findings, course     those parts
//! cited      citations of a written report, resolved to numbers
//! citations  numbers for what findings cite
//! markdown   foreign text inside our Markdown
//! words      counts, times and reasons in words
//! facts      what is known about a report: front matter, and the block on a page
//! templates  the user's own templates
//! html       a report as one page
//! library    reports in a directory, by month; never over another file
//! save       a report in the file that was named
//! ```

mod answer;
mod citations;
mod cited;
mod course;
mod document;
mod facts;
mod findings;
mod html;
mod library;
pub mod markdown;
mod notices;
mod outcome;
mod save;
mod templates;
pub mod words;

pub use answer::{Answer, AnswerSource};
pub use citations::files;
pub use document::{readable, render_markdown, sources_in_order};
pub use html::render_html;
pub use library::{
    Format, LibraryError, SaveOptions, SavedReport, require_completed, save_report, save_to_library,
};
pub use outcome::{
    ErrorReport, Outcome, START_DEEP_RESEARCH, TaskStatus, short_id, summary_of, timestamp,
};
pub use save::{SaveError, can_save, save};
pub use templates::Templates;

/// Longer questions are shortened in the title and stand in full below it.
const TITLE_CHARACTERS: usize = 160;

/// Sources that no finding cites are named, but not without end.
const ALSO_READ: usize = 8;

/// The same for what an agent visited on its own.
const VISITED: usize = 50;

#[cfg(test)]
pub(crate) mod tests;
