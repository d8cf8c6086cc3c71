//! `plugin list`: who is at work, where it comes from, and what it may reach.

use std::fmt::Write as _;

use serde_json::json;

use super::desk::{Desk, PluginSummary};
use super::table::{Cell, fitting, table};
use super::terminal::{CYAN, GREEN, Look, RED, Stop, Terminal, YELLOW};
use crate::config::resolved::HostGrant;
use crate::config::{Grants, PluginSource};
use crate::report::words::one_line;

pub async fn list(json: bool, desk: &dyn Desk, terminal: &mut Terminal) -> Result<u8, Stop> {
    let plugins = desk.plugins().await?;
    if json {
        let list: Vec<_> = plugins.iter().map(as_json).collect();
        terminal.print_json(&list)?;
    } else {
        let look = terminal.out;
        terminal.print(&as_text(&plugins, look))?;
    }
    Ok(0)
}

/// What a plugin may reach, a line each; none where it may reach nothing.
pub fn grants_in_words(grants: &Grants) -> Vec<String> {
    let host = |grant: &HostGrant| match grant.port {
        Some(port) => format!("{}:{port}", grant.host),
        None => grant.host.clone(),
    };
    let mut words = Vec::new();
    words.extend(
        grants.directories.iter().map(|directory| format!("read {}", directory.path.display())),
    );
    words.extend(grants.hosts.iter().map(|grant| format!("ask {}", host(grant))));
    words.extend(
        grants
            .secrets
            .iter()
            .map(|secret| format!("send {} to {}", secret.name, host(&secret.host))),
    );
    words.extend(grants.commands.iter().map(|command| format!("run {command}")));
    words.extend(grants.environment.iter().map(|name| format!("pass {name} to commands")));
    words.extend(grants.imports.iter().map(|import| format!("import {import}")));
    words
}

fn as_json(plugin: &PluginSummary) -> serde_json::Value {
    json!({
        "name": plugin.name,
        "kind": plugin.kind,
        "version": plugin.version,
        "summary": plugin.summary,
        "source": plugin.origin(),
        "sha256": plugin.sha256,
        "grants": grants_in_words(&plugin.grants),
        "used_by": plugin.used_by,
        "status": plugin.status(),
        "error": plugin.problem,
    })
}

fn as_text(plugins: &[PluginSummary], look: Look) -> String {
    let unknown = || "?".to_owned();
    let cell = |plugin: &PluginSummary, header: &str| match header {
        "NAME" => Cell::styled(&plugin.name, CYAN),
        "KIND" => Cell::new(plugin.kind.clone().unwrap_or_else(unknown)),
        "VERSION" => Cell::new(plugin.version.clone().unwrap_or_else(unknown)),
        "STATUS" if plugin.is_unready() => Cell::styled(plugin.status(), YELLOW),
        "STATUS" if plugin.problem.is_some() => Cell::styled(plugin.status(), RED),
        "STATUS" => Cell::styled("ok", GREEN),
        "SHA256" => Cell::new(
            plugin
                .sha256
                .as_deref()
                .map_or_else(unknown, |digest| digest.chars().take(12).collect()),
        ),
        "FROM" => Cell::new(match &plugin.source {
            PluginSource::Builtin(_) => "built-in".to_owned(),
            PluginSource::Path(path) => one_line(&path.display().to_string()),
        }),
        _ => {
            let grants = grants_in_words(&plugin.grants);
            Cell::new(if grants.is_empty() { "nothing".to_owned() } else { grants.join(", ") })
        }
    };
    // Most telling first: a narrow terminal leaves out what --json also tells.
    let headers = fitting(
        &[
            ("NAME", 0),
            ("KIND", 0),
            ("VERSION", 70),
            ("STATUS", 0),
            ("SHA256", 120),
            ("FROM", 100),
            ("MAY REACH", 0),
        ],
        look,
    );
    let rows: Vec<Vec<Cell>> = plugins
        .iter()
        .map(|plugin| headers.iter().map(|header| cell(plugin, header)).collect())
        .collect();
    let mut text = table(&headers, &rows, look);
    for plugin in plugins {
        if let Some(problem) = &plugin.problem {
            let _ = writeln!(
                text,
                "\n{} {}",
                look.paint(RED, &format!("{}:", plugin.name)),
                one_line(&problem.message)
            );
            if let Some(hint) = &problem.hint {
                let _ = writeln!(text, "  {} {}", look.paint(CYAN, "hint:"), one_line(hint));
            }
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::resolved::{DirectoryGrant, SecretGrant};
    use crate::tasks::ErrorReport;

    pub fn documents() -> PluginSummary {
        PluginSummary {
            name: "search-documents".to_owned(),
            kind: Some("search".to_owned()),
            version: Some("0.1.0".to_owned()),
            summary: Some("Finds passages in your own documents.".to_owned()),
            source: PluginSource::Builtin("search-documents".to_owned()),
            sha256: Some("a1b2c3d4e5f60718".repeat(4)),
            grants: Grants {
                directories: vec![DirectoryGrant {
                    path: PathBuf::from("/home/me/notes"),
                    prefix: "notes/".to_owned(),
                }],
                ..Grants::default()
            },
            settings: serde_json::Map::new(),
            used_by: vec!["search".to_owned(), "research".to_owned()],
            problem: None,
        }
    }

    pub fn strategy() -> PluginSummary {
        PluginSummary {
            name: "strategy-adaptive".to_owned(),
            kind: Some("strategy".to_owned()),
            source: PluginSource::Builtin("strategy-adaptive".to_owned()),
            grants: Grants::default(),
            used_by: vec!["every tool".to_owned()],
            ..documents()
        }
    }

    pub fn web() -> PluginSummary {
        let host = HostGrant { host: "api.tavily.com".to_owned(), port: None };
        PluginSummary {
            name: "search-tavily".to_owned(),
            source: PluginSource::Path(PathBuf::from("/opt/plugins/search-tavily.wasm")),
            grants: Grants {
                hosts: vec![host.clone()],
                secrets: vec![SecretGrant {
                    name: "TAVILY_API_KEY".to_owned(),
                    host,
                    header: "authorization".to_owned(),
                    prefix: "Bearer ".to_owned(),
                }],
                ..Grants::default()
            },
            used_by: Vec::new(),
            ..documents()
        }
    }

    pub fn broken() -> PluginSummary {
        PluginSummary {
            name: "agent-mine".to_owned(),
            kind: None,
            version: None,
            summary: None,
            source: PluginSource::Path(PathBuf::from("/opt/plugins/mine.wasm")),
            sha256: None,
            grants: Grants {
                commands: vec!["gemini".to_owned()],
                environment: vec!["GEMINI_API_KEY".to_owned()],
                ..Grants::default()
            },
            settings: serde_json::Map::new(),
            used_by: vec!["research".to_owned()],
            problem: Some(ErrorReport {
                code: "PLUGIN".to_owned(),
                message: "cannot load plugin agent-mine: it is not a WebAssembly component"
                    .to_owned(),
                hint: Some("build it for wasm32-wasip2".to_owned()),
            }),
        }
    }

    #[test]
    fn plugins_as_text() {
        let plugins = [strategy(), documents(), web(), broken()];
        insta::assert_snapshot!(as_text(&plugins, Look::default()));
    }

    #[test]
    fn plugins_as_json() {
        let list: Vec<_> = [documents(), broken()].iter().map(as_json).collect();
        insta::assert_snapshot!(serde_json::to_string_pretty(&list).unwrap());
    }
}
