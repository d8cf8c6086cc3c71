//! What a component asks for (its imports) held against what its kind may have
//! and what plugins.toml grants. Nothing is linked that was not let through here.

use std::collections::HashSet;

use super::{Kind, LoadError};
use crate::config::Grants;

/// The contract line this host speaks.
pub const CONTRACT: (u64, u64) = (0, 1);
const PACKAGE: &str = "bathysphere:plugin/";

/// WASI packages that only give a language its footing: streams to nowhere, an
/// empty environment, time and chance.
const HARMLESS: &[&str] = &["wasi:io", "wasi:cli", "wasi:clocks", "wasi:random"];
/// WASI packages that reach further. Granted, they are linked to nothing.
const REACHING: &[(&str, &str)] = &[("wasi:filesystem", "files"), ("wasi:sockets", "the network")];

/// Holds a component's import names against kind and grants. All that is refused
/// is told at once, each package by its first interface.
pub fn check_imports<'a>(
    plugin: &str,
    kind: Kind,
    grants: &Grants,
    imports: impl Iterator<Item = &'a str>,
) -> Result<(), LoadError> {
    let mut refused: Option<LoadError> = None;
    let mut packages = HashSet::new();
    for import in imports {
        let Err(error) = check_import(plugin, kind, grants, import) else { continue };
        let new = packages.insert(import.split('/').next().unwrap_or(import));
        match &mut refused {
            None => refused = Some(error),
            Some(first) if new => {
                first.message.push_str("; ");
                first.message.push_str(&error.message);
                first.lacks_grant &= error.lacks_grant;
            }
            Some(_) => {}
        }
    }
    refused.map_or(Ok(()), Err)
}

fn check_import(plugin: &str, kind: Kind, grants: &Grants, import: &str) -> Result<(), LoadError> {
    let (path, _version) = split_version(import);
    if let Some(interface) = path.strip_prefix(PACKAGE) {
        check_version(plugin, import)?;
        let (reach, key, example, granted) = match interface {
            "types" | "log" => return Ok(()),
            "http" => ("the network", "hosts", "\"api.example.com\"", !grants.hosts.is_empty()),
            "process" => ("processes", "commands", "\"gemini\"", !grants.commands.is_empty()),
            "documents" => ("files", "directories", "\"~/notes\"", !grants.directories.is_empty()),
            _ => {
                return Err(LoadError::new(
                    plugin,
                    format!("it imports {import}, which this host does not offer"),
                )
                .with_hint("the plugin may be newer than this host: update bathysphere"));
            }
        };
        if kind.is_pure() {
            return Err(pure(plugin, kind, reach, import));
        }
        if !granted {
            return Err(LoadError::new(
                plugin,
                if interface == "documents" {
                    "there are no documents for it: no directory is granted".to_owned()
                } else {
                    format!("it imports {interface} to reach {reach}, and is granted none")
                },
            )
            .lacking_grant()
            .with_hint(if interface == "documents" {
                format!(
                    "name the documents with --docs DIR, or `{key} = [{example}]` in [plugins.{plugin}.grants]"
                )
            } else {
                format!("if you trust it, add `{key} = [{example}]` to [plugins.{plugin}.grants]")
            }));
        }
        return Ok(());
    }

    let package = path.split('/').next().unwrap_or(path);
    if HARMLESS.contains(&package) || grants.imports.iter().any(|granted| granted == package) {
        return Ok(());
    }
    match REACHING.iter().find(|(name, _)| *name == package) {
        Some((_, reach)) if kind.is_pure() => {
            Err(pure(plugin, kind, reach, import).with_hint(format!(
                "where only its language's runtime wants it, `imports = [\"{package}\"]` in \
             [plugins.{plugin}.grants] links it to nothing"
            )))
        }
        Some((_, reach)) => Err(LoadError::new(
            plugin,
            format!("it imports {import} to reach {reach}, and is granted none"),
        )
        .with_hint(format!(
            "plugins reach files and the network through the host's own interfaces; where only its \
             language's runtime wants it, `imports = [\"{package}\"]` in [plugins.{plugin}.grants] \
             links it to nothing"
        ))),
        None => Err(LoadError::new(
            plugin,
            format!("it imports {import}, which this host does not offer"),
        )
        .with_hint("build it against the world of its kind in wit/, and import nothing more")),
    }
}

fn pure(plugin: &str, kind: Kind, reach: &str, import: &str) -> LoadError {
    LoadError::new(
        plugin,
        format!("{} may not reach {reach}, and it imports {import}", kind.described()),
    )
}

/// The kind a component exports, after its version is found right.
pub fn exported_kind<'a>(
    plugin: &str,
    exports: impl Iterator<Item = &'a str>,
) -> Result<Kind, LoadError> {
    let mut kinds = Vec::new();
    let mut meta = false;
    for export in exports {
        let (path, _) = split_version(export);
        let Some(interface) = path.strip_prefix(PACKAGE) else { continue };
        check_version(plugin, export)?;
        meta |= interface == "meta";
        kinds.extend(Kind::parse(interface));
    }
    match kinds.as_slice() {
        [] => Err(LoadError::new(plugin, "it exports no interface of bathysphere:plugin")
            .with_hint("build it against the world of its kind in wit/")),
        [_] if !meta => Err(LoadError::new(plugin, "it does not export meta (describe, validate)")
            .with_hint("build it against the world of its kind in wit/")),
        [kind] => Ok(*kind),
        several => Err(LoadError::new(
            plugin,
            format!(
                "it exports several kinds ({}), and a plugin is of one",
                several.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
            ),
        )),
    }
}

