//! What models are asked: five prompts, each a file in `prompts/` that is built in,
//! and each replaced by a file of the same name in the user's configuration
//! directory. Knows no plugin, gate or store; reads files at start, and nothing
//! later.
//!
//! What comes from outside (the question, what the asker knows, an earlier report,
//! addresses) is data. The host cleans and fences it before a template sees it, so
//! that a template of the user's own is as safe as ours.
//!
//! ```text
//! prompt    which prompts there are, and what each may and must say
//! answer    the schema and the example of what a prompt asks for
//! load      the user's files
//! template  one template, checked and filled
//! tags      where a template's tags stand
//! values    the values, as a prompt shows them
//! fence     lines around data that data cannot forge
//! clean     data without what nobody sees
//! mention   data whose `@` names nothing
//! ```

mod answer;
mod clean;
mod fence;
mod load;
mod mention;
mod prompt;
pub(crate) mod tags;
mod template;
mod values;

use std::path::{Path, PathBuf};

pub use answer::is_placeholder;
pub(crate) use clean::clean_line;
pub(crate) use load::{read_file, text as text_of};
pub use prompt::Prompt;
pub use values::Values;

use crate::config::{ConfigError, Problem};
use template::Template;

/// All prompts, checked.
#[derive(Debug, Clone)]
pub struct Prompts {
    templates: [Template; Prompt::ALL.len()],
    files: [Option<PathBuf>; Prompt::ALL.len()],
    warnings: Vec<Problem>,
}

impl Prompts {
    /// The built-in ones alone.
    pub fn built_in() -> Self {
        Self {
            templates: Prompt::ALL.map(Template::built_in),
            files: Prompt::ALL.map(|_| None),
            warnings: Vec::new(),
        }
    }

    /// The user's own, where there are any, and the built-in ones for the rest.
    /// Every mistake in them is reported at once.
    pub fn load(config_directory: &Path) -> Result<Self, ConfigError> {
        let found = load::load(config_directory)?;
        let mut prompts = Self::built_in();
        prompts.warnings = found.warnings;
        for (prompt, path, template) in found.templates {
            prompts.templates[prompt.place()] = template;
            prompts.files[prompt.place()] = Some(path);
        }
        Ok(prompts)
    }

    /// What the user should hear of, though it stops nothing.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The user's file that a prompt comes from; none for a built-in one.
    pub fn file(&self, prompt: Prompt) -> Option<&Path> {
        self.files[prompt.place()].as_deref()
    }

    /// The same values give the same text. An error is the template's: a condition
    /// that the trial at the start did not reach.
    pub fn render(&self, prompt: Prompt, values: &Values<'_>) -> Result<String, ConfigError> {
        self.templates[prompt.place()].render(values)
    }
}

#[cfg(test)]
mod tests;
