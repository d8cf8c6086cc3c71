//! Weighs what the index found by what kind of file it stands in. Where prose
//! and code are mixed, a question in plain words wants the manual, not a comment
//! of a test that happens to use the same words. A collection of one kind is left
//! exactly as the index ranked it, and so is a question that names an identifier.

use crate::hits::Found;
use crate::kind::{self, Kind};
use crate::settings::Settings;

/// The index surveys this many documents whatever it is asked for, so asking for
/// as many changes no score.
const SURVEYED: u32 = 100;
/// How many times as many documents are asked for as are wanted.
const BREADTH: u32 = 4;
/// A document's opening begins no later than this; front matter and badges may
/// stand before it.
const OPENING_LINES: u32 = 8;

/// How many documents to ask the index for, so that weighing has a choice.
pub fn breadth(results: u32) -> u32 {
    results.saturating_mul(BREADTH).min(SURVEYED).max(results)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tier {
    Prose,
    Code,
    Test,
}

/// Weighs passages, which come by document, the best document first, and keeps
/// the `results` best documents with at most as many passages as the settings
/// allow. Within a document the best passage comes first.
pub fn weigh(found: Vec<Found>, query: &str, results: usize, settings: &Settings) -> Vec<Found> {
    let mut documents: Vec<Vec<Found>> = Vec::new();
    for passage in found {
        match documents.last_mut() {
            Some(document)
                if document[0].root == passage.root && document[0].path == passage.path =>
            {
                document.push(passage);
            }
            _ => documents.push(vec![passage]),
        }
    }
    let code = documents.iter().filter(|document| is_code(&document[0].path, settings)).count();
    if code > 0 && code < documents.len() && !names_identifier(query) {
        let subject = subject(query);
        let asked: Vec<String> = words(query).collect();
        for document in &mut documents {
            let tier = tier(&document[0].path, settings);
            let weight = match tier {
                Tier::Prose => 1.0,
                Tier::Code => settings.code_weight,
                Tier::Test => settings.test_weight,
            };
            let whole = document[0].score;
            for passage in document.iter_mut() {
                if !is_code(&passage.path, settings)
                    && (opens(passage, &subject) || headed(passage, &asked))
                {
                    // It may be long and name its subject once; what it stands
                    // under speaks for it.
                    passage.score = passage.score.max(whole) * settings.heading_bonus;
                }
                passage.score *= weight;
                passage.of_many = tier == Tier::Prose;
            }
            document.sort_by(|one, other| other.score.total_cmp(&one.score));
        }
        documents.sort_by(|one, other| other[0].score.total_cmp(&one[0].score));
    }
    documents.truncate(results);
    for document in &mut documents {
        document.truncate(settings.passages_per_document as usize);
    }
    documents.into_iter().flatten().collect()
}

fn is_code(path: &str, settings: &Settings) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    kind::of(name, &settings.extensions) == Some(Kind::Code)
}

fn tier(path: &str, settings: &Settings) -> Tier {
    if is_test(path) {
        Tier::Test
    } else if is_code(path, settings) {
        Tier::Code
    } else {
        Tier::Prose
    }
}

/// Tests, benchmarks and what they read, by the usual names.
fn is_test(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (directories, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let in_tests = directories.split('/').any(|directory| {
        matches!(
            directory,
            "test"
                | "tests"
                | "testing"
                | "testdata"
                | "__tests__"
                | "spec"
                | "specs"
                | "e2e"
                | "bench"
                | "benches"
                | "benchmarks"
                | "fixtures"
                | "snapshots"
                | "__snapshots__"
        )
    });
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    in_tests
        || matches!(stem, "test" | "tests" | "conftest")
        || stem.starts_with("test_")
        || ["_test", "_tests", "_spec", "-test", ".test", ".spec"]
            .iter()
            .any(|end| stem.ends_with(end))
        || name.rsplit_once('.').is_some_and(|(_, extension)| extension == "snap")
}

/// Whether the query speaks of code by name: `snake_case`, `CamelCase`, `a::b`,
/// `call()`, a file's name, or the keyword of a declaration.
fn names_identifier(query: &str) -> bool {
    query.split_whitespace().any(|word| {
        let word = word.trim_matches(|character: char| {
            !character.is_alphanumeric() && !matches!(character, '_' | '`' | '(' | ')')
        });
        let keyword = matches!(
            word.to_ascii_lowercase().as_str(),
            "struct"
                | "fn"
                | "enum"
                | "trait"
                | "impl"
                | "macro"
                | "function"
                | "method"
                | "typedef"
        );
        let bytes = word.as_bytes();
        let camel = bytes
            .windows(2)
            .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        let snake = bytes.windows(3).any(|three| {
            three[1] == b'_' && three[0].is_ascii_alphanumeric() && three[2].is_ascii_alphanumeric()
        });
        let file = word
            .rsplit_once('.')
            .is_some_and(|(stem, _)| !stem.is_empty() && kind::of(word, &[]).is_some());
        keyword
            || camel
            || snake
            || file
            || word.contains("::")
            || word.ends_with("()")
            || word.contains('`')
    })
}

/// What a "what is X" asks about, in lower case; empty for any other question.
fn subject(query: &str) -> Vec<String> {
    let lower = query.to_lowercase();
    let mut words = lower
        .split(|character: char| !character.is_alphanumeric() && character != '\'')
        .filter(|word| !word.is_empty());
    let asks = match (words.next(), words.next()) {
        (Some("what's"), Some(next)) => Some(next),
        (Some("what" | "who"), Some("is" | "are" | "does")) => None,
        _ => return Vec::new(),
    };
    asks.into_iter()
        .chain(words)
        .filter(|word| {
            !matches!(*word, "a" | "an" | "the" | "this" | "do" | "for" | "about" | "exactly")
        })
        .map(str::to_owned)
        .collect()
}

/// The telling words of a text in lower case, without the `s` of a plural.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !SMALL_WORDS.contains(word) && !word.is_empty())
        .map(|word| word.strip_suffix('s').unwrap_or(word).to_owned())
        .collect::<Vec<_>>()
        .into_iter()
}

