//! Directories named for one run, by `--docs` or `BATHYSPHERE_DOCS`: they must be
//! there, and they take the place of the configured ones.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Problem};
use super::layer::{Located, Place};
use super::raw::{RawConfig, RawPlugin};
use super::read::{expand_home, tidy, with_slash};
use super::resolved::{DirectoryGrant, PluginSource};
use super::suggest::nearest;

/// The built-in plugin that searches them.
const PLUGIN: &str = "search-documents";

/// The directories of one run.
pub struct NamedDocuments {
    /// The flag or variable that named them.
    pub by: &'static str,
    pub directories: Vec<DirectoryGrant>,
    /// Those that will not do.
    pub problems: Vec<Problem>,
}

impl NamedDocuments {
    /// `flags` are those of `--docs`; if none, `BATHYSPHERE_DOCS` is asked for.
    pub fn find(
        flags: &[PathBuf],
        environment: &dyn Fn(&str) -> Option<OsString>,
        working_directory: &Path,
        home: Option<&Path>,
    ) -> Option<Self> {
        const VARIABLE: &str = "BATHYSPHERE_DOCS";
        let (paths, by) = if flags.is_empty() {
            (split(&environment(VARIABLE).unwrap_or_default()), VARIABLE)
        } else {
            (flags.to_vec(), "--docs")
        };
        if paths.is_empty() {
            return None;
        }
        let mut named = Self { by, directories: Vec::new(), problems: Vec::new() };
        for path in &paths {
            match grant(path, by, working_directory, home) {
                Ok(directory) => named.directories.push(directory),
                Err(error) => named.problems.extend(error.problems),
            }
        }
        Some(named)
    }

    /// Lays them over what the files say.
    pub fn overlay(&self, config: &mut RawConfig, place: Place) {
        let located = |value: &DirectoryGrant| Located { value: value.clone(), place };
        let directories: Vec<_> = self.directories.iter().map(located).collect();
        let chosen = config.documents.search.as_ref().map(|search| search.value.as_str());
        for (name, plugin) in &mut config.plugins {
            if Some(name.as_str()) == chosen || is_meant(name, plugin) {
                plugin.grants.directories = Some(Located { value: directories.clone(), place });
            }
        }
    }
}

/// Whether a plugin is given them, beside the one that `[documents]` chooses: the
/// built-in one, whatever component the user put in its place, and every other
/// made from the same component.
fn is_meant(name: &str, plugin: &RawPlugin) -> bool {
    let source = plugin.source.as_ref().map(|located| &located.value);
    name == PLUGIN || source == Some(&PluginSource::Builtin(PLUGIN.to_owned()))
}

/// The entries of a list such as `BATHYSPHERE_DOCS`.
fn split(list: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// `place` is the flag or variable that named it.
fn grant(
    named: &Path,
    place: &str,
    working_directory: &Path,
    home: Option<&Path>,
) -> Result<DirectoryGrant, ConfigError> {
    let typed = named.to_string_lossy();
    // A client that starts the server from a list of arguments expands nothing.
    let path = if typed.starts_with('~') && !working_directory.join(named).exists() {
        expand_home(&typed, home).map_err(|wrong| {
            Problem::new(format!("{place}: {}", wrong.message)).with_hint(wrong.hint)
        })?
    } else {
        named.to_owned()
    };
    let path = tidy(&working_directory.join(path));
    let shown = path.display();
    let problem = match path.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            let plain = if matches!(typed.as_ref(), "." | "./") { "" } else { typed.as_ref() };
            return Ok(DirectoryGrant { prefix: with_slash(plain), path });
        }
        Ok(_) => Problem::new(format!("{place} {typed}: {shown} is a file, not a directory"))
            .with_hint("name the directory that holds it"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let problem = Problem::new(format!("{place} {typed}: there is no directory {shown}"));
            match sibling(&path) {
                Some(name) => problem.with_hint(format!("did you mean `{name}`?")),
                None => problem,
            }
        }
        Err(error) => Problem::new(format!("{place} {typed}: {shown} cannot be read: {error}")),
    };
    Err(problem.into())
}

/// The name that looks most like the missing one, in the same place.
pub fn sibling(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let mut names: Vec<String> = path
        .parent()?
        .read_dir()
        .ok()?
        // A directory can hold very much, and this is only a hint.
        .take(10_000)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    nearest(name, names.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(root: &Path, named: &str) -> Result<DirectoryGrant, String> {
        grant(Path::new(named), "--docs", root, Some(root))
            .map_err(|problem| problem.to_string().replace(&root.display().to_string(), "ROOT"))
    }

    #[test]
    fn the_prefix_is_as_typed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir_all(root.join("docs/guide")).unwrap();
        for (named, prefix, path) in [
            (".", "", root.to_owned()),
            ("./", "", root.to_owned()),
            ("docs", "docs/", root.join("docs")),
            ("docs/", "docs/", root.join("docs")),
            ("./docs/guide", "./docs/guide/", root.join("docs/guide")),
            ("docs/..", "docs/../", root.join("docs/..")),
            ("~/docs", "~/docs/", root.join("docs")),
        ] {
            let found = granted(root, named).unwrap();
            assert_eq!((found.prefix.as_str(), &found.path), (prefix, &path), "{named}");
        }
    }

    #[test]
    fn what_is_not_there_is_said_with_the_nearest_name() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        std::fs::create_dir(root.join("documents")).unwrap();
        std::fs::write(root.join("notes.md"), "").unwrap();
        insta::assert_snapshot!(granted(root, "docments").unwrap_err(), @r"
        --docs docments: there is no directory ROOT/docments
        hint: did you mean `documents`?
        ");
        insta::assert_snapshot!(granted(root, "elsewhere/x").unwrap_err(), @"--docs elsewhere/x: there is no directory ROOT/elsewhere/x");
        insta::assert_snapshot!(granted(root, "notes.md").unwrap_err(), @r"
        --docs notes.md: ROOT/notes.md is a file, not a directory
        hint: name the directory that holds it
        ");
    }

    #[test]
    fn a_list_is_split_like_path() {
        let list = std::env::join_paths(["a", "", "b c"]).unwrap();
        assert_eq!(split(&list), [PathBuf::from("a"), PathBuf::from("b c")]);
    }
}
