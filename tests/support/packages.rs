//! Programs of others, installed at pinned versions into a cache directory outside
//! the clone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with the packages of a requirements file; returns its interpreter.
pub fn python_environment(name: &str, requirements: &Path) -> Result<PathBuf, String> {
    let wanted = fs::read_to_string(requirements).map_err(told)?;
    let directory = installed(name, &wanted, |directory| {
        attempt(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        attempt(
            Command::new(directory.join("bin/python"))
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
                .arg(requirements),
        )
    })?;
    Ok(directory.join("bin/python"))
}

/// The directory of a set of packages, installed if it is not: one for each
/// version of `wanted`, by one process at a time.
pub fn installed(
    name: &str,
    wanted: &str,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let cache = cache_directory()?;
    let directory = cache.join(name);
    fs::create_dir_all(&cache).map_err(told)?;
    let lock = File::create(cache.join(format!("{name}.lock"))).map_err(told)?;
    lock.lock().map_err(told)?;
    // Written last, so that it vouches for all the rest.
    let stamp = directory.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(directory);
    }
    if directory.exists() {
        fs::remove_dir_all(&directory).map_err(told)?;
    }
    fs::create_dir_all(&directory).map_err(told)?;
    install(&directory)?;
    fs::write(stamp, wanted).map_err(told)?;
    Ok(directory)
}

fn cache_directory() -> Result<PathBuf, String> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    named("BATHYSPHERE_TEST_CACHE")
        .map(PathBuf::from)
        .or_else(|| named("XDG_CACHE_HOME").map(|path| Path::new(&path).join("bathysphere-tests")))
        .or_else(|| named("HOME").map(|path| Path::new(&path).join(".cache/bathysphere-tests")))
        .ok_or_else(|| "there is no cache directory: set BATHYSPHERE_TEST_CACHE".to_owned())
}

pub fn attempt(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn told(error: std::io::Error) -> String {
    error.to_string()
}
