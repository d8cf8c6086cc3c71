//! What can be typed: commands, flags and the help that teaches them.

mod background;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub use background::{
    CancelArguments, StartArguments, StatusArguments, TaskCommand, WorkerArguments,
};

use super::costs::Since;
use super::terminal::Color;
use crate::plugins::contract::Scope;
use crate::tasks::{CostsBy, TaskStatus};

/// Deep research with sources, on the web or your own documents: by hand, or as an MCP server
#[derive(Debug, Parser)]
#[command(
    name = "bathysphere",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
#[command(disable_help_flag = true, disable_version_flag = true)]
#[command(after_help = "\
Examples:
  bathysphere search \"when is the next spring tide in Brest?\"
  bathysphere deep-search \"how are spring tides predicted, and how well?\"
  bathysphere research --docs . \"how are snapshots stored?\"
  bathysphere serve                       # for an MCP client

`bathysphere COMMAND --help` tells more about each.")]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Keep configuration, data and cache in DIR
    #[arg(long, global = true, value_name = "DIR", env = "BATHYSPHERE_HOME", hide_env_values = true, value_hint = ValueHint::DirPath)]
    pub home: Option<PathBuf>,
    /// Use this plugins.toml
    #[arg(long, global = true, value_name = "FILE", env = "BATHYSPHERE_CONFIG", hide_env_values = true, value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Tell more on stderr; twice for details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print the result and errors, nothing else
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: Color,
    /// Print help
    #[arg(short, long, global = true, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Print version
    #[arg(short = 'V', long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Research a question and print a cited report
    Research(ResearchArguments),
    /// Answer a question in one round
    Search(SearchArguments),
    /// Research a question in rounds that check and mend the answer
    DeepSearch(DeepSearchArguments),
    /// Let the agent research a question by itself, in one long turn
    DeepResearch(DeepResearchArguments),
    /// Start research that goes on by itself, for minutes or hours
    #[command(visible_alias = "start-deep-research")]
    Start(StartArguments),
    /// Tell how it stands with a task
    #[command(visible_alias = "check-research-status")]
    Status(StatusArguments),
    /// End a task, at the vendor too
    #[command(visible_alias = "cancel-research")]
    Cancel(CancelArguments),
    /// Decide about a task that needs attention
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    Task(TaskCommand),
    /// Look after research that was started and left
    Worker(WorkerArguments),
    /// Print the passages of your documents that fit a query best
    Find(FindArguments),
    /// Say what long research would take and cost, before it is started
    #[command(alias = "estimate-research-cost")]
    Estimate(EstimateArguments),
    /// List what was researched
    History(HistoryArguments),
    /// Print the report of a task again
    Show(ShowArguments),
    /// Keep the report of a task as a file, Markdown or HTML
    #[command(alias = "save-research-to-markdown")]
    Save(SaveArguments),
    /// Show what was spent, by day, backend or task
    Costs(CostsArguments),
    /// Serve MCP clients on stdin and stdout
    Serve(ServeArguments),
    /// See which plugins are at work, and what they may reach
    #[command(subcommand, arg_required_else_help = true, disable_help_subcommand = true)]
    Plugin(PluginCommand),
    /// Print the configuration, and where each value comes from
    Config(ConfigArguments),
    /// Check what is installed, which backends would work, and what to do
    Doctor(DoctorArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Tell that a task has ended; servers start it by themselves
    #[command(hide = true)]
    Herald(HeraldArguments),
}

#[derive(Debug, Args)]
pub struct HeraldArguments {
    /// The task's id
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub documents: Documents,
}

