//! Reading the command line, and what is said when that fails: clap's own words,
//! with the commands grouped by what one wants to do.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ColorChoice, CommandFactory, FromArgMatches};

use super::arguments::Arguments;
use super::terminal::Color;

/// Every command that is not hidden stands in one group.
const GROUPS: &[(&str, &[&str])] = &[
    ("Ask", &["search", "deep-search", "deep-research", "research", "find"]),
    ("Start and leave", &["start", "estimate", "status", "cancel", "task"]),
    ("Look back", &["history", "show", "save", "costs"]),
    ("Serve", &["serve", "worker"]),
    ("Set up", &["doctor", "plugin", "config", "completions"]),
];

/// The whole command line, for parsing, help and completions.
pub fn command() -> clap::Command {
    let command = Arguments::command();
    let template = template(&command);
    command.help_template(template).max_term_width(100)
}

fn template(command: &clap::Command) -> String {
    let heading = command.get_styles().get_header();
    let name_style = command.get_styles().get_literal();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{heading}{title}:{heading:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name_style}{name:<13}{name_style:#} {about}");
        }
    }
    let _ = write!(text, "\n{heading}Everywhere:{heading:#}\n{{options}}{{after-help}}");
    text
}

pub fn parse(arguments: Vec<OsString>) -> Result<Arguments, clap::Error> {
    parse_with(command(), arguments)
}

fn parse_with(command: clap::Command, arguments: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let choice = match wanted_color(&arguments) {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    let mut command = command.color(choice);
    let matches = command.try_get_matches_from_mut(arguments)?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// `--color`, needed before the rest can be read or refused.
pub fn wanted_color(arguments: &[OsString]) -> Color {
    let mut wanted = Color::Auto;
    let mut after_flag = false;
    for argument in arguments.iter().filter_map(|argument| argument.to_str()) {
        let value = if after_flag { Some(argument) } else { argument.strip_prefix("--color=") };
        wanted = match value {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            _ => wanted,
        };
        after_flag = argument == "--color";
        if argument == "--" {
            break;
        }
    }
    wanted
}

/// A question without its quotes is the commonest slip; clap cannot know it.
pub fn hint(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_word = error.kind() == ErrorKind::UnknownArgument && !argument.starts_with('-');
    is_word.then_some(
        "a question of several words is written in quotes, such as \"how are snapshots stored?\"",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &[&str]) -> clap::Error {
        let arguments = std::iter::once("bathysphere")
            .chain(line.iter().copied())
            .map(OsString::from)
            .collect();
        // As wide wherever the test runs.
        parse_with(command().term_width(100), arguments).unwrap_err()
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut known: Vec<String> = command()
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(|sub| sub.get_name().to_owned())
            .collect();
        let mut sorted = grouped.clone();
        sorted.sort_unstable();
        known.sort_unstable();
        assert_eq!(sorted, known);
    }

    #[test]
    fn help_teaches() {
        let mut shown = String::new();
        let lines: &[&[&str]] = &[
            &["--help"],
            &["research", "--help"],
            &["search", "--help"],
            &["deep-search", "--help"],
            &["deep-research", "--help"],
            &["find", "--help"],
            &["estimate", "--help"],
            &["costs", "--help"],
            &["history", "--help"],
            &["show", "--help"],
            &["save", "--help"],
            &["serve", "--help"],
            &["plugin", "list", "--help"],
            &["config", "--help"],
            &["doctor", "--help"],
            &["completions", "--help"],
        ];
        for line in lines {
            let _ = writeln!(shown, "$ bathysphere {}\n{}", line.join(" "), refused(line));
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn usage_errors_say_what_would_be_right() {
        let mut shown = String::new();
        let lines: &[&[&str]] = &[
            &["reserch", "x"],
            &["research"],
            &["research", "how", "do", "tides", "work"],
            &["research", "x", "--max-rounds", "0"],
            &["research", "x", "--scope", "huge"],
            &["search"],
            &["find", "x", "--limit", "1000"],
            &["deep-search"],
            &["deep-search", "x", "--max-iterations", "1"],
            &["deep-search", "x", "--resume", "0198"],
            &["estimate"],
            &["costs", "--since", "yesterday"],
            &["costs", "--by", "model"],
            &["costs", "--estimates", "--by", "day"],
            &["show"],
            &["show", "0198", "--json", "--format", "markdown"],
            &["save"],
            &["save", "0198", "--format", "pdf"],
            &["-v", "-q", "history"],
            &["completions", "tcsh"],
        ];
        for line in lines {
            let error = refused(line);
            assert_eq!(error.exit_code(), 2, "{line:?}");
            let _ = write!(shown, "$ bathysphere {}\n{error}", line.join(" "));
            if let Some(hint) = hint(&error) {
                let _ = writeln!(shown, "hint: {hint}");
            }
            shown.push('\n');
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn colour_is_known_before_the_rest_is_read() {
        let wanted =
            |line: &[&str]| wanted_color(&line.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(wanted(&["b", "--color", "always", "x"]), Color::Always);
        assert_eq!(wanted(&["b", "--color=never"]), Color::Never);
        assert_eq!(wanted(&["b", "--", "--color=never"]), Color::Auto);
    }
}
