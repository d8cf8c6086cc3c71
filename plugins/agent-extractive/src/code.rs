//! Cuts source and configuration files into blocks: comments are read as prose,
//! declarations stand for themselves, the rest is code.

use std::ops::Range;

use crate::blocks::{Block, Kind, prose, trim};

/// How a language marks its comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `//`, `///`, `/* … */`
    Slashes,
    /// `#`, and `"""` for documentation
    Hashes,
    /// `--`
    Dashes,
    /// `#` or `;`, and every other line is a setting
    Settings,
}

/// How the file that `url` names is written; none for prose.
pub fn style(url: &str) -> Option<Style> {
    let name = url.rsplit(['/', '\\']).next().unwrap_or(url);
    let name = name.split(['?', '#']).next().unwrap_or(name);
    let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension);
    let style =
        match extension.to_ascii_lowercase().as_str() {
            "rs" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "java" | "js" | "mjs"
            | "cjs" | "ts" | "tsx" | "jsx" | "go" | "swift" | "kt" | "kts" | "scala" | "cs"
            | "php" | "wit" | "proto" | "zig" | "dart" | "css" | "scss" | "m" | "mm" | "groovy"
            | "gradle" => Style::Slashes,
            "py" | "pyi" | "sh" | "bash" | "zsh" | "fish" | "rb" | "pl" | "pm" | "r" | "jl"
            | "ex" | "exs" | "nix" | "cmake" | "ps1" | "mk" | "makefile" | "dockerfile"
            | "justfile" => Style::Hashes,
            "sql" | "lua" | "hs" | "elm" | "adb" | "ads" => Style::Dashes,
            "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "env" | "properties" | "json"
            | "jsonc" | "lock" | "gitignore" => Style::Settings,
            _ => return None,
        };
    Some(style)
}

/// Cuts the lines of a source file up.
pub fn split(text: &str, lines: &[Range<usize>], style: Style, out: &mut Vec<Block>) {
    let mut comment: Vec<Range<usize>> = Vec::new();
    let mut code: Vec<Range<usize>> = Vec::new();
    let mut inside: Option<&str> = None;
    for line in lines {
        let range = trim(text, line.clone());
        let content = &text[range.clone()];
        if let Some(end) = inside {
            // Within a comment that runs until its end mark.
            let body = content.strip_suffix(end);
            if content.contains(end) {
                inside = None;
            }
            comment.push(body_of_comment(
                text,
                range.start..range.start + body.unwrap_or(content).len(),
            ));
            continue;
        }
        if let Some((mark, end)) = opening(content, style) {
            flush_code(text, &mut code, style, out);
            let mut inner = range.start + mark..range.end;
            if let Some(close) = text[inner.clone()].find(end) {
                inner.end = inner.start + close;
            } else {
                inside = Some(end);
            }
            comment.push(trim(text, inner));
            continue;
        }
        if let Some(mark) = line_mark(content, style) {
            flush_code(text, &mut code, style, out);
            // One space after the mark belongs to it; more is indentation.
            let start = range.start + mark;
            let space = usize::from(text[start..line.end].starts_with(' '));
            comment.push(start + space..range.end.max(start + space));
            continue;
        }
        if !comment.is_empty() {
            prose(text, &std::mem::take(&mut comment), true, out);
        }
        if content.is_empty() {
            flush_code(text, &mut code, style, out);
        } else {
            code.push(line.clone());
        }
    }
    if !comment.is_empty() {
        prose(text, &comment, true, out);
    }
    flush_code(text, &mut code, style, out);
}

/// A comment that runs over lines: where its words start, and what ends it.
fn opening(content: &str, style: Style) -> Option<(usize, &'static str)> {
    let (marks, end): (&[&str], _) = match style {
        Style::Slashes => (&["/**", "/*!", "/*"], "*/"),
        Style::Hashes => (&["\"\"\"", "r\"\"\"", "'''"], "\"\"\""),
        Style::Dashes => (&["--[[", "{-"], if content.starts_with("{-") { "-}" } else { "]]" }),
        Style::Settings => return None,
    };
    let mark = marks.iter().find(|mark| content.starts_with(**mark))?;
    Some((mark.len(), if *mark == "'''" { "'''" } else { end }))
}

fn line_mark(content: &str, style: Style) -> Option<usize> {
    let marks: &[&str] = match style {
        Style::Slashes => &["///", "//!", "//"],
        Style::Hashes => &["##", "#"],
        Style::Dashes => &["---", "--"],
        Style::Settings => &["##", "#", ";", "//"],
    };
    if content.starts_with("#!") {
        return Some(content.len());
    }
    marks.iter().find(|mark| content.starts_with(**mark)).map(|mark| mark.len())
}

/// Drops the `*` that many write before each line of a long comment.
fn body_of_comment(text: &str, range: Range<usize>) -> Range<usize> {
    let content = &text[range.clone()];
    let body = content.strip_prefix('*').unwrap_or(content);
    let body = body.strip_prefix(' ').unwrap_or(body);
    range.end - body.len()..range.end
}

