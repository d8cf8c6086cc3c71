//! Checking that what is quoted stands where the citation says.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Checks every finding of an outcome (as `--json` prints it) against the files,
/// whose paths are relative to `base` where they are relative.
#[track_caller]
pub fn assert_findings_stand(outcome: &Value, base: &Path) {
    let findings = outcome["findings"].as_array().expect("findings are a list");
    assert!(!findings.is_empty(), "no finding at all: {outcome:#}");
    for finding in findings {
        let quote = finding["quote"].as_str().expect("a finding quotes its source");
        let source = &finding["source"];
        let file = source["url"].as_str().expect("a source has an address");
        let first = line(&source["location"]["start_line"], finding);
        let last = line(&source["location"]["end_line"], finding);
        assert_stands(&base.join(file), first, last, quote);
    }
}

/// The words of `quote` stand, in this order and without a gap, in these lines.
#[track_caller]
pub fn assert_stands(file: &Path, first: usize, last: usize, quote: &str) {
    let text = fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("cited file {}: {error}", file.display()));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        1 <= first && first <= last && last <= lines.len(),
        "{}: lines {first} to {last} of {}",
        file.display(),
        lines.len()
    );
    let cited = lines[first - 1..last].join("\n");
    let cited = if file.extension().is_some_and(|name| name == "html") {
        strip_tags(&cited)
    } else {
        cited
    };
    let (wanted, held) = (words(quote), words(&cited));
    assert!(!wanted.is_empty(), "an empty quotation from {}", file.display());
    assert!(
        held.windows(wanted.len()).any(|window| window == wanted),
        "{}:{first}-{last} does not hold the quoted words\n--- quoted\n{quote}\n--- cited\n{cited}",
        file.display()
    );
}

#[track_caller]
fn line(value: &Value, finding: &Value) -> usize {
    let number = value.as_u64().unwrap_or_else(|| panic!("a finding without a line: {finding:#}"));
    usize::try_from(number).expect("a line number")
}

/// Markup between words is no part of what is quoted.
fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn strip_tags(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for character in text.replace("&amp;", "&").chars() {
        match character {
            '<' => inside = true,
            '>' if inside => {
                inside = false;
                plain.push(' ');
            }
            _ if !inside => plain.push(character),
            _ => {}
        }
    }
    plain
}
