//! Compiled plugins on disk, so that only the first start pays for compiling.
//!
//! An entry is machine code that will be run, so it is trusted no further than
//! the directory it lies in: private to the user, written whole or not at all,
//! and checked against its own digest before use. Anything amiss is a miss.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

const DIGEST_BYTES: usize = 32;

pub struct CompiledCode {
    directory: PathBuf,
}

impl CompiledCode {
    /// Entries go into this directory, which is made when first written to.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub fn load(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let path = self.path(engine, digest);
        if !is_private(&fs::symlink_metadata(&self.directory).ok()?) {
            return None;
        }
        let bytes = read_private(&path)?;
        let code = checked(&bytes)?;
        #[expect(unsafe_code, reason = "there is no safe way to load compiled code")]
        // SAFETY: the bytes are what `save` wrote: the digest says that they are
        // whole, and the directory that nobody but this user could write them.
        // The engine refuses code of another version or other settings.
        let loaded = unsafe { Component::deserialize(engine, code) };
        match loaded {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::debug!("compiled code in {} is of no use: {error}", path.display());
                None
            }
        }
    }

    /// Keeps compiled code; a failure costs only time at the next start.
    pub fn save(&self, engine: &Engine, digest: &str, component: &Component) {
        let result = component.serialize().map_err(|error| error.to_string()).and_then(|code| {
            self.write(&self.path(engine, digest), &code).map_err(|error| error.to_string())
        });
        if let Err(error) = result {
            tracing::warn!("compiled code cannot be kept in {}: {error}", self.directory.display());
        }
    }

    fn write(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        make_private(&self.directory)?;
        if !is_private(&fs::symlink_metadata(&self.directory)?) {
            // Whoever could write there may have left something; making it private
            // now would lend it our trust.
            return Err(std::io::Error::other(
                "others may write to the directory; remove it, and it is made anew",
            ));
        }
        // Several processes may write the same entry: each its own file, renamed
        // into place whole.
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = (|| {
            let mut file = fs::File::create(&temporary)?;
            file.write_all(&Sha256::digest(code))?;
            file.write_all(code)?;
            fs::rename(&temporary, path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn path(&self, engine: &Engine, digest: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let short = &digest[..digest.len().min(32)];
        self.directory.join(format!("{short}-{:016x}.compiled", hasher.finish()))
    }
}

/// The code of an entry whose digest is right.
fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (digest, code) = bytes.split_at_checked(DIGEST_BYTES)?;
    (Sha256::digest(code).as_slice() == digest).then_some(code)
}

/// An entry that nobody else could have written.
fn read_private(path: &Path) -> Option<Vec<u8>> {
    let mut file = fs::File::open(path).ok()?;
    if !is_private(&file.metadata().ok()?) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Makes the directory, for this user alone. One that exists is left as it is.
fn make_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(directory)
}

/// Nobody but its owner, who is this user, may write there.
#[cfg(unix)]
fn is_private(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    !found.is_symlink()
        && found.mode() & 0o022 == 0
        && found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_private(found: &fs::Metadata) -> bool {
    !found.is_symlink()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty component: the preamble alone.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn saved() -> (tempfile::TempDir, CompiledCode, Engine, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let cache = CompiledCode::new(home.path().join("compiled"));
        let engine = Engine::default();
        cache.save(&engine, "abc", &Component::from_binary(&engine, EMPTY).unwrap());
        let path = cache.path(&engine, "abc");
        (home, cache, engine, path)
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let (_home, cache, engine, _) = saved();
        assert!(cache.load(&engine, "abc").is_some());
        assert!(cache.load(&engine, "abd").is_none());
    }

    #[test]
    fn a_changed_byte_is_a_miss() {
        let (_home, cache, engine, path) = saved();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(cache.load(&engine, "abc").is_none());
    }

    #[test]
    fn a_cut_entry_is_a_miss() {
        let (_home, cache, engine, path) = saved();
        let bytes = fs::read(&path).unwrap();
        for length in [0, 10, DIGEST_BYTES, bytes.len() - 1] {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(cache.load(&engine, "abc").is_none(), "{length} bytes");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_others_may_have_written_is_neither_used_nor_adopted() {
        use std::os::unix::fs::PermissionsExt;
        let (_home, cache, engine, path) = saved();
        let open_to_all = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&cache.directory, open_to_all.clone()).unwrap();
        assert!(cache.load(&engine, "abc").is_none());
        cache.save(&engine, "new", &Component::from_binary(&engine, EMPTY).unwrap());
        assert!(!cache.path(&engine, "new").exists());
        assert!(cache.load(&engine, "abc").is_none(), "saving must not make it trusted");

        fs::set_permissions(&cache.directory, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(cache.load(&engine, "abc").is_some());
        fs::set_permissions(&path, open_to_all).unwrap();
        assert!(cache.load(&engine, "abc").is_none());
    }
}