#[derive(Debug, Args)]
pub struct Documents {
    /// Search the documents in DIR (read-only); may be given several times
    #[arg(long = "docs", value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "What to search")]
    pub documents: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere research --docs . \"how are snapshots stored?\"
  bathysphere research --docs notes --docs papers --scope large \"what is known about neap tides?\"
  bathysphere research --docs . --output answer.md \"who may cancel a task?\"
  bathysphere research --docs . --json \"which limits are there?\" | jq '.findings[].source'

Progress goes to stderr, the report to stdout. Ctrl-C ends the research and keeps
what is done. Exit code: 0 done (even when nothing was found), 1 failed, 2 wrong
input, 130 cancelled.")]
pub struct ResearchArguments {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION")]
    pub question: String,
    #[command(flatten)]
    pub documents: Documents,
    /// How large the work is that the question belongs to; a large one gets more rounds
    #[arg(long, value_enum, help_heading = "How far to go")]
    pub scope: Option<ScopeArgument>,
    /// Stop after this many rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50), help_heading = "How far to go")]
    pub max_rounds: Option<u32>,
    /// What you know already, or are working on
    #[arg(long, value_name = "TEXT", help_heading = "How far to go")]
    pub context: Option<String>,
    #[command(flatten)]
    pub delivery: Delivery,
}

/// What becomes of the result.
#[derive(Debug, Args)]
pub struct Delivery {
    /// Print everything that is known as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Write the report to FILE instead of stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere search \"when is the next spring tide in Brest?\"
  bathysphere search --docs notes \"who repaired the tide gauge?\"
  bathysphere search --json \"latest stable release of SQLite\" | jq -r .result

One round: quick, and not checked again; `bathysphere deep-search` does that. Progress
goes to stderr, the report to stdout; --json prints what the MCP tool `search` returns.
Exit code: 0 done (even when nothing was found), 1 failed, 2 wrong input, 130 cancelled.")]
pub struct SearchArguments {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION")]
    pub question: String,
    #[command(flatten)]
    pub documents: Documents,
    /// Passages of your documents to look at
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "How far to go")]
    pub max_results: Option<u32>,
    #[command(flatten)]
    pub delivery: Delivery,
}

#[derive(Debug, Args)]
#[command(override_usage = "\
bathysphere deep-search [OPTIONS] <QUESTION>
       bathysphere deep-search [OPTIONS] --resume <ID>")]
#[command(after_help = "\
Examples:
  bathysphere deep-search \"how are spring tides predicted, and how well?\"
  bathysphere deep-search --max-iterations 3 --output tides.md \"what causes neap tides?\"
  bathysphere deep-search --docs . --scope large \"how does a task survive a crash?\"
  bathysphere deep-search --resume 27475b74

The first round writes a report, each further one checks and mends it, until it is
verified or the limit is reached. Every round is kept as it ends: Ctrl-C ends the
search, and --resume goes on from there (with the same --docs, if any) without paying
for a round twice. Progress goes to stderr, the report to stdout; --json prints what
the MCP tool `deep_search` returns. Exit code: 0 done (even when nothing was found or
verified), 1 failed, 2 wrong input, 130 cancelled.")]
pub struct DeepSearchArguments {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION", required_unless_present = "resume")]
    pub question: Option<String>,
    #[command(flatten)]
    pub documents: Documents,
    /// Go on with a task that was cancelled or interrupted, or that failed
    #[arg(long, value_name = "ID", conflicts_with_all = ["question", "scope", "context"], help_heading = "How far to go")]
    pub resume: Option<String>,
    /// Stop after this many rounds, verified or not; 2 to 50, usually 5
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=50), help_heading = "How far to go")]
    pub max_iterations: Option<u32>,
    /// How large the work is that the question belongs to; a large one gets more rounds
    #[arg(long, value_enum, help_heading = "How far to go")]
    pub scope: Option<ScopeArgument>,
    /// What you know already, or are working on
    #[arg(long, value_name = "TEXT", help_heading = "How far to go")]
    pub context: Option<String>,
    #[command(flatten)]
    pub delivery: Delivery,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere deep-research \"the state of tidal power in Europe\"
  bathysphere deep-research --context \"for a talk\" \"how were tides explained before Newton?\"
  bathysphere deep-research --json \"the state of tidal power in Europe\" | jq .metadata

The agent is asked once, and decides by itself how often to search and check. For
rounds that are checked, kept one by one and can be gone on with, see
`bathysphere deep-search`. --json prints what the MCP tool `deep_research` returns.
Exit code: 0 done, 1 failed, 2 wrong input, 130 cancelled.")]
pub struct DeepResearchArguments {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION")]
    pub question: String,
    #[command(flatten)]
    pub documents: Documents,
    /// What you know already, or are working on
    #[arg(long, value_name = "TEXT", help_heading = "How far to go")]
    pub context: Option<String>,
    #[command(flatten)]
    pub delivery: Delivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeArgument {
    Tiny,
    Normal,
    Large,
}

/// How a command speaks to programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Json {
    /// In a shape of its own; an error as `{"error": …}`.
    Plain,
    /// As the MCP tools answer, and fail.
    Answer,
}

