//! The hostile plugins, built from `tests/hostile` once a run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const TARGET: &str = "wasm32-wasip2";

/// The component that `hostile/plugins/NAME.rs` becomes.
pub fn hostile(name: &str) -> PathBuf {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    let path = DIRECTORY.get_or_init(build).join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} was not built", path.display());
    path
}

fn build() -> PathBuf {
    ensure_target();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hostile");
    // One directory for all profiles, and not the one that the cargo which runs
    // these tests has locked.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile");
    let mut command = Command::new(env!("CARGO"));
    scrub(&mut command);
    let output = command
        .args(["build", "--locked", "--examples", "--profile", "hostile", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&source)
        .output()
        .expect("cargo starts");
    assert!(
        output.status.success(),
        "the hostile plugins do not build:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    target.join(TARGET).join("hostile/examples")
}

/// Adds the target through rustup where it is missing.
fn ensure_target() {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .expect("rustc starts");
    if Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() {
        return;
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    assert!(
        added.as_ref().is_ok_and(std::process::ExitStatus::success),
        "the target {TARGET} is not installed, and rustup could not add it ({added:?})"
    );
}

/// Keeps what is meant for the host's own build away from the plugins'.
fn scrub(command: &mut Command) {
    const NAMES: [&str; 10] = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
        "CARGO_BUILD_RUSTFLAGS",
        "LLVM_PROFILE_FILE",
        "TARGET",
        "HOST",
    ];
    const PREFIXES: [&str; 5] =
        ["CARGO_PROFILE_", "CARGO_FEATURE_", "CARGO_CFG_", "CARGO_PKG_", "CARGO_LLVM_COV"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if NAMES.contains(&text.as_ref()) || PREFIXES.iter().any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    // Empty rather than absent: it also hides what a configuration file sets.
    command.env("CARGO_ENCODED_RUSTFLAGS", "");
}
