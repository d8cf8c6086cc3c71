//! What a plugins.toml may not do when it was merely found in the working
//! directory. It may come with somebody else's repository, so it may choose and
//! tune, and it may open its own directory; it may not give a plugin anything
//! that the user's own files and the defaults do not give it already.
//!
//! In full: `use`, `tools`, `limits` and `settings` are free, but for the settings
//! of a plugin that may run commands, because those can become arguments. A
//! `source` must be built in. Everything in `grants` must already be granted,
//! except directories beneath the file's own. To accept more, the user names the
//! file.

use std::path::{Component, Path};

use super::layer::{Located, Mistakes, Place};
use super::raw::{List, RawConfig, RawPlugin, RawSecret, Setting};
use super::resolved::{HostGrant, PluginSource};

const HINT: &str = "if you trust this file, run with --config ./plugins.toml to accept it";

/// Checks the file `found` in `directory` against what is laid `below` it.
pub fn check(found: &RawConfig, below: &RawConfig, directory: &Path, mistakes: &mut Mistakes) {
    for (name, plugin) in &found.plugins {
        let below = below.plugins.get(name);
        // What a broken table grants is not known; its own mistake comes first.
        if !below.is_some_and(|below| below.broken) {
            Checker {
                name,
                below,
                directory,
                mistakes,
            }
            .plugin(plugin);
        }
    }
}

struct Checker<'a> {
    name: &'a str,
    below: Option<&'a RawPlugin>,
    directory: &'a Path,
    mistakes: &'a mut Mistakes,
}

impl Checker<'_> {
    fn plugin(&mut self, found: &RawPlugin) {
        if let Some(source) = &found.source
            && matches!(source.value, PluginSource::Path(_))
            && self
                .below
                .and_then(|below| below.source.as_ref())
                .map(|below| &below.value)
                != Some(&source.value)
        {
            self.refuse(source.place, "load the component of");
        }
        if let (Some(settings), Some(below)) = (&found.settings, self.below)
            && below
                .grants
                .commands
                .as_ref()
                .is_some_and(|list| !list.value.is_empty())
            && changes(below.settings.as_ref(), settings)
        {
            self.refuse(
                settings.place,
                "change the settings, and with them the commands, of",
            );
        }
        let below = self.below.map(|plugin| &plugin.grants);
        let grants = &found.grants;
        let covers = |below: &HostGrant, found: &HostGrant| below.covers(found);
        self.list(
            &grants.hosts,
            below.map(|below| &below.hosts),
            covers,
            "open a host to",
        );
        self.list(
            &grants.commands,
            below.map(|below| &below.commands),
            PartialEq::eq,
            "allow a command to",
        );
        self.list(
            &grants.environment,
            below.map(|below| &below.environment),
            PartialEq::eq,
            "hand a variable to",
        );
        self.list(
            &grants.imports,
            below.map(|below| &below.imports),
            PartialEq::eq,
            "allow imports to",
        );
        for (name, secret) in &grants.secrets {
            let known = below.and_then(|below| below.secrets.get(name));
            if !known.is_some_and(|known| says_the_same(known, secret)) {
                self.refuse(secret.place, "hand a secret to");
            }
        }
        let directory = self.directory.to_owned();
        let outside = grants.directories.as_ref().map(|list| Located {
            place: list.place,
            value: list
                .value
                .iter()
                .filter(|granted| !is_beneath(&granted.value.path, &directory))
                .cloned()
                .collect(),
        });
        self.list(
            &outside,
            below.map(|below| &below.directories),
            |below, found| is_beneath(&found.path, &below.path),
            "open a directory outside its own to",
        );
    }

    fn list<T>(
        &mut self,
        found: &List<T>,
        below: Option<&List<T>>,
        covers: impl Fn(&T, &T) -> bool,
        deed: &str,
    ) {
        let granted = below
            .and_then(Option::as_ref)
            .map_or(&[][..], |list| &list.value);
        let news = found.iter().flat_map(|list| &list.value).find(|found| {
            !granted
                .iter()
                .any(|granted| covers(&granted.value, &found.value))
        });
        if let Some(news) = news {
            self.refuse(news.place, deed);
        }
    }

    fn refuse(&mut self, place: Place, deed: &str) {
        let name = self.name;
        self.mistakes.add(
            place,
            format!(
                "a file that was found in the working directory, and not named by you, may not {deed} `{name}`"
            ),
            HINT,
        );
    }
}

fn says_the_same(below: &RawSecret, found: &RawSecret) -> bool {
    fn same<T: PartialEq>(below: &Option<Located<T>>, found: &Option<Located<T>>) -> bool {
        match (below, found) {
            (_, None) => true,
            (Some(below), Some(found)) => below.value == found.value,
            (None, Some(_)) => false,
        }
    }
    same(&below.host, &found.host)
        && same(&below.header, &found.header)
        && same(&below.prefix, &found.prefix)
}

fn changes(below: Option<&Located<Setting>>, found: &Located<Setting>) -> bool {
    let Some(below) = below else {
        return found.value != Setting::Table(Default::default());
    };
    let mut merged = below.clone();
    Setting::overlay(&mut merged, found.clone());
    merged.value.to_json() != below.value.to_json()
}

/// Where links lead is what counts. The part of a path that does not exist yet is
/// taken at its word, and may not lead up again.
fn is_beneath(path: &Path, directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else {
        return false;
    };
    let mut existing = path;
    loop {
        if let Ok(real) = existing.canonicalize() {
            let rest = path.strip_prefix(existing).unwrap_or(path);
            return real.starts_with(directory)
                && rest
                    .components()
                    .all(|part| matches!(part, Component::Normal(_)));
        }
        // A link that leads nowhere yet may lead anywhere later.
        if existing.is_symlink() {
            return false;
        }
        match existing.parent() {
            Some(parent) => existing = parent,
            None => return false,
        }
    }
}
