//! What is wrong with the configuration, for people: every mistake at once, each
//! with the line it stands in, a caret under the spot, and what would be right.

use std::fmt;

use super::Origin;

/// One or more mistakes, in the order in which they stand in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// None where there is no place to point at.
    pub origin: Option<Origin>,
    /// Lower case, no full stop.
    pub message: String,
    /// What would be right.
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(message: impl Into<String>) -> Self {
        Self { origin: None, message: message.into(), hint: None }
    }

    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.problems.len() > 1 {
            write!(formatter, "{} mistakes in the configuration\n\n", self.problems.len())?;
        }
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n\n")?;
            }
            problem.fmt(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable(&self.message))?;
        if let Some(origin) = &self.origin {
            write!(formatter, "\n  --> {}", printable(&origin.place))?;
            if let Some(line) = origin.line {
                write!(formatter, ":{line}")?;
                if let Some(column) = origin.column {
                    write!(formatter, ":{column}")?;
                }
                if let Some(text) = &origin.text {
                    show_line(formatter, line, origin, text)?;
                }
            }
        }
        if let Some(hint) = &self.hint {
            write!(formatter, "\nhint: {}", printable(hint))?;
        }
        Ok(())
    }
}

/// Longer lines are shown in part.
const WIDTH: usize = 100;

fn show_line(
    formatter: &mut fmt::Formatter<'_>,
    line: usize,
    origin: &Origin,
    text: &str,
) -> fmt::Result {
    let column = origin.column.unwrap_or(1).saturating_sub(1);
    let characters: Vec<char> = text.chars().collect();
    let start = if characters.len() > WIDTH { column.saturating_sub(WIDTH / 2) } else { 0 };
    let end = characters.len().min(start + WIDTH);
    let shown: String = characters.get(start..end).unwrap_or_default().iter().collect();
    let (before, after) =
        (if start > 0 { "…" } else { "" }, if end < characters.len() { "…" } else { "" });
    let offset = column - start + before.chars().count();
    let width = origin.width.clamp(1, (end + 1).saturating_sub(column).max(1));
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    write!(
        formatter,
        "\n {gutter} |\n {number} | {before}{}{after}\n {gutter} | {}{}",
        printable(&shown),
        " ".repeat(offset),
        "^".repeat(width)
    )
}

/// A file may be somebody else's: what it says must not steer the terminal. A
/// character stays one column wide, so that the caret stays under it.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' => '\n',
            '\t' => ' ',
            other if other.is_control() || is_direction(other) => '\u{fffd}',
            other => other,
        })
        .collect()
}

/// Marks that reorder the text around them.
fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str, column: usize, width: usize) -> Origin {
        Origin {
            place: "plugins.toml".to_owned(),
            line: Some(12),
            column: Some(column),
            text: Some(text.to_owned()),
            width,
        }
    }

    #[test]
    fn several_problems_are_counted() {
        let error = ConfigError {
            problems: vec![
                Problem::new("first").at(origin("key = 1", 7, 1)).with_hint("write 2"),
                Problem::new("second"),
            ],
        };
        insta::assert_snapshot!(error, @r"
        2 mistakes in the configuration

        first
          --> plugins.toml:12:7
            |
         12 | key = 1
            |       ^
        hint: write 2

        second
        ");
    }

    #[test]
    fn a_long_line_is_shown_around_the_spot() {
        let text = format!("{}BAD{}", "x".repeat(300), "y".repeat(300));
        let shown = Problem::new("no").at(origin(&text, 301, 3)).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[4].find("^^^").unwrap();
        // The ellipsis before it is one character of three bytes.
        assert_eq!(lines[3].chars().skip(caret).take(3).collect::<String>(), "BAD");
        assert!(lines[3].chars().count() < 120);
    }

    #[test]
    fn a_file_cannot_steer_the_terminal() {
        let shown =
            Problem::new("bad\u{1b}[31m").at(origin("a\u{1b}]0;x\u{7}\u{202e}", 1, 1)).to_string();
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{7}') && !shown.contains('\u{202e}')
        );
    }
}