impl Command {
    /// Whether a program reads the result, and so the errors; and how.
    pub fn json(&self) -> Option<Json> {
        let (wanted, form) = match self {
            Self::Research(arguments) => (arguments.delivery.json, Json::Plain),
            Self::Search(arguments) => (arguments.delivery.json, Json::Answer),
            Self::DeepSearch(arguments) => (arguments.delivery.json, Json::Answer),
            Self::DeepResearch(arguments) => (arguments.delivery.json, Json::Answer),
            Self::Start(arguments) => (arguments.json, Json::Answer),
            Self::Status(arguments) => (arguments.json, Json::Answer),
            Self::Cancel(arguments) => (arguments.json, Json::Answer),
            Self::Find(arguments) => (arguments.json, Json::Plain),
            Self::Estimate(arguments) => (arguments.json, Json::Plain),
            Self::Costs(arguments) => (arguments.json, Json::Plain),
            Self::History(arguments) => (arguments.json, Json::Plain),
            Self::Show(arguments) => (arguments.json, Json::Plain),
            Self::Save(arguments) => (arguments.json, Json::Answer),
            Self::Plugin(PluginCommand::List { json }) => (*json, Json::Plain),
            Self::Config(arguments) => (arguments.json, Json::Plain),
            Self::Doctor(arguments) => (arguments.json, Json::Plain),
            Self::Task(_)
            | Self::Worker(_)
            | Self::Serve(_)
            | Self::Completions(_)
            | Self::Herald(_) => (false, Json::Plain),
        };
        wanted.then_some(form)
    }
}

