//! Where a request goes, and whether a grant covers it. Every hop of a request
//! is turned into a `Target` before anything is sent.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use super::address::is_public;
use crate::config::resolved::HostGrant;
use crate::gates::{GateError, GateErrorKind};

const LONGEST_URL: usize = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Address(IpAddr),
}

/// An origin: what has to be the same for credentials to be sent along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) encrypted: bool,
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Target {
    /// Reads a URL as the URL standard does, so that other spellings of an
    /// address (`0x7f.1`, `2130706433`, full-width digits) are that address.
    pub(super) fn parse(text: &str) -> Result<(Self, Url), GateError> {
        if text.len() > LONGEST_URL {
            return Err(invalid(format!(
                "the URL has {} bytes, and at most {LONGEST_URL} are sent",
                text.len()
            )));
        }
        let mut url = Url::parse(text).map_err(|error| {
            let start: String = text.chars().take(200).collect();
            invalid(format!("not a URL ({error}): {start}"))
        })?;
        url.set_fragment(None);
        Ok((Self::of(&url)?, url))
    }

    pub(super) fn of(url: &Url) -> Result<Self, GateError> {
        let encrypted = match url.scheme() {
            "https" => true,
            "http" => false,
            other => {
                return Err(GateError::refused(format!(
                    "only http and https are spoken, not {other}"
                )));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid(
                "the URL holds a user name or password, which would end up in logs".to_owned(),
            )
            .with_hint("bind a secret to the host in `grants.secrets` instead"));
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(invalid("the URL names no host".to_owned()));
        };
        let host = parse_address(host).map_or_else(|| Host::Name(host.to_owned()), Host::Address);
        Ok(Self { encrypted, host, port })
    }

    /// Whether the grant covers this target. An address is covered by a grant
    /// that names it; `*` covers every name, and every public address.
    pub(super) fn is_granted_by(&self, grant: &HostGrant) -> bool {
        let usual = if self.encrypted { 443 } else { 80 };
        if grant.port.unwrap_or(usual) != self.port {
            return false;
        }
        match &self.host {
            Host::Address(address) => {
                parse_address(&grant.host) == Some(*address)
                    || (grant.host == "*" && is_public(*address))
            }
            Host::Name(name) => {
                if grant.host == "*" {
                    return true;
                }
                match grant.host.strip_prefix("*.") {
                    Some(parent) => name
                        .strip_suffix(parent)
                        .and_then(|below| below.strip_suffix('.'))
                        .is_some_and(|label| !label.is_empty()),
                    None => *name == grant.host,
                }
            }
        }
    }

    /// Whether the target is this machine, so that nobody listens on the way.
    /// The resolver sees to it that `localhost` is.
    pub(super) fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => formatter.write_str(name)?,
            Host::Address(IpAddr::V4(address)) => write!(formatter, "{address}")?,
            Host::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]")?,
        }
        let usual = if self.encrypted { 443 } else { 80 };
        if self.port != usual {
            write!(formatter, ":{}", self.port)?;
        }
        Ok(())
    }
}

/// An address, with or without the brackets that a URL puts around IPv6.
fn parse_address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

fn invalid(message: String) -> GateError {
    GateError::new(GateErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(host: &str, port: Option<u16>, url: &str) -> bool {
        let grant = HostGrant { host: host.to_owned(), port };
        Target::parse(url).expect("a good URL").0.is_granted_by(&grant)
    }

    #[test]
    fn a_name_covers_itself_on_the_usual_port() {
        assert!(granted("example.com", None, "https://example.com/a?b#c"));
        assert!(granted("example.com", None, "http://EXAMPLE.com/"));
        assert!(granted("example.com", Some(8443), "https://example.com:8443/"));
        for url in [
            "https://example.com:8443/",
            "https://www.example.com/",
            "https://example.com.evil.net/",
            "https://notexample.com/",
            "https://example.com./",
            "http://example.com:443/",
            "https://example.co/",
        ] {
            assert!(!granted("example.com", None, url), "{url}");
        }
        assert!(!granted("example.com", Some(8443), "https://example.com/"));
    }

    #[test]
    fn a_wildcard_covers_names_below_only() {
        assert!(granted("*.example.com", None, "https://a.example.com/"));
        assert!(granted("*.example.com", None, "https://a.b.example.com/"));
        for url in
            ["https://example.com/", "https://badexample.com/", "https://example.com.evil.net/"]
        {
            assert!(!granted("*.example.com", None, url), "{url}");
        }
    }

    #[test]
    fn a_star_covers_no_local_address() {
        assert!(granted("*", None, "https://example.com/"));
        assert!(granted("*", None, "https://1.1.1.1/"));
        for url in ["http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/"] {
            assert!(!granted("*", None, url), "{url}");
        }
    }

    #[test]
    fn other_spellings_are_the_same_address() {
        for url in [
            "http://0x7f.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://１２７.0.0.1/",
            "http://127。0。0。1/",
        ] {
            assert!(granted("127.0.0.1", None, url), "{url}");
            assert!(!granted("*", None, url), "{url}");
        }
        assert!(granted("::1", None, "http://[0:0:0:0:0:0:0:1]/"));
        assert!(granted("[::1]", None, "http://[::1]/"));
        assert!(!granted("127.0.0.1", None, "http://[::ffff:127.0.0.1]/"));
    }

    #[test]
    fn odd_urls_are_not_sent() {
        let kind = |url: &str| Target::parse(url).expect_err(url).kind;
        for url in ["ftp://example.com/", "file:///etc/passwd", "data:text/plain,x", "unix:/x"] {
            assert_eq!(kind(url), GateErrorKind::Refused, "{url}");
        }
        for url in ["", "example.com", "https://", "https://user@example.com/", "https://:p@e.com/"]
        {
            assert_eq!(kind(url), GateErrorKind::InvalidInput, "{url}");
        }
        let long = format!("https://example.com/{}", "a".repeat(LONGEST_URL));
        assert_eq!(kind(&long), GateErrorKind::InvalidInput);
    }
}
