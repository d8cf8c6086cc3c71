//! One new file in a directory: whole or not at all, and never in place of another.
//! It is written beside its place, synced, and only then given its name, which fails
//! where somebody else took the name first.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

/// Files of one second, one task and one prefix.
const MOST: u32 = 1000;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("there is no directory to save the report in: its name is empty")]
    NoName,
    #[error("the directory `{0}` cannot be: its name holds a NUL character")]
    Nul(String),
    #[error("cannot save the report in {}: it is not a directory", .0.display())]
    NotDirectory(PathBuf),
    #[error("cannot save the report in {}: it is a link that leads out of {}", .path.display(), .directory.display())]
    LeadsOut { path: PathBuf, directory: PathBuf },
    #[error("cannot save the report in {}: permission denied", .0.display())]
    Denied(PathBuf),
    #[error("cannot save the report in {}: it can only be read", .0.display())]
    ReadOnly(PathBuf),
    #[error(
        "cannot save the report as {}: there is not enough room; it needs {}{}",
        .path.display(), kilobytes(*.needed),
        .available.map(|free| format!(", and {} are free", kilobytes(free))).unwrap_or_default()
    )]
    NoRoom { path: PathBuf, needed: u64, available: Option<u64> },
    #[error("cannot save the report as {}: that name and all like it are taken", .0.display())]
    Taken(PathBuf),
    #[error("cannot save the report in {}: {source}", .path.display())]
    Other { path: PathBuf, source: io::Error },
}

impl WriteError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoName | Self::Nul(_) | Self::NotDirectory(_) | Self::LeadsOut { .. } => {
                "INVALID_INPUT"
            }
            Self::NoRoom { .. } => "DISK_FULL",
            Self::Denied(_) | Self::ReadOnly(_) | Self::Taken(_) | Self::Other { .. } => {
                "SAVE_FAILED"
            }
        }
    }

    pub fn hint(&self) -> String {
        match self {
            Self::NoName | Self::Nul(_) => {
                "name a directory, such as ./research_reports; it is made where it is missing"
            }
            Self::NotDirectory(_) => "name a directory, or one that is yet to be made",
            Self::LeadsOut { .. } => "remove the link, or save in the directory it leads to",
            Self::Denied(_) | Self::ReadOnly(_) => "name a directory that you may write to",
            Self::NoRoom { .. } => "make room there, or name a directory on another disk",
            Self::Taken(_) => "choose another prefix",
            Self::Other { .. } => "name another directory, or mend this one",
        }
        .to_owned()
    }
}

/// `45.2 KB`.
fn kilobytes(bytes: u64) -> String {
    format!("{:.1} KB", bytes as f64 / 1024.0)
}

/// Writes `{directory}/{month}/{stem}.{extension}`, or with a number behind the stem
/// where that is taken, and returns its absolute path.
pub fn write_new(
    directory: &Path,
    month: &str,
    stem: &str,
    extension: &str,
    contents: &[u8],
) -> Result<PathBuf, WriteError> {
    if directory.as_os_str().is_empty() {
        return Err(WriteError::NoName);
    }
    if directory.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(WriteError::Nul(directory.to_string_lossy().replace('\0', "␀")));
    }
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let place = absolute.join(month);
    let wanted = place.join(format!("{stem}.{extension}"));
    let needed = contents.len() as u64;
    let failed = |path: &Path| {
        let (path, wanted, absolute) = (path.to_owned(), wanted.clone(), absolute.clone());
        move |error| described(error, &path, &wanted, &absolute, needed)
    };
    fs::create_dir_all(&absolute).map_err(failed(&absolute))?;
    let root = Dir::open_ambient_dir(&absolute, ambient_authority()).map_err(failed(&absolute))?;
    let month = opened(&root, month, &place, &absolute, failed(&place))?;

    let beside = format!(".{}.part", uuid::Uuid::new_v4().simple());
    let named = write_beside(&month, &beside, contents)
        .and_then(|()| name(&month, &beside, stem, extension));
    // Gone already where it was renamed; best effort where something failed.
    let _ = month.remove_file(&beside);
    let Some(file_name) = named.map_err(failed(&place))? else {
        return Err(WriteError::Taken(wanted));
    };
    sync(&month).and_then(|()| sync(&root)).map_err(failed(&place))?;
    Ok(place.join(file_name))
}

/// The month's directory inside `root`, made where it is missing. A link is followed
/// only as long as it stays inside.
fn opened(
    root: &Dir,
    month: &str,
    place: &Path,
    directory: &Path,
    failed: impl Fn(io::Error) -> WriteError,
) -> Result<Dir, WriteError> {
    match root.create_dir(month) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    root.open_dir(month).map_err(|error| {
        let is_link = root.symlink_metadata(month).is_ok_and(|found| found.is_symlink());
        if is_link {
            WriteError::LeadsOut { path: place.to_owned(), directory: directory.to_owned() }
        } else {
            failed(error)
        }
    })
}

fn write_beside(directory: &Dir, name: &str, contents: &[u8]) -> io::Result<()> {
    let mut file = directory.open_with(name, OpenOptions::new().write(true).create_new(true))?;
    file.write_all(contents)?;
    file.sync_all()
}

/// Gives the file the first name that is free; none where all are taken.
fn name(directory: &Dir, beside: &str, stem: &str, extension: &str) -> io::Result<Option<String>> {
    for count in 1..=MOST {
        let name = match count {
            1 => format!("{stem}.{extension}"),
            _ => format!("{stem}_{count}.{extension}"),
        };
        // A second name for the same file: it fails where the name is taken.
        match directory.hard_link(beside, directory, &name) {
            Ok(()) => return Ok(Some(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            // Not every file system has it.
            Err(_) => {}
        }
        match directory.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            // The empty file is ours, so nothing is lost when it is replaced.
            Ok(_) => {
                let renamed = directory.rename(beside, directory, &name);
                if renamed.is_err() {
                    let _ = directory.remove_file(&name);
                }
                return renamed.map(|()| Some(name));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// So that the name outlives a loss of power.
#[cfg(unix)]
fn sync(directory: &Dir) -> io::Result<()> {
    match directory.open(".")?.sync_all() {
        // Some file systems cannot sync a directory, and need not.
        Err(error)
            if !matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn sync(_: &Dir) -> io::Result<()> {
    Ok(())
}

fn described(
    error: io::Error,
    path: &Path,
    wanted: &Path,
    directory: &Path,
    needed: u64,
) -> WriteError {
    use io::ErrorKind::{
        AlreadyExists, FileTooLarge, NotADirectory, PermissionDenied, QuotaExceeded,
        ReadOnlyFilesystem, StorageFull,
    };
    let (path, wanted) = (path.to_owned(), wanted.to_owned());
    match error.kind() {
        // A file in the place of a directory, here or above.
        AlreadyExists | NotADirectory => WriteError::NotDirectory(path),
        PermissionDenied => WriteError::Denied(path),
        ReadOnlyFilesystem => WriteError::ReadOnly(path),
        StorageFull | QuotaExceeded | FileTooLarge => {
            let available = available(directory).filter(|free| *free < needed);
            WriteError::NoRoom { path: wanted, needed, available }
        }
        _ => WriteError::Other { path, source: error },
    }
}

#[cfg(unix)]
fn available(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn available(_: &Path) -> Option<u64> {
    None
}
