//! `config`: every value that counts, as TOML, and where it comes from.

use super::arguments::ConfigArguments;
use super::desk::Desk;
use super::documents;
use super::terminal::{BOLD, FAINT, Look, Stop, Terminal};

pub async fn run(
    arguments: &ConfigArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    documents::check(&arguments.documents.documents)?;
    let listing = desk.config().await?;
    if arguments.json {
        terminal.print_json(&listing.json)?;
    } else {
        let look = terminal.out;
        terminal.print(&painted(&listing.text, look))?;
    }
    Ok(0)
}

/// Tables bold, comments quiet; the text itself stays as it is.
fn painted(toml: &str, look: Look) -> String {
    let mut text = String::with_capacity(toml.len());
    for line in toml.lines() {
        // A comment stands after two spaces; a `#` within a value does not.
        let comment = if line.starts_with('#') { Some(0) } else { line.rfind("  # ") };
        let (value, comment) = line.split_at(comment.unwrap_or(line.len()));
        text.push_str(&if value.starts_with('[') {
            look.paint(BOLD, value)
        } else {
            value.to_owned()
        });
        text.push_str(&look.paint(FAINT, comment));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "# Layers\n\n[use]\nstrategy = \"a # b\"  # from plugins.toml:3\n";

    #[test]
    fn a_pipe_gets_the_text_and_a_terminal_some_paint() {
        assert_eq!(painted(LISTING, Look::default()), LISTING);
        let look = Look { styled: true, ..Look::default() };
        insta::assert_snapshot!(painted(LISTING, look).replace('\u{1b}', "␛"), @r###"
        ␛[2m# Layers␛[0m

        ␛[1m[use]␛[0m
        strategy = "a # b"␛[2m  # from plugins.toml:3␛[0m
        "###);
    }
}
