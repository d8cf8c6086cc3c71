//! What README.md promises first: its command, as it stands there, answers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::citations::assert_findings_stand;
use crate::support::home::Home;
use crate::support::program::run;

const PROGRAM: &str = "cargo run --release -- ";

#[test]
fn the_first_command_finds_an_answer_to_each_part() {
    let home = Home::new();
    let arguments = first_command();
    assert_eq!(arguments[0], "research", "{arguments:?}");
    let in_the_clone = |arguments: &[String]| {
        let mut command = home.command(arguments);
        run(command.current_dir(repository())).assert_success()
    };
    let report = in_the_clone(&arguments).stdout;
    let cited = report.lines().any(|line| line.starts_with("- ") && names_a_line(line));
    assert!(cited, "no finding names file and line: {report}");

    let outcome = in_the_clone(&[arguments, vec!["--json".to_owned()]].concat()).json();
    assert_eq!(outcome["status"], "completed", "{outcome:#}");
    assert_findings_stand(&outcome, &repository());
    for part in ["reach", "check"] {
        let answers = outcome["findings"].as_array().into_iter().flatten();
        let spoken_of = answers.filter(|finding| finding["quote"].to_string().contains(part));
        assert!(spoken_of.count() > 0, "nothing on “{part}”: {outcome:#}");
    }
}

/// The arguments of the first command that README.md shows.
fn first_command() -> Vec<String> {
    let readme = fs::read_to_string(repository().join("README.md")).expect("a README");
    let line = readme
        .lines()
        .find_map(|line| line.strip_prefix(PROGRAM))
        .unwrap_or_else(|| panic!("no line of README.md begins with {PROGRAM:?}"));
    // As a shell reads it, as far as README goes: words, and words in quotation marks.
    let mut arguments = Vec::new();
    for (index, piece) in line.split('"').enumerate() {
        if index % 2 == 1 {
            arguments.push(piece.to_owned());
        } else {
            arguments.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    arguments
}

/// Ends with a path and a line: `` `host/src/a.rs:12-14` ``.
fn names_a_line(line: &str) -> bool {
    let place = line.trim_end_matches('`').rsplit('`').next().unwrap_or_default();
    place.rsplit_once(':').is_some_and(|(file, lines)| {
        repository().join(file).is_file() && lines.starts_with(|one: char| one.is_ascii_digit())
    })
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
