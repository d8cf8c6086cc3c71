//! Findings from source files: code is shown as code, and what a comment says as
//! prose. Text that is neither passes unchanged.

use std::borrow::Cow;

/// File endings, and the name of the language for a code block.
const LANGUAGES: &[(&str, &str)] = &[
    ("bash", "sh"),
    ("c", "c"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("go", "go"),
    ("h", "c"),
    ("hpp", "cpp"),
    ("java", "java"),
    ("js", "js"),
    ("json", "json"),
    ("jsx", "jsx"),
    ("kt", "kotlin"),
    ("lua", "lua"),
    ("php", "php"),
    ("pl", "perl"),
    ("py", "python"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("sh", "sh"),
    ("sql", "sql"),
    ("swift", "swift"),
    ("toml", "toml"),
    ("ts", "ts"),
    ("tsx", "tsx"),
    ("wit", "wit"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
];

/// Longest first: `///` before `//`.
const COMMENT_MARKS: &[&str] = &["///", "//!", "//", "##", "#", "--", "*"];

/// The text as Markdown that shows it for what it is.
pub fn presented<'a>(text: &'a str, url: &str) -> Cow<'a, str> {
    let Some(language) = language(url) else {
        return Cow::Borrowed(text);
    };
    if text
        .lines()
        .any(|line| line.trim_start().starts_with("```"))
    {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if let Some(comment) = uncommented(&lines) {
        return Cow::Owned(comment);
    }
    match lines.as_slice() {
        [line] if line.trim_end().ends_with(['{', '}', ';']) => {
            Cow::Owned(super::markdown::code_span(line))
        }
        [] | [_] => Cow::Borrowed(text),
        _ => Cow::Owned(super::markdown::fence_lines(language, text, "")),
    }
}

fn language(url: &str) -> Option<&'static str> {
    let (_, ending) = url.rsplit_once('.')?;
    LANGUAGES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(ending))
        .map(|(_, language)| *language)
}

/// The words of a comment, where every line is one.
fn uncommented(lines: &[&str]) -> Option<String> {
    let words = |line: &&str| {
        let line = line.trim();
        let mark = COMMENT_MARKS.iter().find(|mark| line.starts_with(**mark))?;
        let rest = &line[mark.len()..];
        // `#[derive]` and `*pointer` are code.
        (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim().to_owned())
    };
    let words: Vec<String> = lines.iter().map(words).collect::<Option<_>>()?;
    (!words.is_empty()).then(|| words.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_code_and_comments_are_prose() {
        let cases = [
            ("a.md", "let x = 1;\nlet y = 2;", "let x = 1;\nlet y = 2;"),
            (
                "a.rs",
                "let x = 1;\nlet y = `2`;",
                "```rust\nlet x = 1;\nlet y = `2`;\n```",
            ),
            (
                "a.rs",
                "/// Adds two numbers,\n/// and no more.",
                "Adds two numbers,\nand no more.",
            ),
            ("a.py", "# The tide\n#\n# rises.", "The tide\n\nrises."),
            (
                "a.rs",
                "#[derive(Debug)]\nstruct A;",
                "```rust\n#[derive(Debug)]\nstruct A;\n```",
            ),
            ("a.rs", "fn main() {", "`fn main() {`"),
            ("a.rs", "Adds two numbers.", "Adds two numbers."),
            ("Makefile", "all:\n\ttrue", "all:\n\ttrue"),
        ];
        for (url, text, expected) in cases {
            assert_eq!(presented(text, url), expected, "{url}: {text:?}");
        }
    }
}
