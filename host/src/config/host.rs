//! What counts as a host in a grant: a name, an address or a wildcard, with or
//! without a port, and nothing of a URL around it.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::read::Wrong;
use super::resolved::HostGrant;

impl HostGrant {
    /// Reads `api.tavily.com`, `127.0.0.1:8080`, `[::1]:80` or `*.example.com`.
    pub(super) fn parse(text: &str) -> Result<Self, Wrong> {
        let bare = without_url(text);
        if bare != text {
            return Err(Wrong::new(
                format!("`{text}` is a URL or holds part of one, and a grant names only a host"),
                match Self::parse(bare) {
                    Ok(host) => format!("write \"{host}\""),
                    Err(_) => EXAMPLES.to_owned(),
                },
            ));
        }
        if text.is_empty() {
            return Err(Wrong::new("a host cannot be empty", EXAMPLES));
        }
        let wrong = |why: &str| Wrong::new(format!("`{text}` is not a host: {why}"), EXAMPLES);
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) =
                rest.split_once(']').ok_or_else(|| wrong("the bracket is not closed"))?;
            let address: Ipv6Addr =
                address.parse().map_err(|_| wrong("there is no IPv6 address in the brackets"))?;
            let port = match rest.strip_prefix(':') {
                Some(port) => Some(port),
                None if rest.is_empty() => None,
                None => return Err(wrong("only a port may follow the bracket")),
            };
            (address.to_string(), port)
        } else if let Ok(address) = text.parse::<Ipv6Addr>() {
            (address.to_string(), None)
        } else {
            let (host, port) = match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            };
            (name(host).map_err(|why| wrong(&why))?, port)
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(wrong("a port is a number from 1 to 65535")),
        };
        Ok(Self { host, port })
    }

    /// Whether everything that `other` names is named by this too.
    pub fn covers(&self, other: &Self) -> bool {
        let below = || {
            let suffix = self.host.strip_prefix('*')?;
            let label = other.host.strip_suffix(suffix)?;
            (!label.is_empty()).then_some(())
        };
        self.port == other.port && (self.host == other.host || below().is_some())
    }

    pub fn is_wildcard(&self) -> bool {
        self.host.starts_with('*')
    }
}

/// As it is written in plugins.toml.
impl fmt::Display for HostGrant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(formatter, "[{}]", self.host)?;
        } else {
            formatter.write_str(&self.host)?;
        }
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

const EXAMPLES: &str = "write a name, an address or a wildcard, such as \"api.tavily.com\", \"127.0.0.1:8080\", \
     \"[::1]:80\" or \"*.example.com\"";

/// What is left of a URL when scheme, user, path, query and fragment are gone.
fn without_url(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
    rest.rsplit_once('@').map_or(rest, |(_, host)| host)
}

fn name(text: &str) -> Result<String, String> {
    let lower = text.to_lowercase();
    let (labels, wildcard) = match lower.strip_prefix("*.") {
        Some(rest) => (rest, true),
        None => (lower.as_str(), false),
    };
    if labels.is_empty() {
        return Err("it is empty".to_owned());
    }
    if labels.contains('*') {
        return Err("a wildcard stands only for the first label, as in `*.example.com`".to_owned());
    }
    if !labels.is_ascii() {
        return Err("international names are written in their `xn--` form".to_owned());
    }
    if labels.len() > 253 {
        return Err("it is longer than 253 characters".to_owned());
    }
    let numeric = labels
        .split('.')
        .next_back()
        .is_some_and(|last| !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()));
    if numeric && (wildcard || labels.parse::<Ipv4Addr>().is_err()) {
        return Err("it ends in a number, and is no IPv4 address".to_owned());
    }
    for label in labels.split('.') {
        if label.is_empty() {
            return Err("there is nothing between two dots, or before the first or after the last"
                .to_owned());
        }
        if let Some(character) =
            label.chars().find(|&c| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        {
            return Err(format!("{character:?} cannot stand in a name"));
        }
        if label.len() > 63 || label.starts_with('-') || label.ends_with('-') {
            return Err(format!("`{label}` cannot be part of a name"));
        }
    }
    // `*.com` would grant most of the network by one slip.
    if wildcard && !labels.contains('.') {
        return Err("a wildcard needs at least two labels after it".to_owned());
    }
    Ok(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> HostGrant {
        HostGrant::parse(text).unwrap_or_else(|wrong| panic!("{text}: {}", wrong.message))
    }

    #[test]
    fn hosts_come_back_as_they_were_written() {
        for text in [
            "api.tavily.com",
            "localhost",
            "127.0.0.1:8080",
            "127.0.0.1",
            "[::1]:80",
            "[2001:db8::1]",
            "*.example.com",
            "*.example.com:8443",
            "my_host.internal",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
        assert_eq!(parse("API.Tavily.com").host, "api.tavily.com");
        assert_eq!(parse("::1"), HostGrant { host: "::1".to_owned(), port: None });
        assert_eq!(parse("[0:0:0:0:0:0:0:1]:443").to_string(), "[::1]:443");
    }

    #[test]
    fn what_is_no_host_is_refused_with_what_would_be_right() {
        let hint = |text: &str| HostGrant::parse(text).unwrap_err().hint;
        assert_eq!(hint("https://api.tavily.com/search"), "write \"api.tavily.com\"");
        assert_eq!(hint("api.tavily.com/"), "write \"api.tavily.com\"");
        assert_eq!(hint("http://user:pw@localhost:3000?x"), "write \"localhost:3000\"");
        for text in [
            "",
            "*",
            "*.com",
            "a.*.com",
            "a..b",
            ".a",
            "a.",
            "a b",
            "[::1",
            "[::1]x",
            "[zz]",
            "a:0",
            "a:70000",
            "a:b",
            "a:",
            "-a.b",
            "999.1.1.1",
            "1.2.3",
            "bücher.de",
            "https://",
            "*.1.2.3.4",
        ] {
            assert!(HostGrant::parse(text).is_err(), "{text:?} was taken for a host");
        }
    }

    #[test]
    fn a_wildcard_covers_names_below_it_and_not_itself() {
        let wide = parse("*.example.com");
        assert!(wide.covers(&parse("api.example.com")));
        assert!(wide.covers(&parse("a.b.example.com")));
        assert!(!wide.covers(&parse("example.com")));
        assert!(!wide.covers(&parse("badexample.com")));
        assert!(!wide.covers(&parse("api.example.com:8080")));
        assert!(!parse("api.example.com").covers(&wide));
        assert!(parse("a.b:1").covers(&parse("a.b:1")));
    }
}
