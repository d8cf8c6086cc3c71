//! What Bathysphere takes: time, memory, and how both compare. `cargo bench` runs
//! it; words after `--` choose parts of it (`cargo bench -- server documents`).
//!
//! Every figure is printed beside what it should be. Nothing fails here: a busy
//! machine is no fault of the program.

#![expect(clippy::print_stdout, reason = "printing figures is what it is for")]
#![expect(clippy::disallowed_methods, reason = "the program is measured from outside")]

mod background;
mod calls;
mod corpus;
mod documents;
mod figures;
mod load;
mod reports;
mod server;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod support;

type Part = (&'static str, fn());

const PARTS: [Part; 6] = [
    ("calls", calls::run),
    ("server", server::run),
    ("documents", documents::run),
    ("reports", reports::run),
    ("background", background::run),
    ("load", load::run),
];

fn main() {
    // Cargo passes `--bench`; what remains are names.
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for (name, part) in PARTS {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            println!("\n{name}");
            part();
        }
    }
}
