//! The HTTP client itself: built at first use, deaf to ambient proxies, and able
//! to connect only to addresses that were checked. Knows nothing of plugins.

use std::error::Error as StdError;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::HttpLimits;
use super::address::is_public;
use super::target::Target;
use crate::gates::{GateError, GateErrorKind};

type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// How a name becomes addresses; tests put their own in.
pub(super) type LookupFunction = Arc<dyn Fn(String) -> Lookup + Send + Sync>;

/// Asks the system, as every program does.
#[expect(clippy::disallowed_methods, reason = "what is found is checked by CheckedResolver")]
pub(super) fn system_lookup() -> LookupFunction {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// A name that leads only to places that no grant names.
#[derive(Debug, thiserror::Error)]
#[error("{name} leads to {address}, which is not on the public internet")]
struct AddressRefused {
    name: String,
    address: IpAddr,
}

#[derive(Debug, thiserror::Error)]
#[error("{0} has no address")]
struct NoAddress(String);

/// Looks names up and hands on only checked addresses. The connection is made to
/// exactly these, so a second answer of the name server changes nothing.
struct CheckedResolver {
    lookup: LookupFunction,
    /// A grant names `localhost`; it then has to be this machine.
    localhost: bool,
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let name = name.as_str().to_ascii_lowercase();
        let looked_up = (self.lookup)(name.clone());
        let loopback = self.localhost && name == "localhost";
        Box::pin(async move {
            let found = looked_up.await?;
            let Some(first) = found.first().copied() else {
                return Err(NoAddress(name).into());
            };
            let checked: Vec<SocketAddr> = found
                .into_iter()
                .filter(
                    |address| {
                        if loopback { address.is_loopback() } else { is_public(*address) }
                    },
                )
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if checked.is_empty() {
                return Err(AddressRefused { name, address: first }.into());
            }
            Ok(Box::new(checked.into_iter()) as Addrs)
        })
    }
}

/// One client for each scheme: plain http needs no certificates, so it works on
/// a machine that has none, and at once.
pub(super) struct Clients {
    plain: OnceLock<Client>,
    encrypted: OnceLock<Client>,
    pub(super) lookup: LookupFunction,
    localhost: bool,
    connect: Duration,
}

impl Clients {
    pub(super) fn new(localhost: bool, limits: &HttpLimits) -> Self {
        Self {
            plain: OnceLock::new(),
            encrypted: OnceLock::new(),
            lookup: system_lookup(),
            localhost,
            connect: limits.connect,
        }
    }

    pub(super) fn get(&self, encrypted: bool) -> Result<Client, GateError> {
        let cell = if encrypted { &self.encrypted } else { &self.plain };
        if let Some(client) = cell.get() {
            return Ok(client.clone());
        }
        let client = self.build(encrypted)?;
        Ok(cell.get_or_init(|| client).clone())
    }

    #[cfg(test)]
    pub(super) fn is_built(&self, encrypted: bool) -> bool {
        if encrypted { self.encrypted.get().is_some() } else { self.plain.get().is_some() }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one client, behind the http gate")]
    fn build(&self, encrypted: bool) -> Result<Client, GateError> {
        // An error means that one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let resolver = CheckedResolver { lookup: self.lookup.clone(), localhost: self.localhost };
        let mut builder = Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // A request may cost money: whether it is sent again is not ours to say. The
            // pool takes another connection only for a request of which nothing was
            // written yet (hyper gives it back whole), which a test holds it to.
            .retry(reqwest::retry::never())
            .user_agent(concat!("bathysphere/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect)
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(4)
            .http1_max_headers(128)
            .dns_resolver(Arc::new(resolver));
        builder = if encrypted { builder.https_only(true) } else { builder.tls_certs_only([]) };
        builder.build().map_err(|error| {
            GateError::other(
                NOT_SENT,
                format!("cannot set up encrypted connections: {}", root_cause(&error)),
            )
            .with_hint(
                "install the system's root certificates (the package ca-certificates), or name \
                 them in SSL_CERT_FILE",
            )
        })
    }
}

/// What a failed request means to the plugin that made it.
pub(super) fn failure(error: reqwest::Error, target: &Target) -> GateError {
    // The URL may hold what should not be told.
    let error = error.without_url();
    if let Some(refused) = find::<AddressRefused>(&error) {
        return GateError::refused(refused.to_string()).with_hint(format!(
            "if that is meant, grant the address itself (\"{}\") and use it in the URL",
            refused.address
        ));
    }
    let cause = root_cause(&error);
    // The parser's own error type is out of reach behind two libraries.
    if cause.contains("head is too large") || cause.contains("too many headers") {
        return GateError::other(
            "too-large",
            format!("the headers of {target}'s answer are too large"),
        );
    }
    // A connection is whole, with its encryption, before a request is written to it:
    // these have not left.
    if error.is_dns() {
        GateError::other(NOT_SENT, format!("cannot find the address of {target}: {cause}"))
            .with_hint("check the name and the network")
    } else if error.is_connect() {
        GateError::other(NOT_SENT, format!("cannot connect to {target}: {cause}"))
    } else if error.is_timeout() {
        GateError::other("timeout", format!("{target} did not answer in time"))
    } else {
        let message = format!("the connection to {target} was cut off: {cause}");
        GateError::new(GateErrorKind::Unavailable, message)
    }
}

/// What the error is called when nothing has left: whoever pays for requests may send
/// it again.
pub(super) const NOT_SENT: &str = "not-sent";

fn find<'error, Wanted: StdError + 'static>(
    error: &'error (dyn StdError + 'static),
) -> Option<&'error Wanted> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(wanted) = error.downcast_ref() {
            return Some(wanted);
        }
        current = error.source();
    }
    None
}

/// The innermost error says the most; the outer ones repeat that sending failed.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
