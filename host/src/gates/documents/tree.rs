//! A granted directory: listing and reading below it, and nothing else.

use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use crate::config::resolved::DirectoryGrant;
use crate::store::documents::Stamp;

use super::super::{GateError, GateErrorKind};

/// A change this recent may be followed by another that leaves the same stamp,
/// because file systems count time in steps.
const SETTLED_NANOSECONDS: i64 = 50_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Directory,
}

pub(super) struct Listed {
    pub(super) name: String,
    pub(super) kind: EntryKind,
    pub(super) stamp: Stamp,
}

pub(super) struct Tree {
    directory: Dir,
    prefix: String,
}

impl Tree {
    pub(super) fn open(grant: &DirectoryGrant) -> Result<Self, GateError> {
        let directory = Dir::open_ambient_dir(&grant.path, ambient_authority())
            .map_err(|error| unopened(grant, &error))?;
        Ok(Self { directory, prefix: grant.prefix.clone() })
    }

    /// What is in a directory, by name. Left out: names that are not UTF-8, what
    /// is neither file nor directory, links that lead out of the root, and links
    /// to directories, which would be walked twice or for ever.
    pub(super) fn list(&self, path: &str) -> Result<Vec<Listed>, GateError> {
        check_directory(path)?;
        let directory = if path.is_empty() {
            self.directory.try_clone()
        } else {
            self.directory.open_dir(path)
        };
        let directory = directory.map_err(|error| self.failed("listed", path, &error))?;
        let entries = directory.entries().map_err(|error| self.failed("listed", path, &error))?;
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.failed("listed", path, &error))?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let linked = kind.is_symlink();
            if !(linked || kind.is_file() || kind.is_dir()) {
                continue;
            }
            if kind.is_dir() {
                listed.push(Listed { name, kind: EntryKind::Directory, stamp: Stamp::default() });
                continue;
            }
            // From the root, so that a link may lead anywhere below it.
            let metadata = if linked {
                self.directory.metadata(Path::new(path).join(&name))
            } else {
                entry.metadata()
            };
            // A file that went away meanwhile, or a link that leads out.
            let Ok(metadata) = metadata else { continue };
            if metadata.is_file() {
                listed.push(Listed { name, kind: EntryKind::File, stamp: stamp(&metadata) });
            }
        }
        listed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(listed)
    }

    /// A file's bytes, and what it looked like before they were read.
    pub(super) fn read(&self, path: &str, max_bytes: u64) -> Result<(Vec<u8>, Stamp), GateError> {
        check(path)?;
        let mut options = OpenOptions::new();
        options.read(true);
        #[cfg(unix)]
        {
            use cap_std::fs::OpenOptionsExt;
            // Opening a named pipe would wait for someone to write into it.
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        }
        let failed = |error: std::io::Error| self.failed("read", path, &error);
        let file = self.directory.open_with(path, &options).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(GateError::refused(format!("{}{path} is not a file", self.prefix)));
        }
        let too_large = || {
            let message =
                format!("{}{path} has more than the {max_bytes} bytes asked for", self.prefix);
            GateError::other("too-large", message)
        };
        if metadata.len() > max_bytes {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
        // A file may grow while it is read.
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > max_bytes {
            return Err(too_large());
        }
        Ok((bytes, stamp(&metadata)))
    }

    fn failed(&self, what: &str, path: &str, error: &std::io::Error) -> GateError {
        let shown = format!("{}{path}", self.prefix);
        let shown = if shown.is_empty() { "." } else { &shown };
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => GateErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => GateErrorKind::Refused,
            std::io::ErrorKind::NotADirectory | std::io::ErrorKind::IsADirectory => {
                GateErrorKind::InvalidInput
            }
            _ => GateErrorKind::Unavailable,
        };
        GateError::new(kind, format!("{shown} cannot be {what}: {error}"))
    }
}

pub(super) fn unopened(grant: &DirectoryGrant, error: &std::io::Error) -> GateError {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => GateErrorKind::NotFound,
        std::io::ErrorKind::PermissionDenied => GateErrorKind::Refused,
        _ => GateErrorKind::Unavailable,
    };
    GateError::new(
        kind,
        format!("the granted directory {} cannot be opened: {error}", grant.path.display()),
    )
    .with_hint("check the directories granted in plugins.toml and those named with --docs")
}

/// A path names a file below the root, in one way only, so that the index knows
/// each file by one name.
pub(super) fn check(path: &str) -> Result<(), GateError> {
    let plain = |part: &str| {
        let foreign = cfg!(windows) && part.contains(['\\', ':']);
        !matches!(part, "" | "." | "..") && !part.contains('\0') && !foreign
    };
    if path.split('/').all(plain) {
        return Ok(());
    }
    Err(GateError::refused(format!("the path {path:?} does not name a file below its root"))
        .with_hint("a path is relative to the root, with `/` between names, and without `.`, `..` or a `/` at either end"))
}

fn check_directory(path: &str) -> Result<(), GateError> {
    if path.is_empty() { Ok(()) } else { check(path) }
}

fn stamp(metadata: &Metadata) -> Stamp {
    let modified = metadata.modified().ok().map_or(0, |time| nanoseconds(time.into_std()));
    #[cfg(unix)]
    let changed = {
        use cap_std::fs::MetadataExt;
        metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = 0;
    let now = nanoseconds(SystemTime::now());
    if now.saturating_sub(modified.max(changed)).abs() < SETTLED_NANOSECONDS {
        return Stamp::unsettled(metadata.len());
    }
    Stamp { size: metadata.len(), modified, changed }
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, i64::wrapping_neg)
        }
    }
}
