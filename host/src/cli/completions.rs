//! `completions`: a script that teaches a shell the command line.

use super::arguments::CompletionsArguments;
use super::help;
use super::terminal::{Stop, Terminal};

pub fn run(arguments: &CompletionsArguments, terminal: &mut Terminal) -> Result<u8, Stop> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::command(), "bathysphere", &mut script);
    terminal.print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::terminal::{Look, tests::captured};
    use clap::ValueEnum;

    #[test]
    fn every_shell_learns_every_command() {
        for shell in clap_complete::Shell::value_variants() {
            let (mut terminal, printed, _) = captured(Look::default());
            run(&CompletionsArguments { shell: *shell }, &mut terminal).unwrap();
            for name in ["research", "history", "doctor"] {
                assert!(printed.text().contains(name), "{shell}: {name}");
            }
        }
    }
}
