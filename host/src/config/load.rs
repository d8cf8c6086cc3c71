//! Which files there are, and the order of it all: the defaults, then the user's
//! file, then the one in the working directory (or, instead of these two, the one
//! that was named), then what flags and variables say for this run.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::directories::Directories;
use super::docs::NamedDocuments;
use super::error::{ConfigError, Problem};
use super::layer::{BUILT_IN, Layer, Layers, Mistakes, Place};
use super::raw::RawConfig;
use super::read::{Surroundings, read};
use super::resolved::Config;
use super::{DEFAULTS, FILE_NAME, docs, endpoint, environment, resolve, trust};

/// Larger than any honest file; a wrong name should not fill the memory.
const MAXIMUM_BYTES: u64 = 1 << 20;

/// What the caller knows: flags, and where it stands. Nothing is taken from the
/// process itself, so that tests can run side by side.
#[derive(Clone)]
pub struct LoadOptions<'a> {
    /// `--config`; else `BATHYSPHERE_CONFIG` is asked for.
    pub config_file: Option<PathBuf>,
    /// `--docs`; if none, `BATHYSPHERE_DOCS` is asked for.
    pub docs: Vec<PathBuf>,
    /// Absolute.
    pub working_directory: PathBuf,
    pub directories: &'a Directories,
    pub environment: &'a dyn Fn(&str) -> Option<OsString>,
    /// The names that `builtin:NAME` may have.
    pub builtins: &'a [&'a str],
}

#[derive(Debug, Clone)]
pub struct LoadedConfig {
    pub config: Config,
    /// The files that apply, the strongest first; not the defaults.
    pub files: Vec<PathBuf>,
    /// What is not an error, and should be said once: variables that will not do.
    pub warnings: Vec<String>,
    pub(super) layers: Layers,
    pub(super) raw: RawConfig,
}

/// Finds, reads, merges and checks. All mistakes that can be told apart are
/// reported together.
pub fn load(options: &LoadOptions<'_>) -> Result<LoadedConfig, ConfigError> {
    let home = home(options.environment);
    let surroundings = Surroundings {
        working_directory: &options.working_directory,
        home: home.as_deref(),
        builtins: options.builtins,
    };
    let mut layers = Layers::default();
    let mut files = Vec::new();
    for file in std::iter::once(defaults(options)).chain(find(options)?) {
        let index = layers.push(file.layer);
        files.push((index, file.path, file.trusted));
    }
    let named = NamedDocuments::find(
        &options.docs,
        options.environment,
        &options.working_directory,
        home.as_deref(),
    );
    let documents = named.map(|named| (layers.push_name(named.by), named));
    let with_documents = |mut config: RawConfig| {
        if let Some((place, named)) = &documents {
            named.overlay(&mut config, *place);
        }
        config
    };

    let mut mistakes = Mistakes::default();
    let mut merged = RawConfig::default();
    let mut whole = true;
    for (index, _, trusted) in &files {
        let Some(raw) = read(&layers, *index, surroundings, &mut mistakes) else {
            whole = false;
            continue;
        };
        let below = merged.clone();
        merged.overlay(raw.clone());
        if !trusted && whole {
            trust::check(
                &trust::Found {
                    says: &raw,
                    directory: &options.working_directory,
                    below: &below,
                    before: &with_documents(below.clone()),
                    after: &with_documents(merged.clone()),
                },
                &mut mistakes,
            );
        }
    }
    let mut merged = with_documents(merged);
    let warnings = environment::overlay(&mut merged, &mut layers, options.environment);
    endpoint::overlay(&mut merged);

    // Half a file would make every name in the other half look undefined.
    let config = if whole { resolve::resolve(&merged, &layers, &mut mistakes) } else { None };
    let mut problems = documents.map(|(_, named)| named.problems).unwrap_or_default();
    problems.extend(mistakes.into_problems(&layers));
    match config {
        Some(config) if problems.is_empty() => {
            let files = files.into_iter().rev().filter_map(|(_, path, _)| path).collect();
            Ok(LoadedConfig { config, files, warnings, layers, raw: merged })
        }
        _ => Err(ConfigError { problems }),
    }
}

