//! What the configuration means: every value present, checked and absolute.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The whole configuration, after all layers are merged.
#[derive(Debug, Clone)]
pub struct Config {
    /// Which plugin decides, extracts and estimates.
    pub strategy: String,
    pub extractor: String,
    pub estimator: Option<String>,
    /// Which backends serve which tool, by the tool's name. Where there are
    /// documents to search, `[documents]` is counted in already.
    pub tools: BTreeMap<String, ToolBackends>,
    pub research: ResearchConfig,
    pub budget: BudgetConfig,
    pub notify: NotifyConfig,
    /// By name.
    pub plugins: BTreeMap<String, PluginConfig>,
}

/// The backends that serve one tool, by plugin name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolBackends {
    pub agent: Option<String>,
    pub search: Option<String>,
    pub pages: Option<String>,
    pub research: Option<String>,
}

/// How far research may go before it stops or lets the caller go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResearchConfig {
    /// Rounds of a deep search, the first included.
    pub max_iterations: u32,
    /// How long a tool call is kept waiting before it gets a handle instead of
    /// the result; for ever where there is none.
    pub max_wait: Option<Duration>,
    /// How often one round may ask for an answer: asked, corrected, asked again.
    pub cycles: u32,
    /// The longest time between two looks at a job that runs at a vendor.
    pub poll: Duration,
    /// How long the start of a background task waits for its result before it
    /// hands out the id alone.
    pub handoff: Duration,
}

impl Default for ResearchConfig {
    fn default() -> Self {
        Self {
            max_iterations: 5,
            max_wait: None,
            cycles: 3,
            poll: Duration::from_secs(15),
            handoff: Duration::from_secs(25),
        }
    }
}

/// What may be spent, in US dollars; without limit where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetConfig {
    /// In one day of the user's, all tasks together.
    pub usd_per_day: Option<f64>,
    pub usd_per_task: Option<f64>,
}

/// How the user is told that a task has ended on which nobody waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyConfig {
    pub desktop: bool,
    /// The user's own program, an absolute path or a name in PATH, and its
    /// arguments; empty for none.
    pub command: Vec<String>,
}

impl Default for NotifyConfig {
    fn default() -> Self {
        Self { desktop: true, command: Vec::new() }
    }
}

#[derive(Debug, Clone)]
pub struct PluginConfig {
    pub name: String,
    pub source: PluginSource,
    /// Lower-case hexadecimal.
    pub sha256: Option<String>,
    /// Handed to the plugin as JSON.
    pub settings: serde_json::Map<String, serde_json::Value>,
    pub grants: Grants,
    pub limits: Limits,
    /// Where each setting stands, by JSON Pointer (`""` for the table itself),
    /// so that a wrong one can be shown.
    pub origins: BTreeMap<String, Origin>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSource {
    Builtin(String),
    Path(PathBuf),
}

/// Where a value came from, for people: a file with line and column, a flag, an
/// environment variable, or the built-in defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `plugins.toml`'s path, a flag, a variable or `built-in`.
    pub place: String,
    /// From 1; none for a flag or a variable.
    pub line: Option<usize>,
    pub column: Option<usize>,
    /// The line's text, for the message.
    pub text: Option<String>,
    /// How many characters of the line it takes; 0 if not known.
    pub width: usize,
}

impl Origin {
    /// A place without lines: a flag, a variable, the defaults.
    pub fn of(place: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, column: None, text: None, width: 0 }
    }
}

/// As in `plugins.toml:12`.
impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.place)?;
        match self.line {
            Some(line) => write!(formatter, ":{line}"),
            None => Ok(()),
        }
    }
}

/// What a plugin may reach; nothing unless granted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    pub hosts: Vec<HostGrant>,
    /// Names looked up in PATH, or absolute paths.
    pub commands: Vec<String>,
    /// Names of variables that a command is given.
    pub environment: Vec<String>,
    /// Read-only.
    pub directories: Vec<DirectoryGrant>,
    pub secrets: Vec<SecretGrant>,
    /// WASI packages (`wasi:filesystem`) that the component may import although
    /// its kind would not: they are linked, and reach nothing.
    pub imports: Vec<String>,
}

impl Grants {
    /// Whoever reaches neither a host nor a command stays on this machine, and
    /// costs nothing.
    pub fn reach_out(&self) -> bool {
        !self.hosts.is_empty() || !self.commands.is_empty()
    }
}

/// A host that may be asked over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGrant {
    /// Lower case; a name, an address (IPv6 without brackets), or `*.example.com`
    /// for every name below.
    pub host: String,
    /// The scheme's usual port where none is given.
    pub port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryGrant {
    /// Absolute.
    pub path: PathBuf,
    /// As the user would write it before a relative path: empty for the working
    /// directory, else ending in `/`.
    pub prefix: String,
}

/// A secret that the http gate adds to requests to one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretGrant {
    /// The environment variable that holds it.
    pub name: String,
    /// The only host it is sent to.
    pub host: HostGrant,
    /// The header it is sent in, lower case.
    pub header: String,
    /// Put before it, such as `Bearer `.
    pub prefix: String,
}

/// What one call of a plugin may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub memory_bytes: usize,
    /// Time spent computing inside the plugin.
    pub compute: Duration,
    /// The whole call, with what it waits for.
    pub timeout: Duration,
    /// The same for `prepare` of a search backend.
    pub prepare_timeout: Duration,
    /// Calls to the host.
    pub host_calls: u64,
    /// Bytes of one value passed to the host or returned.
    pub value_bytes: usize,
    /// Calls of this plugin at the same time; further ones wait.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            compute: Duration::from_secs(5),
            timeout: Duration::from_mins(1),
            prepare_timeout: Duration::from_mins(10),
            host_calls: 100_000,
            value_bytes: 16 << 20,
            concurrency: 16,
        }
    }
}
