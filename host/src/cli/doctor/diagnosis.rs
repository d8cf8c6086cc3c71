//! What the facts mean: for each thing whether it is well, and what to do if not.
//! Broken is only what the user has configured and cannot work; what is merely
//! absent is no fault.

use std::fmt::Write as _;

use anstyle::Style;
use serde::Serialize;

use super::facts::{DirectoryState, Facts, is_key};
use crate::cli::desk::{DocumentSet, PluginSummary};
use crate::cli::pretty;
use crate::cli::terminal::{BOLD, FAINT, GREEN, Look, RED, YELLOW};
use crate::config::PluginSource;
use crate::report::words::{count, one_line};
use crate::tasks::ErrorReport;

/// How to come by what the built-in plugins need.
const HOW_TO: &[(&str, &str)] = &[
    ("gemini", "install it with `npm install -g @google/gemini-cli` (Node 20 or newer)"),
    ("GEMINI_API_KEY", "export GEMINI_API_KEY=… (https://aistudio.google.com/apikey makes one)"),
];

#[derive(Debug, Serialize)]
pub struct Diagnosis {
    pub version: &'static str,
    pub broken: usize,
    /// Plugins that tools use, and that lack something.
    pub unready: usize,
    pub checks: Vec<Check>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub area: &'static str,
    pub name: String,
    pub state: State,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    /// Not there, and not needed as things are configured.
    Absent,
    /// There, but it would not work; nothing that is configured needs it.
    Unready,
    Broken,
}

impl State {
    fn word(self) -> (&'static str, Style) {
        match self {
            Self::Ok => ("ok", GREEN),
            Self::Absent => ("absent", FAINT),
            Self::Unready => ("unready", YELLOW),
            Self::Broken => ("broken", RED),
        }
    }
}

pub fn diagnose(facts: &Facts) -> Diagnosis {
    let mut checks = vec![configuration(facts)];
    checks.extend(facts.checkup.plugins.iter().map(|plugin| backend(plugin, facts)));
    checks.extend(documents(&facts.checkup.documents));
    checks.extend(programs(facts));
    checks.extend(keys(facts));
    checks.extend(directories(facts));
    checks.extend(notification(facts));
    let broken = checks.iter().filter(|check| check.state == State::Broken).count();
    let is_used = |name: &str| {
        facts.checkup.plugins.iter().any(|plugin| plugin.name == name && !plugin.used_by.is_empty())
    };
    let unready =
        checks.iter().filter(|check| check.state == State::Unready && is_used(&check.name)).count();
    Diagnosis { version: env!("CARGO_PKG_VERSION"), broken, unready, checks }
}

fn check(
    area: &'static str,
    name: impl Into<String>,
    state: State,
    detail: impl Into<String>,
    advice: Option<String>,
) -> Check {
    Check { area, name: name.into(), state, detail: one_line(&detail.into()), advice }
}

fn configuration(facts: &Facts) -> Check {
    match &facts.checkup.configuration {
        Ok(files) if files.is_empty() => {
            check("Configuration", "plugins.toml", State::Ok, "built-in defaults", None)
        }
        Ok(files) => check("Configuration", "plugins.toml", State::Ok, files.join(", "), None),
        Err(error) => check(
            "Configuration",
            "plugins.toml",
            State::Broken,
            summary(&error.message),
            Some(
                error
                    .hint
                    .clone()
                    .unwrap_or_else(|| "`bathysphere config` tells all of it".to_owned()),
            ),
        ),
    }
}

/// What a message of several lines comes to: the first, and the place.
fn summary(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let place = message.lines().find_map(|line| line.trim_start().strip_prefix("--> "));
    place.map_or_else(|| first.to_owned(), |place| format!("{first} ({place})"))
}