fn defaults(options: &LoadOptions<'_>) -> File {
    let layer = Layer {
        place: BUILT_IN.to_owned(),
        text: DEFAULTS.to_owned(),
        directory: options.working_directory.clone(),
    };
    File { layer, path: None, trusted: true }
}

struct File {
    layer: Layer,
    /// None for the defaults.
    path: Option<PathBuf>,
    /// The user's own, or named by the user.
    trusted: bool,
}

/// The files that apply, the weakest first.
fn find(options: &LoadOptions<'_>) -> Result<Vec<File>, ConfigError> {
    let variable =
        || (options.environment)("BATHYSPHERE_CONFIG").filter(|v| !v.is_empty()).map(PathBuf::from);
    let named = match &options.config_file {
        Some(path) => Some((path.clone(), "--config")),
        None => variable().map(|path| (path, "BATHYSPHERE_CONFIG")),
    };
    if let Some((name, by)) = named {
        let path = options.working_directory.join(&name);
        let shown = name.display().to_string();
        let layer = match read_file(&path, true) {
            Ok(text) => layer(&path, shown, text)?,
            Err(error) => return Err(unreadable(&path, &shown, Some(by), &error).into()),
        };
        return Ok(vec![File { layer, path: Some(path), trusted: true }]);
    }

    let own = options.directories.config.join(FILE_NAME);
    let here = options.working_directory.join(FILE_NAME);
    // Whoever stands in the configuration directory sees the user's own file.
    let same =
        matches!((own.canonicalize(), here.canonicalize()), (Ok(own), Ok(here)) if own == here);
    let mut files = Vec::new();
    for (path, shown, trusted) in
        [(own.clone(), own.display().to_string(), true), (here, FILE_NAME.to_owned(), false)]
    {
        if same && !trusted {
            continue;
        }
        match read_file(&path, false) {
            // This project's own repository holds the defaults under this name.
            Ok(text) if !trusted && text == DEFAULTS.as_bytes() => {}
            Ok(text) => {
                let layer = layer(&path, shown, text)?;
                files.push(File { layer, path: Some(path), trusted });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&path, &shown, None, &error).into()),
        }
    }
    Ok(files)
}

fn read_file(path: &Path, named: bool) -> io::Result<Vec<u8>> {
    let metadata = path.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    // A pipe that was merely found would keep us waiting for ever.
    if !named && !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAXIMUM_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAXIMUM_BYTES {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(bytes)
}

fn layer(path: &Path, shown: String, bytes: Vec<u8>) -> Result<Layer, ConfigError> {
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            // Some editors begin a file with a mark that TOML does not know.
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(Layer { place: shown, text, directory })
        }
        Err(error) => {
            let start = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let mut layers = Layers::default();
            layers.push(Layer { place: shown, text, directory });
            let origin = layers.origin(Place { layer: 0, start, end: start + 1 });
            Err(Problem::new("this is not UTF-8 text")
                .at(origin)
                .with_hint("save the file as UTF-8")
                .into())
        }
    }
}

fn unreadable(path: &Path, shown: &str, by: Option<&str>, error: &io::Error) -> Problem {
    let by = by.map(|by| format!("{by} {shown}: ")).unwrap_or_default();
    let absolute = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            let problem = Problem::new(format!("{by}there is no file {absolute}"));
            match docs::sibling(path) {
                Some(name) => problem.with_hint(format!("did you mean `{name}`?")),
                None => problem,
            }
        }
        io::ErrorKind::IsADirectory => {
            let problem = Problem::new(format!("{by}{absolute} is a directory, not a file"));
            let inside = path.join(FILE_NAME);
            if inside.is_file() {
                problem.with_hint(format!("did you mean {}?", inside.display()))
            } else {
                problem
            }
        }
        io::ErrorKind::PermissionDenied => {
            Problem::new(format!("{by}{absolute} cannot be read: permission denied"))
                .with_hint("make the file readable for you, or name another with --config FILE")
        }
        _ => Problem::new(format!("{by}{absolute} cannot be read: {error}")),
    }
}

/// For `~`. An environment without it may still belong to a user who has one.
fn home(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    environment("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .or_else(|| etcetera::home_dir().ok())
}
