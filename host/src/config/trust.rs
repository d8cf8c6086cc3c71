//! What a plugins.toml may not do when it was merely found in the working
//! directory. It may come with somebody else's repository, so it may choose and
//! tune, and it may open its own directory; it may not give a plugin anything
//! that the user's own files and the defaults do not give it already, nor make
//! anything dearer.
//!
//! In full: `use`, `tools`, `documents`, `research`, `limits` and `settings` are
//! free within what they may cost (`spending`), but for the settings of a plugin
//! that may run commands, because those can become arguments, or that is handed a
//! secret, because those say what is paid for with it; and for where a service is
//! (`endpoint`), because that grants it. A `source` must be
//! built in, and a digest stays as it is. Everything in `grants` must already be
//! granted, except directories beneath the file's own. The command in `notify` stays
//! as it is, or goes. To accept more, the user names the file.

mod spending;

use std::collections::BTreeMap;
use std::path::{Component, Path};

use super::endpoint;
use super::layer::{Located, Mistakes, Place};
use super::raw::{RawConfig, RawPlugin, RawSecret, Setting, items};
use super::resolved::{HostGrant, PluginSource};

const HINT: &str = "if you trust this file, run with --config ./plugins.toml to accept it";

/// A file that was found, and what it is laid over.
pub struct Found<'a> {
    pub says: &'a RawConfig,
    pub directory: &'a Path,
    /// What the files below it say.
    pub below: &'a RawConfig,
    /// What would come out without it and with it, for the documents of this run:
    /// they decide which backends serve.
    pub before: &'a RawConfig,
    pub after: &'a RawConfig,
}

pub fn check(found: &Found<'_>, mistakes: &mut Mistakes) {
    for (name, plugin) in &found.says.plugins {
        let below = found.below.plugins.get(name);
        // What a broken table grants is not known; its own mistake comes first.
        if !below.is_some_and(|below| below.broken) {
            Checker { name, below, directory: found.directory, mistakes }.plugin(plugin);
        }
    }
    check_notify(found, mistakes);
    spending::check(found, mistakes);
}

fn check_notify(found: &Found<'_>, mistakes: &mut Mistakes) {
    let Some(command) = &found.says.notify.command else { return };
    let words = |list: &[Located<String>]| -> Vec<String> {
        list.iter().map(|word| word.value.clone()).collect()
    };
    let below = words(items(found.below.notify.command.as_ref()));
    if !command.value.is_empty() && words(&command.value) != below {
        refuse(mistakes, command.place, "name a command to be run when a task ends");
    }
}

fn refuse(mistakes: &mut Mistakes, place: Place, deed: &str) {
    mistakes.add(
        place,
        format!(
            "a file that was found in the working directory, and not named by you, may not {deed}"
        ),
        HINT,
    );
}

fn runs_commands(plugin: &RawPlugin) -> bool {
    !items(plugin.grants.commands.as_ref()).is_empty()
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
            && self.below.and_then(|below| below.source.as_ref()).map(|below| &below.value)
                != Some(&source.value)
        {
            self.refuse(source.place, "load the component of");
        }
        if let (Some(pin), Some(below)) =
            (&found.sha256, self.below.and_then(|below| below.sha256.as_ref()))
            && pin.value != below.value
        {
            self.refuse(pin.place, "change the digest that pins");
        }
        self.settings(found);
        let below = self.below.map(|plugin| &plugin.grants);
        let grants = &found.grants;
        let covers = |below: &HostGrant, found: &HostGrant| below.covers(found);
        self.list(
            items(grants.hosts.as_ref()),
            items(below.and_then(|below| below.hosts.as_ref())),
            covers,
            "open a host to",
        );
        self.list(
            items(grants.commands.as_ref()),
            items(below.and_then(|below| below.commands.as_ref())),
            PartialEq::eq,
            "allow a command to",
        );
        self.list(
            items(grants.environment.as_ref()),
            items(below.and_then(|below| below.environment.as_ref())),
            PartialEq::eq,
            "hand a variable to",
        );
        self.list(
            items(grants.imports.as_ref()),
            items(below.and_then(|below| below.imports.as_ref())),
            PartialEq::eq,
            "allow imports to",
        );
        for (name, secret) in &grants.secrets {
            let known = below.and_then(|below| below.secrets.get(name));
            if !known.is_some_and(|known| says_the_same(known, secret)) {
                self.refuse(secret.place, "hand a secret to");
            }
        }
        let directory = self.directory;
        let outside: Vec<_> = items(grants.directories.as_ref())
            .iter()
            .filter(|granted| !is_beneath(&granted.value.path, directory))
            .cloned()
            .collect();
        self.list(
            &outside,
            items(below.and_then(|below| below.directories.as_ref())),
            |below, found| is_beneath(&found.path, &below.path),
            "open a directory outside its own to",
        );
    }

    fn settings(&mut self, found: &RawPlugin) {
        let Some(settings) = &found.settings else { return };
        if let Some(url) = endpoint::setting(found)
            && self.below.and_then(endpoint::setting).map(|below| &below.value) != Some(&url.value)
        {
            return self.refuse(url.place, "choose, with `base_url`, the service of");
        }
        let Some(below) = self.below else { return };
        let deed = if runs_commands(below) {
            "change the settings, which can become arguments of commands, of"
        } else if !below.grants.secrets.is_empty() {
            "change the settings, which say what is paid for with its key, of"
        } else {
            return;
        };
        if changes(below.settings.as_ref(), settings) {
            self.refuse(settings.place, deed);
        }
    }

    /// The first that is new is enough to say so.
    fn list<T>(
        &mut self,
        found: &[Located<T>],
        granted: &[Located<T>],
        covers: impl Fn(&T, &T) -> bool,
        deed: &str,
    ) {
        let is_granted = |found: &T| granted.iter().any(|granted| covers(&granted.value, found));
        if let Some(news) = found.iter().find(|found| !is_granted(&found.value)) {
            self.refuse(news.place, deed);
        }
    }

    fn refuse(&mut self, place: Place, deed: &str) {
        refuse(self.mistakes, place, &format!("{deed} `{}`", self.name));
    }
}

fn says_the_same(below: &RawSecret, found: &RawSecret) -> bool {
    fn same<T: PartialEq>(below: Option<&Located<T>>, found: Option<&Located<T>>) -> bool {
        match (below, found) {
            (_, None) => true,
            (Some(below), Some(found)) => below.value == found.value,
            (None, Some(_)) => false,
        }
    }
    same(below.host.as_ref(), found.host.as_ref())
        && same(below.header.as_ref(), found.header.as_ref())
        && same(below.prefix.as_ref(), found.prefix.as_ref())
}

fn changes(below: Option<&Located<Setting>>, found: &Located<Setting>) -> bool {
    let Some(below) = below else {
        return found.value != Setting::Table(BTreeMap::new());
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
                && rest.components().all(|part| matches!(part, Component::Normal(_)));
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
