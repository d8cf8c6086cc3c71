//! Where a built-in plugin's service is, when the user says so: `base_url` among its
//! settings, or a variable that sets it. Whoever names the service means it to be
//! asked, and with the key: its host is granted, and the plugin's secrets are bound to
//! it, unless a stronger file binds them elsewhere.
//!
//! A file that was merely found may not set it (`trust`), because it could have the
//! key sent to anybody.

use url::{Host, Url};

use super::layer::{Located, Place};
use super::raw::{RawConfig, RawPlugin, Setting};
use super::resolved::{HostGrant, PluginSource};

/// The setting's name, in every built-in plugin that has one.
pub const BASE_URL: &str = "base_url";

/// Grants what the files and variables name. The defaults grant their own.
pub fn overlay(config: &mut RawConfig) {
    for plugin in config.plugins.values_mut() {
        let Some((text, place)) = base_url(plugin) else { continue };
        // What is wrong with it, the plugin says, at its line.
        if let Ok(host) = parse(text) {
            grant(plugin, &host, place);
        }
    }
}

/// What a plugin's settings say, and where.
pub fn setting(plugin: &RawPlugin) -> Option<&Located<Setting>> {
    match &plugin.settings.as_ref()?.value {
        Setting::Table(table) => table.get(BASE_URL),
        _ => None,
    }
}

fn base_url(plugin: &RawPlugin) -> Option<(&str, Place)> {
    if !matches!(plugin.source.as_ref()?.value, PluginSource::Builtin(_)) {
        return None;
    }
    let found = setting(plugin).filter(|found| !found.place.is_built_in())?;
    match &found.value {
        Setting::Leaf(serde_json::Value::String(text)) => Some((text, found.place)),
        _ => None,
    }
}

fn grant(plugin: &mut RawPlugin, host: &HostGrant, place: Place) {
    let empty = Located { value: Vec::new(), place };
    let hosts = plugin.grants.hosts.get_or_insert(empty);
    if !hosts.value.iter().any(|granted| granted.value.covers(host)) {
        hosts.value.push(Located { value: host.clone(), place });
        hosts.place = place;
    }
    for secret in plugin.grants.secrets.values_mut() {
        // Who says both in one file means both.
        let bound = secret.host.as_ref().filter(|bound| bound.place.layer >= place.layer);
        if bound.is_none() {
            secret.host = Some(Located { value: host.clone(), place });
        }
    }
}

/// The host of a base URL; or what is wrong with the URL, without repeating it,
/// because it may hold a password.
pub fn parse(text: &str) -> Result<HostGrant, &'static str> {
    const NO_HOST: &str = "names no host that can be granted";
    if text.contains(char::is_whitespace) {
        return Err("holds spaces");
    }
    let url = Url::parse(text).map_err(|_| "is not a URL")?;
    let encrypted = match url.scheme() {
        "https" => true,
        "http" => false,
        _ => return Err("is neither https nor http"),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a user name or a password, which would end up in logs");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("has a query or a fragment, and a path is added to it");
    }
    let here = match url.host().ok_or(NO_HOST)? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    if !encrypted && !here {
        return Err("is plain http, over which a key is sent to this machine alone");
    }
    let mut text = url.host_str().ok_or(NO_HOST)?.to_owned();
    if let Some(port) = url.port() {
        text = format!("{text}:{port}");
    }
    HostGrant::parse(&text).ok().filter(|host| !host.is_wildcard()).ok_or(NO_HOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_as_a_grant_would_name_it() {
        for (url, host) in [
            ("https://example.com", "example.com"),
            ("https://EXAMPLE.com:443/gemini/", "example.com"),
            ("https://example.com:8443", "example.com:8443"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
            ("https://10.0.0.1/", "10.0.0.1"),
            ("http://127.0.0.1:1234", "127.0.0.1:1234"),
            ("http://0x7f.1:1234", "127.0.0.1:1234"),
            ("http://[::1]:1234/", "[::1]:1234"),
            ("http://localhost/", "localhost"),
        ] {
            assert_eq!(parse(url).map(|host| host.to_string()), Ok(host.to_owned()), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_one_is_not_repeated() {
        for url in [
            "",
            "hunter2",
            "ftp://hunter2",
            "file:///hunter2",
            "https://",
            "https://user:hunter2@example.com",
            "https://hunter2@example.com",
            "https://example.com/?key=hunter2",
            "https://example.com/#hunter2",
            "http://hunter2.example.com",
            "http://10.0.0.1",
            "http://localhost.example.com",
            "https://*.example.com",
            "https://*",
            "https://example.com./",
            "https://exam ple.com",
            "https://example.com:99999",
        ] {
            let reason = parse(url).expect_err(url);
            assert!(!reason.contains("hunter2"), "{reason}");
        }
    }
}