/// Turns a run of code lines into a declaration and the rest, or into entries.
fn flush_code(text: &str, code: &mut Vec<Range<usize>>, style: Style, out: &mut Vec<Block>) {
    let mut lines = std::mem::take(code);
    let documented = out.last().zip(lines.first()).is_some_and(|(block, line)| {
        block.comment
            && block.kind != Kind::Code
            && !has_blank_line(&text[block.whole.end..line.start])
    });
    let mut push = |kind, lines: Vec<Range<usize>>| {
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            return;
        };
        let whole = trim(text, first.start..last.end);
        out.push(Block { kind, lines, whole, language: None, comment: false, shown: false });
    };
    if style == Style::Settings {
        for line in lines {
            push(Kind::Entry, vec![trim(text, line)]);
        }
        return;
    }
    // The line under a comment, such as a field, is what the comment speaks of.
    if documented
        && let Some(first) = lines.first()
        && !is_declaration(text[first.clone()].trim())
        && !text[first.clone()].trim_start().starts_with(['#', '@', '}'])
    {
        let first = lines.remove(0);
        push(Kind::Entry, vec![trim(text, first)]);
    }
    let mut rest = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let content = text[lines[at].clone()].trim();
        if content.starts_with("#[") || content.starts_with("#![") || content.starts_with('@') {
            at += 1;
            continue;
        }
        if !is_declaration(content) {
            rest.push(lines[at].clone());
            at += 1;
            continue;
        }
        push(Kind::Code, std::mem::take(&mut rest));
        let mut end = at;
        while end + 1 < lines.len()
            && end < at + 8
            && !ends_declaration(text[lines[end].clone()].trim())
        {
            end += 1;
        }
        let signature: Vec<_> =
            lines[at..=end].iter().map(|line| trim(text, line.clone())).collect();
        push(Kind::Signature, signature);
        at = end + 1;
    }
    push(Kind::Code, rest);
}

/// A comment that a blank line sets apart speaks of the file, not of what follows.
pub fn has_blank_line(between: &str) -> bool {
    let mut lines = between.split('\n').skip(1).peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_some() && line.trim().is_empty() {
            return true;
        }
    }
    // The end of a documentation string: what it speaks of stands before it.
    between.contains("\"\"\"")
}

fn ends_declaration(content: &str) -> bool {
    content.ends_with(['{', ';', ':', '}']) && !content.ends_with("::")
}

/// A keyword that declares, first in the line or after words that qualify it.
fn is_declaration(content: &str) -> bool {
    if !content.starts_with(|character: char| character.is_alphabetic() || character == '_') {
        return false;
    }
    let words = content.split(|character: char| !character.is_alphanumeric() && character != '_');
    for word in words.filter(|word| !word.is_empty()).take(5) {
        match word {
            "fn" | "struct" | "enum" | "trait" | "impl" | "type" | "mod" | "class" | "def"
            | "function" | "interface" | "func" | "record" | "variant" | "world" | "resource"
            | "macro_rules" | "const" | "static" | "CREATE" => return true,
            "pub" | "crate" | "super" | "export" | "default" | "async" | "unsafe" | "extern"
            | "public" | "private" | "protected" | "final" | "abstract" | "inline" | "C"
            | "local" => {}
            _ => break,
        }
    }
    content.contains(": func(")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks;

    fn shapes(text: &str, url: &str) -> Vec<(Kind, String)> {
        blocks::split(text, url)
            .into_iter()
            .map(|block| {
                let lines: Vec<_> = block.lines.iter().map(|line| &text[line.clone()]).collect();
                (block.kind, lines.join("/"))
            })
            .collect()
    }

    #[test]
    fn rust_gives_documentation_and_signatures() {
        let text = "/// Opens the file.\n///\n/// # Errors\n/// When it is gone.\n#[must_use]\npub fn open(\n    path: &str,\n) -> File {\n    todo()\n}\n";
        assert_eq!(
            shapes(text, "src/a.rs"),
            [
                (Kind::Paragraph, "Opens the file.".into()),
                (Kind::Heading, "Errors".into()),
                (Kind::Paragraph, "When it is gone.".into()),
                (Kind::Signature, "pub fn open(/path: &str,/) -> File {".into()),
                (Kind::Code, "    todo()/}".into()),
            ]
        );
    }

    #[test]
    fn python_docstrings_are_prose() {
        let text = "def open(path):\n    \"\"\"Opens the file.\n\n    Twice if need be.\n    \"\"\"\n    return 1\n";
        assert_eq!(
            shapes(text, "a.py"),
            [
                (Kind::Signature, "def open(path):".into()),
                (Kind::Paragraph, "Opens the file.".into()),
                (Kind::Paragraph, "Twice if need be.".into()),
                (Kind::Code, "    return 1".into()),
            ]
        );
    }

    #[test]
    fn a_comment_belongs_to_what_follows_at_once() {
        let text = "//! About the file.\n\nuse std::fs;\n\n/// A field.\nname: String,\n";
        let blocks = blocks::split(text, "a.rs");
        let kinds: Vec<_> = blocks.iter().map(|block| block.kind).collect();
        assert_eq!(kinds, [Kind::Paragraph, Kind::Code, Kind::Paragraph, Kind::Entry]);
        assert!(has_blank_line("\n  \n"));
        assert!(!has_blank_line("\n#[derive(Debug)]\n    "));
    }

    #[test]
    fn configuration_gives_entries() {
        let text = "# How many at once.\nlimit = 4\n[table]\n";
        assert_eq!(
            shapes(text, "a.toml"),
            [
                (Kind::Paragraph, "How many at once.".into()),
                (Kind::Entry, "limit = 4".into()),
                (Kind::Entry, "[table]".into()),
            ]
        );
    }
}