impl From<ScopeArgument> for Scope {
    fn from(scope: ScopeArgument) -> Self {
        match scope {
            ScopeArgument::Tiny => Self::Tiny,
            ScopeArgument::Normal => Self::Normal,
            ScopeArgument::Large => Self::Large,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere find --docs . \"retry after\"
  bathysphere find --docs notes --limit 3 \"spring tides\"
  bathysphere find --docs . --json \"spring tides\" | jq -r '.hits[].url'

No task is made of it, and no agent is asked: this is the search alone.")]
pub struct FindArguments {
    /// Words to look for, in quotes; `-` reads them from stdin
    #[arg(value_name = "QUERY")]
    pub query: String,
    #[command(flatten)]
    pub documents: Documents,
    /// Passages to print at the most
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100), help_heading = "Output")]
    pub limit: u32,
    /// Print whole passages as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere estimate \"the state of tidal power in Europe\"
  bathysphere estimate --model deep-research-max-preview-04-2026 \"the state of tidal power\"
  bathysphere estimate --json \"the state of tidal power\" | jq .estimated_cost.likely_usd

Nothing is sent and nothing is spent: the estimate comes from the words of the question
and, once there are some, from your own past runs. It is a range that is meant to hold
four times out of five; `bathysphere costs --estimates` shows how often it did. --json
prints what the MCP tool `estimate_research_cost` returns.")]
pub struct EstimateArguments {
    /// What to find out, in quotes; `-` reads it from stdin
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// The research agent that would be asked
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere costs
  bathysphere costs --by task --since 7d
  bathysphere costs --by backend --since 2026-11-01
  bathysphere costs --estimates
  bathysphere costs --json --since all | jq .total.cost_usd

Counted are all calls of backends that may cost something, by list prices; a prices.toml
in your configuration directory is laid over the built-in ones. READ and WRITTEN are
tokens. `usd_per_day` in [budget] of plugins.toml sets a limit.")]
pub struct CostsArguments {
    /// What to sum together
    #[arg(long, value_enum, default_value_t)]
    pub by: By,
    /// From when on: 30d, 2w, a day such as 2026-11-01, today or all
    #[arg(long, value_name = "WHEN", default_value = "30d")]
    pub since: Since,
    /// Show what was expected of tasks, what they took, and how often it held
    #[arg(long, conflicts_with_all = ["by", "since"])]
    pub estimates: bool,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum By {
    #[default]
    Day,
    Backend,
    Task,
}

impl From<By> for CostsBy {
    fn from(by: By) -> Self {
        match by {
            By::Day => Self::Day,
            By::Backend => Self::Backend,
            By::Task => Self::Task,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere history
  bathysphere history --status failed --limit 5
  bathysphere history --search \"tide tables\"
  bathysphere history --json | jq -r '.[].id'")]
pub struct HistoryArguments {
    /// Only tasks that have these words in the question or the report, best first
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
    /// Tasks to list at the most, newest first
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Only tasks that stand so
    #[arg(long, value_enum)]
    pub status: Option<StatusArgument>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusArgument {
    Running,
    Completed,
    Failed,
    Cancelled,
    Interrupted,
    NeedsAttention,
}

impl From<StatusArgument> for TaskStatus {
    fn from(status: StatusArgument) -> Self {
        match status {
            StatusArgument::Running => Self::Running,
            StatusArgument::Completed => Self::Completed,
            StatusArgument::Failed => Self::Failed,
            StatusArgument::Cancelled => Self::Cancelled,
            StatusArgument::Interrupted => Self::Interrupted,
            StatusArgument::NeedsAttention => Self::NeedsAttention,
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere show 27475b74
  bathysphere show 27475b74 --format markdown > report.md
  bathysphere show 27475b74 --format html > report.html
  bathysphere show 27475b74 --json | jq '.rounds[].queries'")]
pub struct ShowArguments {
    /// The task's id, or the beginning of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Print the report in this form, even in a terminal
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Print everything that is known as JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[value(alias = "md")]
    Markdown,
    // One page that needs nothing else; said in a doc comment, it would spread the
    // help of every option over several lines.
    Html,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere save 27475b74
  bathysphere save 27475b74 --output-dir ~/library --prefix tides
  bathysphere save 27475b74 --format html
  bathysphere save 27475b74 --json | jq -r .file_path

The file is DIR/YYYY-MM/PREFIX_ID_TIME.md; its path is printed. No other file is ever
overwritten. Your own templates/research_report.md or templates/report.html in the
configuration directory takes the place of the built-in one. --json prints what the MCP
tool `save_research_to_markdown` returns. Exit code: 0 saved, 1 failed, 2 wrong input.")]
pub struct SaveArguments {
    /// The task's id, or the beginning of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Where reports are kept; made where it is missing
    #[arg(long, value_name = "DIR", default_value = "./research_reports", value_hint = ValueHint::DirPath)]
    pub output_dir: PathBuf,
    /// What the file's name begins with
    #[arg(long, value_name = "PREFIX", default_value = "research", allow_hyphen_values = true)]
    pub prefix: String,
    /// Leave out the front matter, and how it was researched
    #[arg(long)]
    pub no_metadata: bool,
    /// Leave out the list of sources; footnotes stay
    #[arg(long)]
    pub no_sources: bool,
    /// The form of the file
    #[arg(long, value_enum, default_value = "markdown")]
    pub format: Format,
    /// Print where it was saved as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claude mcp add bathysphere -- bathysphere serve --docs ~/notes
  bathysphere serve 2>server.log

The server speaks MCP on stdin and stdout, logs to stderr (-q: errors alone), and ends
when stdin does.")]
pub struct ServeArguments {
    #[command(flatten)]
    pub documents: Documents,
}

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// List the plugins: kind, version, where each is from, what it may reach
    #[command(after_help = "\
Examples:
  bathysphere plugin list
  bathysphere plugin list --json | jq -r '.[] | select(.status != \"ok\").name'")]
    List {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere config
  bathysphere --config ./plugins.toml config
  bathysphere config --json | jq '.values[] | select(.origin.place != \"built-in\")'")]
pub struct ConfigArguments {
    #[command(flatten)]
    pub documents: Documents,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere doctor
  bathysphere doctor --docs notes
  bathysphere doctor --json | jq '.checks[] | select(.state != \"ok\")'

Exit code: 0, or 1 when something that is configured is broken. Keys are looked
for, never printed.")]
pub struct DoctorArguments {
    #[command(flatten)]
    pub documents: Documents,
    /// Print it as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bathysphere completions bash > ~/.local/share/bash-completion/completions/bathysphere
  bathysphere completions zsh > ~/.zfunc/_bathysphere
  bathysphere completions fish > ~/.config/fish/completions/bathysphere.fish")]
pub struct CompletionsArguments {
    /// The shell to complete for
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