/// Whether a plugin would work as it is granted, and who needs it.
fn backend(plugin: &PluginSummary, facts: &Facts) -> Check {
    let in_use = !plugin.used_by.is_empty();
    let unfit = if in_use && !plugin.is_unready() { State::Broken } else { State::Unready };
    let kind = plugin.kind.as_deref().unwrap_or("plugin");
    if let Some(ErrorReport { message, hint, .. }) = &plugin.problem {
        return check("Plugins", &plugin.name, unfit, message, hint.clone());
    }
    let needs: Vec<Need> =
        missing_keys(plugin, facts).into_iter().chain(missing_programs(plugin, facts)).collect();
    if !needs.is_empty() {
        // A part of Bathysphere whose program or key is not there yet is no fault.
        let state = if is_builtin(plugin) { State::Unready } else { unfit };
        let what: Vec<&str> = needs.iter().map(|need| need.what.as_str()).collect();
        let mut advice: Vec<String> = needs.iter().map(|need| need.advice.clone()).collect();
        advice.push(
            if in_use {
                "or research your own documents with --docs DIR, which needs neither program nor \
                 key; or use another plugin in plugins.toml"
            } else {
                "or leave it: no tool uses it"
            }
            .to_owned(),
        );
        let detail = format!("{kind}; needs {}", what.join(", and "));
        return check("Plugins", &plugin.name, state, detail, Some(advice.join("; ")));
    }
    let used = if in_use {
        format!("serves {}", plugin.used_by.join(", "))
    } else {
        "works, but serves no tool".to_owned()
    };
    check("Plugins", &plugin.name, State::Ok, format!("{kind}; {used}"), None)
}

/// Something that a plugin lacks, and how to come by it.
struct Need {
    what: String,
    advice: String,
}

fn missing_keys(plugin: &PluginSummary, facts: &Facts) -> Vec<Need> {
    let is_unset = |name: &str| facts.keys.iter().any(|(known, set)| known == name && !set);
    let need = |name: &str| Need {
        what: format!("{name}, which is not set"),
        advice: match HOW_TO.iter().find(|(known, _)| *known == name) {
            Some((_, how)) => (*how).to_owned(),
            None => format!("export {name}=…"),
        },
    };
    let secrets = plugin.grants.secrets.iter().map(|secret| secret.name.as_str());
    let mut needs: Vec<Need> = secrets.filter(|name| is_unset(name)).map(need).collect();
    if logs_in_without_a_key(plugin) {
        return needs;
    }
    // Of the keys that a program is given, one will do.
    let mut given = plugin.grants.environment.iter().filter(|name| is_key(name)).peekable();
    if let Some(first) = given.peek().copied()
        && given.all(|name| is_unset(name))
    {
        needs.push(need(first));
    }
    needs
}

/// Whether the Gemini CLI is to log in to Google Cloud, which has other ways than a
/// key; whether they work only the CLI can tell.
fn logs_in_without_a_key(plugin: &PluginSummary) -> bool {
    let is_gemini =
        matches!(&plugin.source, PluginSource::Builtin(name) if name == "agent-gemini-cli");
    let auth = plugin.settings.get("auth").and_then(serde_json::Value::as_str);
    is_gemini && matches!(auth, Some("vertex-ai" | "compute-default-credentials"))
}

fn missing_programs(plugin: &PluginSummary, facts: &Facts) -> Vec<Need> {
    let is_missing = |command: &str| {
        facts.programs.iter().any(|program| program.name == command && program.path.is_none())
    };
    let need = |command: &String| Need {
        what: format!("the program {command}, which is not in PATH"),
        advice: match HOW_TO.iter().find(|(known, _)| known == command) {
            Some((_, how)) => (*how).to_owned(),
            None => format!("install {command}"),
        },
    };
    plugin.grants.commands.iter().filter(|command| is_missing(command)).map(need).collect()
}

fn is_builtin(plugin: &PluginSummary) -> bool {
    matches!(&plugin.source, PluginSource::Builtin(name) if *name == plugin.name)
}

fn documents(sets: &[DocumentSet]) -> Vec<Check> {
    if sets.is_empty() {
        let advice = "pass --docs DIR, or name directories in [plugins.search-documents.grants] of plugins.toml";
        return vec![check(
            "Documents",
            "directories",
            State::Absent,
            "none to search",
            Some(advice.to_owned()),
        )];
    }
    let of_set = |set: &DocumentSet| {
        let name = set.path.display().to_string();
        match (&set.problem, set.files) {
            (Some(problem), _) => {
                check("Documents", name, State::Broken, &problem.message, problem.hint.clone())
            }
            (None, Some(0)) => check(
                "Documents",
                name,
                State::Absent,
                "no document that can be searched",
                Some("Markdown, text, reStructuredText, HTML and source code are read".to_owned()),
            ),
            (None, Some(files)) => {
                check("Documents", name, State::Ok, count(files, "document"), None)
            }
            (None, None) => {
                check("Documents", name, State::Ok, "read when a question is asked", None)
            }
        }
    };
    sets.iter().map(of_set).collect()
}

