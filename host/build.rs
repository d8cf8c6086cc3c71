//! Builds the built-in plugins for WebAssembly and hands their bytes to the host,
//! so that one binary is the whole product.
//!
//! They are built by a cargo of their own in `<target>/plugins`, one directory for
//! all profiles. `BATHYSPHERE_PREBUILT_PLUGINS` names a directory of components to
//! embed instead, for packagers who build them elsewhere.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script starts cargo, and looks through its own environment"
)]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-wasip2";

/// Every crate under `plugins/` that is part of the product.
const PLUGINS: &[&str] = &[
    "strategy-adaptive",
    "extractor-json",
    "estimator-history",
    "search-documents",
    "agent-extractive",
    "agent-gemini-cli",
    "research-gemini",
];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    for watched in ["wit", "plugins", "Cargo.lock", "rust-toolchain.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    println!("cargo::rerun-if-env-changed=BATHYSPHERE_PREBUILT_PLUGINS");

    let components = match env::var_os("BATHYSPHERE_PREBUILT_PLUGINS") {
        Some(directory) => PathBuf::from(directory),
        None => build(&root, &out),
    };
    embed(&components, &out);
}

/// Runs cargo for the guests and returns the directory that holds them.
fn build(root: &Path, out: &Path) -> PathBuf {
    ensure_target();
    let target_directory = shared_target(out).join("plugins");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap());
    cargo
        .current_dir(root)
        .args(["build", "--locked", "--profile", "plugin", "--target", TARGET])
        .arg("--target-dir")
        .arg(&target_directory);
    for plugin in PLUGINS {
        cargo.args(["--package", plugin]);
    }
    // What was meant for the host must not reach the guests.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let host_only = matches!(
            name.as_str(),
            "RUSTFLAGS"
                | "CARGO_ENCODED_RUSTFLAGS"
                | "RUSTC_WRAPPER"
                | "RUSTC_WORKSPACE_WRAPPER"
                | "CARGO_TARGET_DIR"
                | "CARGO_BUILD_TARGET"
                | "CARGO_BUILD_TARGET_DIR"
                | "CARGO_BUILD_RUSTFLAGS"
                | "TARGET"
                | "HOST"
                | "LLVM_PROFILE_FILE"
        ) || ["CARGO_PROFILE_", "CARGO_FEATURE_", "CARGO_CFG_", "CARGO_LLVM_COV"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        if host_only {
            cargo.env_remove(&name);
        }
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", "");
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the built-in plugins did not build; the messages above say why");
    target_directory.join(TARGET).join("plugin")
}

/// The target directory above `<profile>/build/<package>-<hash>/out`, so that
/// every profile shares the guests.
fn shared_target(out: &Path) -> PathBuf {
    out.ancestors().nth(4).expect("OUT_DIR lies inside a target directory").to_owned()
}

/// The standard library for the guests: looked for, else added through rustup,
/// because a machine may be set up not to install toolchain parts by itself.
fn ensure_target() {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let installed = || {
        let output =
            Command::new(&rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
        output.is_ok_and(|output| {
            output.status.success()
                && Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir()
        })
    };
    if installed() {
        return;
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]);
    if let Ok(toolchain) = env::var("RUSTUP_TOOLCHAIN") {
        rustup.args(["--toolchain", &toolchain]);
    }
    let added = rustup.status().is_ok_and(|status| status.success());
    assert!(
        added && installed(),
        "the plugins need Rust's {TARGET} target: run `rustup target add {TARGET}`, or install it \
         as your distribution offers it"
    );
}

/// Writes the table that `plugins::builtin` includes.
fn embed(components: &Path, out: &Path) {
    let mut table = String::from("&[\n");
    for plugin in PLUGINS {
        let file = components.join(format!("{}.wasm", plugin.replace('-', "_")));
        let bytes = fs::read(&file)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
        // A copy in OUT_DIR keeps the binary honest when the guests are rebuilt
        // for another profile meanwhile.
        let copy = out.join(format!("{plugin}.wasm"));
        fs::write(&copy, bytes)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", copy.display()));
        let _ =
            writeln!(table, "    ({plugin:?}, include_bytes!({:?})),", copy.display().to_string());
    }
    table.push(']');
    fs::write(out.join("builtin.rs"), table).expect("OUT_DIR can be written");
}