fn check_version(plugin: &str, name: &str) -> Result<(), LoadError> {
    let (_, version) = split_version(name);
    let line = version.and_then(|version| {
        let mut parts = version.split('.').map(|part| part.parse::<u64>().ok());
        Some((parts.next()??, parts.next()??))
    });
    if line == Some(CONTRACT) {
        return Ok(());
    }
    let (major, minor) = CONTRACT;
    Err(LoadError::new(
        plugin,
        format!(
            "it was built against contract {}, and this host speaks {major}.{minor}",
            version.unwrap_or("without a version")
        ),
    )
    .with_hint(format!("build it again with the wit/ of this version ({major}.{minor})")))
}

fn split_version(name: &str) -> (&str, Option<&str>) {
    match name.split_once('@') {
        Some((path, version)) => (path, Some(version)),
        None => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::resolved::{DirectoryGrant, HostGrant};

    fn message(kind: Kind, grants: &Grants, import: &str) -> String {
        match check_imports("probe", kind, grants, std::iter::once(import)) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_language_runtime_is_no_reach() {
        for import in
            ["wasi:io/streams@0.2.6", "wasi:cli/environment@0.2.6", "bathysphere:plugin/log@0.1.0"]
        {
            assert_eq!(message(Kind::Strategy, &Grants::default(), import), "ok");
        }
    }

    #[test]
    fn a_pure_kind_reaches_nothing_whatever_is_granted() {
        let grants = Grants {
            hosts: vec![HostGrant { host: "api.example.com".into(), port: None }],
            commands: vec!["ls".into()],
            directories: vec![DirectoryGrant { path: "/".into(), prefix: "/".into() }],
            ..Grants::default()
        };
        for (import, reach) in [
            ("bathysphere:plugin/http@0.1.0", "the network"),
            ("bathysphere:plugin/process@0.1.0", "processes"),
            ("bathysphere:plugin/documents@0.1.0", "files"),
            ("wasi:filesystem/types@0.2.6", "files"),
            ("wasi:sockets/tcp@0.2.6", "the network"),
        ] {
            let message = message(Kind::Strategy, &grants, import);
            assert!(message.contains(&format!("a strategy may not reach {reach}")), "{message}");
            assert!(message.contains("probe") && message.contains(import), "{message}");
        }
    }

    #[test]
    fn a_backend_needs_a_grant_for_each_reach() {
        let none = Grants::default();
        assert!(
            message(Kind::Search, &none, "bathysphere:plugin/http@0.1.0").contains("granted none")
        );
        let some = Grants {
            hosts: vec![HostGrant { host: "api.example.com".into(), port: None }],
            ..Grants::default()
        };
        assert_eq!(message(Kind::Search, &some, "bathysphere:plugin/http@0.1.0"), "ok");
        assert!(
            message(Kind::Search, &some, "bathysphere:plugin/process@0.1.0")
                .contains("granted none")
        );
    }

    #[test]
    fn an_import_can_be_granted_as_a_dead_end() {
        let grants = Grants { imports: vec!["wasi:filesystem".into()], ..Grants::default() };
        assert_eq!(message(Kind::Strategy, &grants, "wasi:filesystem/types@0.2.6"), "ok");
        assert!(
            message(Kind::Strategy, &grants, "wasi:sockets/tcp@0.2.6").contains("may not reach")
        );
    }

    #[test]
    fn everything_that_is_refused_is_told_at_once() {
        let imports = [
            "wasi:filesystem/types@0.2.6",
            "wasi:filesystem/preopens@0.2.6",
            "wasi:sockets/tcp@0.2.6",
        ];
        let error = check_imports("probe", Kind::Strategy, &Grants::default(), imports.into_iter())
            .unwrap_err();
        assert!(error.message.contains("reach files"), "{error}");
        assert!(error.message.contains("reach the network"), "{error}");
        assert!(!error.message.contains("preopens"), "{error}");
    }

    #[test]
    fn what_nobody_offers_is_refused() {
        let message = message(Kind::Agent, &Grants::default(), "wasi:http/outgoing-handler@0.2.6");
        assert!(message.contains("does not offer"), "{message}");
    }

    #[test]
    fn the_kind_is_what_is_exported_in_the_right_version() {
        let kind = |names: &[&str]| exported_kind("probe", names.iter().copied());
        assert_eq!(
            kind(&["bathysphere:plugin/meta@0.1.0", "bathysphere:plugin/search@0.1.4"]),
            Ok(Kind::Search)
        );
        let message = kind(&["bathysphere:plugin/strategy@0.2.0"]).unwrap_err().to_string();
        assert!(message.contains("contract 0.2.0") && message.contains("speaks 0.1"), "{message}");
        assert!(kind(&["wasi:cli/run@0.2.6"]).is_err());
        assert!(kind(&["bathysphere:plugin/search@0.1.0"]).is_err(), "meta is missing");
        assert!(
            kind(&[
                "bathysphere:plugin/meta@0.1.0",
                "bathysphere:plugin/search@0.1.0",
                "bathysphere:plugin/agent@0.1.0"
            ])
            .is_err()
        );
    }
}
