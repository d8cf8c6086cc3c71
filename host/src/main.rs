//! Turns a command line into an exit code; `bathysphere::cli` does the rest.

use std::process::ExitCode;

fn main() -> ExitCode {
    bathysphere::cli::run(std::env::args_os(), bathysphere::engine::open)
}