const SMALL_WORDS: &[&str] = &[
    "a", "an", "and", "are", "at", "can", "do", "does", "for", "from", "how", "i", "in", "is",
    "it", "my", "of", "on", "or", "our", "that", "the", "this", "to", "we", "what", "when",
    "where", "which", "who", "why", "with", "you", "your",
];

/// Whether the heading of the passage's own section asks for nothing that the
/// question does not.
fn headed(passage: &Found, asked: &[String]) -> bool {
    let heading = passage.heading.rsplit(" › ").next().unwrap_or("");
    let mut any = false;
    let all = words(heading).all(|word| {
        any = true;
        asked.contains(&word)
    });
    all && any && heading != passage.title
}

/// Whether a passage opens a document whose title names the subject.
fn opens(passage: &Found, subject: &[String]) -> bool {
    let title = passage.title.to_lowercase();
    let titled = |word: &String| {
        title.split(|character: char| !character.is_alphanumeric()).any(|one| one == word)
    };
    passage.start_line <= OPENING_LINES && !subject.is_empty() && subject.iter().all(titled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, title: &str, start_line: u32, score: f64) -> Found {
        Found {
            root: 0,
            path: path.to_owned(),
            title: title.to_owned(),
            heading: String::new(),
            start_line,
            end_line: start_line + 1,
            text: format!("{path}:{start_line}"),
            score,
            of_many: false,
        }
    }

    fn order(found: Vec<Found>, query: &str, results: usize) -> Vec<String> {
        let weighed = weigh(found, query, results, &Settings::default());
        weighed.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn plain_words_find_prose_before_code_and_code_before_tests() {
        let all = vec![
            found("tests/run.rs", "tests/run.rs", 1, 6.0),
            found("src/run.rs", "src/run.rs", 1, 5.5),
            found("README.md", "Sphere", 20, 5.0),
        ];
        let sorted = ["README.md:20", "src/run.rs:1", "tests/run.rs:1"];
        assert_eq!(order(all.clone(), "How do I run the tests?", 9), sorted);
        assert_eq!(order(all.clone(), "How do I run the tests?", 1), sorted[..1]);
        let as_ranked = ["tests/run.rs:1", "src/run.rs:1", "README.md:20"];
        for query in ["max_cost", "Gates::open", "what is DocumentGate", "run.rs", "struct Run"] {
            assert_eq!(order(all.clone(), query, 9), as_ranked, "{query}");
        }
    }

    #[test]
    fn a_collection_of_one_kind_stays_as_the_index_ranked_it() {
        let prose = vec![
            found("tests/1.txt", "Tides", 1, 3.0),
            found("2.txt", "Sphere", 40, 2.0),
            found("2.txt", "Sphere", 1, 1.0),
        ];
        assert_eq!(weigh(prose.clone(), "what is a sphere", 9, &Settings::default()), prose);
        let code = vec![found("tests/a.rs", "a", 1, 3.0), found("src/a.rs", "a", 1, 2.0)];
        assert_eq!(weigh(code.clone(), "what is a sphere", 9, &Settings::default()), code);
    }

    #[test]
    fn what_is_finds_the_opening_under_the_title() {
        let all = vec![
            found("src/main.rs", "src/main.rs", 1, 5.0),
            found("README.md", "Sphere", 50, 4.0),
            found("README.md", "Sphere", 3, 1.0),
            found("CHANGES.md", "Changes", 1, 4.5),
        ];
        assert_eq!(order(all.clone(), "What is Sphere?", 9)[0], "README.md:3");
        assert_eq!(order(all, "Where does the Sphere dive?", 9)[0], "CHANGES.md:1");
    }

    #[test]
    fn a_section_is_found_by_its_heading() {
        let mut all = vec![
            found("README.md", "Sphere", 50, 4.0),
            found("README.md", "Sphere", 90, 1.0),
            found("src/main.rs", "src/main.rs", 1, 5.0),
        ];
        all[1].heading = "Sphere › Your own plugins".to_owned();
        assert_eq!(order(all.clone(), "How do I write my own plugin?", 9)[0], "README.md:90");
        assert_eq!(order(all, "How do I write a plugin?", 9)[0], "README.md:50");
    }

    #[test]
    fn only_so_many_documents_and_passages_are_kept() {
        let all: Vec<Found> = (1..=5).map(|line| found("a.md", "a", line, 1.0)).collect();
        assert_eq!(order(all, "tides", 9), ["a.md:1", "a.md:2", "a.md:3"]);
        assert_eq!((breadth(12), breadth(60), breadth(400)), (48, 100, 400));
    }

    #[test]
    fn tests_are_known_by_their_names() {
        for path in [
            "tests/a.rs",
            "host/src/tests.rs",
            "a/test_x.py",
            "x_test.go",
            "a/b.snap",
            "src/a.spec.ts",
            "x/benches/b.rs",
        ] {
            assert!(is_test(path), "{path}");
        }
        for path in ["src/attest.rs", "docs/testing.md", "contest/a.md", "src/latest.rs"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
