//! What can be typed to start research that outlives the command, and to look
//! after it.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere start \"how do the tide tables of the North Sea ports compare?\"
  bathysphere start --wait --max-cost 3 \"what is known about the age of the tide?\"
  bathysphere start --model deep-research-max-preview-04-2026 \"…\"

The question goes to Gemini Deep Research (GEMINI_API_KEY), which works on it for
minutes up to an hour, and costs about 1 to 7 US dollars: `bathysphere estimate` tells
more. The command waits half a minute; then the research goes on at the vendor, and any
running `serve`, or `bathysphere worker`, sees it to its end and notifies you. Ctrl-C
leaves it running; `bathysphere cancel` ends it.")]
pub struct StartArguments {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// What you know already, or what the report is for
    #[arg(long, value_name = "TEXT")]
    pub context: Option<String>,
    /// Wait for the report, however long it takes
    #[arg(long)]
    pub wait: bool,
    /// Do not notify me of its end
    #[arg(long)]
    pub no_notification: bool,
    /// End it after this many hours, at the vendor too
    #[arg(long, value_name = "HOURS", default_value_t = 8.0, value_parser = hours)]
    pub max_wait_hours: f64,
    /// The vendor's agent to use, where it should not be the configured one
    #[arg(long, value_name = "AGENT")]
    pub model: Option<String>,
    /// Do not start it, or end it, where it may cost more than this many US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere status 27475b74
  watch -n 30 bathysphere status 27475b74
  bathysphere status 27475b74 --json | jq .progress")]
pub struct StatusArguments {
    /// The task's id, or the beginning of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere cancel 27475b74
  bathysphere cancel 27475b74 --discard

The task is cancelled whichever process works on it, and the vendor is told to stop.")]
pub struct CancelArguments {
    /// The task's id, or the beginning of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Do not keep what has been found so far
    #[arg(long)]
    pub discard: bool,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere worker                 # until Ctrl-C
  bathysphere worker --until-done    # until nothing is left to do

Looks after research that was started and left: asks the vendor how it stands, saves the
report, and notifies you. Every `serve` does the same; this is for when none runs.")]
pub struct WorkerArguments {
    /// End when every task has come to its end
    #[arg(long)]
    pub until_done: bool,
}

#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Go on with a job that is at the vendor
    #[command(after_help = "\
Examples:
  bathysphere task adopt 27475b74 v1_5a34279fca7442ef85c18aefc7ded417

For a task that needs attention: it was cut off while it was being started, and nobody
knows whether the vendor has it. If the vendor's console shows it, this goes on with it.")]
    Adopt {
        /// The task's id, or the beginning of it
        #[arg(value_name = "ID")]
        id: String,
        /// The vendor's name for the job
        #[arg(value_name = "INTERACTION")]
        job: String,
    },
    /// Start it again, at the risk of paying twice
    #[command(after_help = "\
Examples:
  bathysphere task retry 27475b74

For a task that needs attention, if the vendor does not have it. If the vendor has it
after all, it is paid for twice.")]
    Retry {
        /// The task's id, or the beginning of it
        #[arg(value_name = "ID")]
        id: String,
    },
}

fn hours(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(hours) if hours > 0.0 && hours <= 168.0 => Ok(hours),
        _ => Err("hours are a number more than 0 and at most 168".to_owned()),
    }
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(dollars),
        _ => Err("dollars are a number, such as 2.50".to_owned()),
    }
}