fn programs(facts: &Facts) -> Vec<Check> {
    let of_program = |program: &super::facts::Program| {
        let users: Vec<&str> = facts
            .checkup
            .plugins
            .iter()
            .filter(|plugin| plugin.grants.commands.contains(&program.name))
            .map(|plugin| plugin.name.as_str())
            .collect();
        let purpose = if users.is_empty() {
            program.purpose.clone()
        } else {
            format!("used by {}", users.join(", "))
        };
        match &program.path {
            Some(path) => {
                check("Programs", &program.name, State::Ok, path.display().to_string(), None)
            }
            None if users.is_empty() => {
                check("Programs", &program.name, State::Absent, format!("only for {purpose}"), None)
            }
            None => check("Programs", &program.name, State::Absent, purpose, None),
        }
    };
    facts.programs.iter().map(of_program).collect()
}

fn keys(facts: &Facts) -> Vec<Check> {
    let of_key = |(name, set): &(String, bool)| {
        let users: Vec<&str> = facts
            .checkup
            .plugins
            .iter()
            .filter(|plugin| {
                plugin.grants.secrets.iter().any(|secret| secret.name == *name)
                    || plugin.grants.environment.contains(name)
            })
            .map(|plugin| plugin.name.as_str())
            .collect();
        let users = if users.is_empty() {
            "no plugin here uses it".to_owned()
        } else {
            format!("used by {}", users.join(", "))
        };
        if *set {
            check("Keys", name, State::Ok, format!("set; {users}"), None)
        } else {
            check("Keys", name, State::Absent, format!("not set; {users}"), None)
        }
    };
    facts.keys.iter().map(of_key).collect()
}

fn directories(facts: &Facts) -> Vec<Check> {
    let of_directory = |directory: &super::facts::Directory| {
        let path = directory.path.display();
        match &directory.state {
            DirectoryState::Writable => {
                check("Directories", &directory.purpose, State::Ok, path.to_string(), None)
            }
            DirectoryState::Creatable => check(
                "Directories",
                &directory.purpose,
                State::Ok,
                format!("{path} (will be created)"),
                None,
            ),
            DirectoryState::Unusable(reason) => check(
                "Directories",
                &directory.purpose,
                State::Broken,
                format!("{path}: {reason}"),
                Some(
                    "make it writable, or move all of them with --home DIR or BATHYSPHERE_HOME"
                        .to_owned(),
                ),
            ),
        }
    };
    facts.directories.iter().map(of_directory).collect()
}

/// How the user is told that a task has ended. What cannot be shown is written down,
/// so a desktop that is not there is no fault.
fn notification(facts: &Facts) -> Vec<Check> {
    const AREA: &str = "Notification";
    let mut checks = Vec::new();
    // With a broken configuration nothing is known of it.
    if facts.checkup.configuration.is_err() {
        return checks;
    }
    checks.push(match &facts.checkup.notification.desktop {
        Some(Ok(service)) => check(AREA, "desktop", State::Ok, service, None),
        Some(Err(reason)) => check(
            AREA,
            "desktop",
            State::Absent,
            reason,
            facts.hook.is_none().then(|| {
                "the end of a task is written to notifications.log in the data directory; name a \
                 program of yours with `command` in [notify] of plugins.toml to be told"
                    .to_owned()
            }),
        ),
        None => check(AREA, "desktop", State::Absent, "switched off in [notify]", None),
    });
    if let Some(hook) = &facts.hook {
        checks.push(match &hook.path {
            Some(path) => check(AREA, "command", State::Ok, path.display().to_string(), None),
            None => check(
                AREA,
                "command",
                State::Broken,
                format!("there is no program {}", hook.name),
                Some("correct `command` in [notify] of plugins.toml".to_owned()),
            ),
        });
    }
    checks
}

