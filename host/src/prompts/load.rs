//! The user's own prompts: files in `prompts/` of the configuration directory, each
//! in place of the built-in one of the same name. Reads at start, and writes never.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Prompt;
use super::template::Template;
use crate::config::layer::{Layer, Layers, Place};
use crate::config::suggest::suggestion;
use crate::config::{ConfigError, Origin, Problem};

/// In the configuration directory.
pub const DIRECTORY: &str = "prompts";

/// More is no prompt; a wrong name should not fill the memory.
const MAXIMUM_BYTES: u64 = 256 * 1024;

#[derive(Debug, Default)]
pub struct Found {
    pub templates: Vec<(Prompt, PathBuf, Template)>,
    pub warnings: Vec<Problem>,
}

pub fn load(config_directory: &Path) -> Result<Found, ConfigError> {
    let directory = config_directory.join(DIRECTORY);
    let names = match names(&directory) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::default()),
        // The whole directory is out of reach, which the server warns about by itself.
        Err(_) if fs::read_dir(config_directory).is_err() => return Ok(Found::default()),
        Err(error) => return Err(unreadable(&directory, &error).into()),
    };
    let mut found = Found::default();
    let mut problems = Vec::new();
    for name in names {
        let path = directory.join(&name);
        let Some(prompt) = Prompt::ALL.into_iter().find(|prompt| name == prompt.file_name()) else {
            found.warnings.extend(stranger(&path, &name.to_string_lossy()));
            continue;
        };
        match read(prompt, &path) {
            Ok(template) => {
                found.warnings.extend(template.warning());
                found.templates.push((prompt, path, template));
            }
            Err(error) => problems.extend(error.problems),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(ConfigError { problems }) }
}

/// In the order of the alphabet, so that the same mistakes read the same.
fn names(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn read(prompt: Prompt, path: &Path) -> Result<Template, ConfigError> {
    let shown = path.display().to_string();
    let bytes = read_file(path).map_err(|error| unreadable(path, &error))?;
    let text = text(&shown, bytes)?;
    if text.trim().is_empty() {
        let problem = Problem::new("this prompt is empty")
            .at(Origin::of(shown))
            .with_hint("write the prompt, or remove the file to have the built-in one");
        return Err(problem.into());
    }
    Template::new(prompt, shown, text)
}

pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = path.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // A pipe would keep us waiting for ever.
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAXIMUM_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAXIMUM_BYTES {
        return Err(io::Error::other("it is larger than 256 KiB"));
    }
    Ok(bytes)
}

pub fn text(shown: &str, bytes: Vec<u8>) -> Result<String, ConfigError> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let mut layers = Layers::default();
        let layer = layers.push(Layer {
            place: shown.to_owned(),
            text: String::from_utf8_lossy(error.as_bytes()).into_owned(),
            directory: PathBuf::new(),
        });
        Problem::new("this is not UTF-8 text")
            .at(layers.origin(Place { layer, start, end: start + 1 }))
            .with_hint("save the file as UTF-8")
    })?;
    // Some editors begin a file with a mark that is no part of the text.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::IsADirectory => Problem::new(format!("{shown} is a directory, not a file")),
        io::ErrorKind::NotADirectory => Problem::new(format!("{shown} is not a directory"))
            .with_hint("your own prompts are files in a directory of this name"),
        io::ErrorKind::PermissionDenied => {
            Problem::new(format!("{shown} cannot be read: permission denied"))
                .with_hint("make it readable for you, or remove it to have the built-in prompts")
        }
        _ => Problem::new(format!("{shown} cannot be read: {error}"))
            .with_hint("mend it, or remove it to have the built-in prompt"),
    }
}

/// A file that nothing will ever read. What editors and systems leave behind, and
/// directories, are not worth a word.
fn stranger(path: &Path, name: &str) -> Option<Problem> {
    if name.starts_with('.') || name.ends_with('~') || path.is_dir() {
        return None;
    }
    let known = Prompt::ALL.map(Prompt::file_name);
    Some(
        Problem::new(format!("there is no prompt `{name}`, so this file is not used"))
            .at(Origin::of(path.display().to_string()))
            .with_hint(suggestion(name, known, "prompts")),
    )
}
