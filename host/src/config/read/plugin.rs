//! `[plugins.NAME]` and the tables below it.

use toml::de::DeValue;

use super::super::limits::{self, LIMITS};
use super::super::raw::{RawGrants, RawPlugin, RawSecret};
use super::super::resolved::HostGrant;
use super::{Item, Key, Reader, Wrong, values};

const PLUGIN_KEYS: &[&str] = &["source", "sha256", "settings", "grants", "limits"];
const GRANT_KEYS: &[&str] =
    &["hosts", "commands", "environment", "directories", "secrets", "imports"];
const SECRET_KEYS: &[&str] = &["host", "header", "prefix"];

impl Reader<'_> {
    pub(super) fn plugin(&mut self, name: &Key<'_>, item: &Item<'_>) -> RawPlugin {
        let before = self.mistakes.count();
        let mut plugin = RawPlugin::new(self.key_place(name));
        if let Err(wrong) = values::plugin_name(name.get_ref()) {
            self.mistakes.add(plugin.place, wrong.message, wrong.hint);
        }
        let path = format!("plugins.{}", name.get_ref());
        if let DeValue::String(text) = item.get_ref() {
            let hint = format!("write [{path}], and below it `source = \"{text}\"`");
            self.wrong_type(&path, "a table", item, &hint);
            plugin.broken = true;
            return plugin;
        }
        for (key, item) in self.entries(&path, name, item) {
            let key_name = key.get_ref().as_ref();
            let below = format!("{path}.{key_name}");
            match key_name {
                "source" => plugin.source = self.parsed(&below, item, Self::source),
                "sha256" => {
                    plugin.sha256 = self.parsed(&below, item, |_, text| values::sha256(text));
                }
                // What is in them is for the plugin to judge.
                "settings" if item.get_ref().is_table() => {
                    plugin.settings = self.any_setting(&below, Some(key), item);
                }
                "settings" => {
                    self.entries(&below, key, item);
                }
                "grants" => plugin.grants = self.grants(&below, key, item),
                "limits" => plugin.limits = self.numbers(&below, key, item, LIMITS),
                _ => self.unknown_in_plugin(&path, key),
            }
        }
        plugin.broken = self.mistakes.count() > before;
        plugin
    }

    /// A key that belongs one table further down is told where.
    fn unknown_in_plugin(&mut self, path: &str, key: &Key<'_>) {
        let name = key.get_ref().as_ref();
        let table = if GRANT_KEYS.contains(&name) {
            "grants"
        } else if limits::find(LIMITS, name).is_some() {
            "limits"
        } else {
            return self.unknown(key, &format!("in [{path}]"), PLUGIN_KEYS);
        };
        let place = self.key_place(key);
        self.mistakes.add(
            place,
            format!("unknown key `{name}` in [{path}]"),
            format!("it belongs in [{path}.{table}]"),
        );
    }

    fn grants(&mut self, path: &str, key: &Key<'_>, item: &Item<'_>) -> RawGrants {
        let mut grants = RawGrants::default();
        for (key, item) in self.entries(path, key, item) {
            let name = key.get_ref().as_ref();
            let below = format!("{path}.{name}");
            match name {
                "hosts" => grants.hosts = self.list(&below, item, |_, text| HostGrant::parse(text)),
                "commands" => grants.commands = self.list(&below, item, Self::command),
                "environment" => {
                    grants.environment = self.list(&below, item, |_, text| values::variable(text));
                }
                "directories" => grants.directories = self.list(&below, item, Self::directory),
                "imports" => {
                    grants.imports = self.list(&below, item, |_, text| values::import(text));
                }
                "secrets" => {
                    for (name, item) in self.entries(&below, key, item) {
                        let secret = self.secret(&below, name, item);
                        grants.secrets.insert(name.get_ref().to_string(), secret);
                    }
                }
                _ => self.unknown(key, &format!("in [{path}]"), GRANT_KEYS),
            }
        }
        grants
    }

    fn secret(&mut self, path: &str, name: &Key<'_>, item: &Item<'_>) -> RawSecret {
        let place = self.key_place(name);
        if let Err(wrong) = values::variable(name.get_ref()) {
            self.mistakes.add(place, wrong.message, wrong.hint);
        }
        let path = format!("{path}.{}", name.get_ref());
        let mut secret = RawSecret { place, host: None, header: None, prefix: None };
        for (key, item) in self.entries(&path, name, item) {
            let key_name = key.get_ref().as_ref();
            let below = format!("{path}.{key_name}");
            match key_name {
                "host" => secret.host = self.parsed(&below, item, |_, text| secret_host(text)),
                "header" => {
                    secret.header = self.parsed(&below, item, |_, text| values::header(text));
                }
                "prefix" => {
                    secret.prefix = self.parsed(&below, item, |_, text| values::prefix(text));
                }
                _ => self.unknown(key, &format!("in [{path}]"), SECRET_KEYS),
            }
        }
        secret
    }
}

fn secret_host(text: &str) -> Result<HostGrant, Wrong> {
    let host = HostGrant::parse(text)?;
    if host.is_wildcard() {
        return Err(Wrong::new(
            format!("a secret is sent to one host, and `{text}` stands for many"),
            "name the host, such as \"api.tavily.com\"",
        ));
    }
    Ok(host)
}