impl Diagnosis {
    pub fn as_text(&self, look: Look) -> String {
        let mut text = format!("bathysphere {}\n", self.version);
        let name_width = self
            .checks
            .iter()
            .map(|check| check.name.chars().count())
            .filter(|width| *width <= 24)
            .max()
            .unwrap_or(0);
        let mut area = "";
        for check in &self.checks {
            if check.area != area {
                area = check.area;
                let _ = writeln!(text, "\n{}", look.paint(BOLD, area));
            }
            let (word, style) = check.state.word();
            let mark = format!("{}{}", look.paint(style, word), " ".repeat(7 - word.len()));
            let first = format!("  {mark}  {:<name_width$}  ", check.name);
            let next = " ".repeat(name_width + 13);
            let _ = writeln!(text, "{}", pretty::hanging(&check.detail, &first, &next, look));
            if let Some(advice) = &check.advice {
                let advice = pretty::hanging(
                    &one_line(advice),
                    &format!("{}→ ", " ".repeat(11)),
                    &" ".repeat(13),
                    look,
                );
                let _ = writeln!(text, "{advice}");
            }
        }
        let end = match self.broken {
            0 if self.unready > 0 => {
                "Nothing is broken; what is unready says above what it needs.".to_owned()
            }
            0 => "All that is configured works.".to_owned(),
            broken => format!(
                "{} broken.",
                if broken == 1 { "1 thing is".to_owned() } else { format!("{broken} things are") }
            ),
        };
        let _ =
            writeln!(text, "\n{}", look.paint(if self.broken == 0 { FAINT } else { RED }, &end));
        text
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::facts::{Directory, Program};
    use super::*;
    use crate::cli::desk::{Checkup, Notification};
    use crate::cli::plugin::tests as plugins;

    fn program(name: &str, purpose: &str, path: Option<&str>) -> Program {
        Program {
            name: name.to_owned(),
            purpose: purpose.to_owned(),
            path: path.map(PathBuf::from),
        }
    }

    fn directory(purpose: &str, state: DirectoryState) -> Directory {
        Directory {
            purpose: purpose.to_owned(),
            path: PathBuf::from(format!("/home/me/.local/{purpose}")),
            state,
        }
    }

    fn healthy() -> Facts {
        Facts {
            programs: vec![
                program("gemini", "asking Gemini through its command line", None),
                program("node", "writing plugins in JavaScript", Some("/usr/bin/node")),
            ],
            keys: vec![("GEMINI_API_KEY".to_owned(), true), ("TAVILY_API_KEY".to_owned(), false)],
            directories: vec![
                directory("configuration", DirectoryState::Creatable),
                directory("data", DirectoryState::Writable),
            ],
            hook: None,
            checkup: Checkup {
                configuration: Ok(Vec::new()),
                plugins: vec![plugins::strategy(), plugins::documents(), plugins::web()],
                directories: Vec::new(),
                documents: vec![DocumentSet {
                    path: PathBuf::from("/home/me/notes"),
                    files: Some(1234),
                    problem: None,
                }],
                notification: Notification {
                    desktop: Some(Ok("gnome-shell 48.1".to_owned())),
                    command: Vec::new(),
                },
            },
        }
    }

    fn ill() -> Facts {
        let error = |message: &str, hint: &str| ErrorReport {
            code: "CONFIG".to_owned(),
            message: message.to_owned(),
            hint: Some(hint.to_owned()),
        };
        let mut web = plugins::web();
        web.used_by = vec!["search".to_owned()];
        let mut facts = healthy();
        facts.directories.push(directory(
            "cache",
            DirectoryState::Unusable("Permission denied (os error 13)".to_owned()),
        ));
        facts.checkup.configuration = Err(error(
            "unknown key `stratgy` in [use]\n  --> plugins.toml:3:1\n3 | stratgy = \"x\"\n  | ^^^^^^^",
            "did you mean `strategy`?",
        ));
        facts.checkup.plugins = vec![plugins::broken(), web];
        facts.checkup.documents = vec![
            DocumentSet {
                path: PathBuf::from("/gone"),
                files: None,
                problem: Some(error("there is no such directory", "take it out of plugins.toml")),
            },
            DocumentSet { path: PathBuf::from("/empty"), files: Some(0), problem: None },
        ];
        facts
    }

    #[test]
    fn a_healthy_machine() {
        let diagnosis = diagnose(&healthy());
        assert_eq!(diagnosis.broken, 0);
        insta::assert_snapshot!(diagnosis.as_text(Look::default()));
    }

    #[test]
    fn an_ill_machine_in_a_narrow_terminal() {
        let diagnosis = diagnose(&ill());
        let look = Look { is_terminal: true, styled: false, width: Some(60), columns: Some(60) };
        insta::assert_snapshot!(diagnosis.as_text(look));
        assert_eq!(
            diagnosis.broken, 5,
            "configuration, both plugins, a directory of documents, the cache"
        );
    }

    /// The default: an agent that is a program of its own.
    fn gemini() -> PluginSummary {
        let mut plugin = plugins::broken();
        plugin.name = "agent-gemini-cli".to_owned();
        plugin.kind = Some("agent".to_owned());
        plugin.source = PluginSource::Builtin(plugin.name.clone());
        plugin.used_by = vec!["search".to_owned(), "deep_search".to_owned()];
        plugin.problem = None;
        plugin
    }

    #[test]
    fn an_agent_without_its_program_or_key_is_told_how_to_come_by_them() {
        let mut facts = healthy();
        facts.checkup.plugins = vec![gemini()];
        facts.keys[0].1 = false;
        let diagnosis = diagnose(&facts);
        assert_eq!((diagnosis.broken, diagnosis.unready), (0, 1), "absent is no fault");
        let text = diagnosis.as_text(Look::default());
        for words in [
            "needs GEMINI_API_KEY, which is not set, and the program gemini, which is not in PATH",
            "npm install -g @google/gemini-cli",
            "--docs DIR, which needs neither program nor key",
            "Nothing is broken; what is unready",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn an_agent_with_its_program_and_one_of_its_keys_is_well() {
        let mut facts = healthy();
        let mut plugin = gemini();
        plugin.grants.environment.insert(0, "OTHER_API_KEY".to_owned());
        facts.checkup.plugins = vec![plugin];
        facts.keys.push(("OTHER_API_KEY".to_owned(), false));
        facts.programs[0].path = Some(PathBuf::from("/usr/bin/gemini"));
        let text = diagnose(&facts).as_text(Look::default());
        assert!(text.contains("agent; serves search, deep_search"), "{text}");
    }

    #[test]
    fn an_agent_that_logs_in_to_google_cloud_needs_no_key() {
        let mut facts = healthy();
        facts.keys[0].1 = false;
        facts.programs[0].path = Some(PathBuf::from("/usr/bin/gemini"));
        for (auth, unready) in
            [("vertex-ai", 0), ("compute-default-credentials", 0), ("gemini-api-key", 1)]
        {
            let mut plugin = gemini();
            plugin.settings.insert("auth".to_owned(), auth.into());
            facts.checkup.plugins = vec![plugin];
            assert_eq!(diagnose(&facts).unready, unready, "{auth}");
        }
    }

    #[test]
    fn nothing_to_search_is_no_fault_but_gets_advice() {
        let mut facts = healthy();
        facts.checkup.documents.clear();
        let diagnosis = diagnose(&facts);
        assert_eq!(diagnosis.broken, 0);
        let check = diagnosis.checks.iter().find(|check| check.area == "Documents").unwrap();
        assert!(check.advice.as_ref().unwrap().contains("--docs DIR"));
    }

    #[test]
    fn json_names_states_and_no_values() {
        let value = serde_json::to_value(diagnose(&healthy())).unwrap();
        let key = value["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["name"] == "GEMINI_API_KEY")
            .unwrap();
        assert_eq!(key["state"], "ok");
        assert_eq!(key["detail"], "set; no plugin here uses it");
    }

    #[test]
    fn without_a_desktop_one_is_told_where_to_look_or_by_ones_own_program() {
        let told = |facts: &Facts| {
            let checks = diagnose(facts).checks;
            let told = checks.into_iter().filter(|check| check.area == "Notification");
            told.map(|check| (check.name, check.state, check.detail, check.advice.is_some()))
                .collect::<Vec<_>>()
        };
        let mut facts = healthy();
        let reason = "there is no session bus here".to_owned();
        facts.checkup.notification.desktop = Some(Err(reason.clone()));
        let desktop = |advised| ("desktop".to_owned(), State::Absent, reason.clone(), advised);
        assert_eq!(told(&facts), [desktop(true)]);

        facts.hook = Some(program("ntfy", "", Some("/usr/bin/ntfy")));
        let hook = ("command".to_owned(), State::Ok, "/usr/bin/ntfy".to_owned(), false);
        assert_eq!(told(&facts), [desktop(false), hook]);

        facts.hook = Some(program("ntfy", "", None));
        let hook =
            ("command".to_owned(), State::Broken, "there is no program ntfy".to_owned(), true);
        assert_eq!(told(&facts), [desktop(false), hook]);
        assert_eq!(diagnose(&facts).broken, 1);
    }
}
