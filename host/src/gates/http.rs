//! The http gate: requests to the hosts that a plugin is granted, and to nothing
//! else. Every hop is checked before it is sent; a secret goes only to the host
//! it is bound to, and never to the plugin.
//!
//! The rules, each with a test that it refuses:
//! - only http and https, only granted hosts and ports;
//! - a name must lead to a public address, unless the grant is `localhost`; any
//!   other local address has to be granted, and asked, as an address;
//! - redirects are followed here (five at most), each checked like the first
//!   request; once the origin changes, no credentials are sent any more, and a
//!   redirect that carries one along is not followed;
//! - an answer is masked for every secret that was sent on the way to it;
//! - a granted host may be asked over plain http, but a secret is never sent that
//!   way, except to this machine;
//! - bodies, headers and time are bounded, and proxies of the environment ignored;
//! - a request is sent once: `not-sent` promises that nothing has left, and no other
//!   error does.

mod address;
mod body;
mod client;
mod headers;
mod target;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode, Url};

use self::client::{Clients, NOT_SENT, failure};
use self::target::Target;
use super::secrets::{Secret, Secrets, holds, redact_bytes};
use super::{GateError, GateErrorKind};
use crate::config::resolved::{Grants, HostGrant, SecretGrant};

const MOST_REDIRECTS: usize = 5;
const METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

/// See `http.request` in `wit/host.wit`.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub timeout: Option<Duration>,
    pub max_bytes: Option<u64>,
}

/// See `http.response` in `wit/host.wit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// After redirects.
    pub url: String,
}

/// What one request may use; a request may ask for less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLimits {
    /// To find the address and to connect.
    pub connect: Duration,
    /// In all, with redirects and the body.
    pub total: Duration,
    /// A body, sent or received, packed or unpacked.
    pub body_bytes: usize,
    /// Headers received.
    pub header_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_mins(1),
            body_bytes: 16 << 20,
            header_bytes: 64 << 10,
        }
    }
}

/// One plugin's way to the network.
pub struct HttpGate {
    hosts: Vec<HostGrant>,
    bindings: Vec<SecretGrant>,
    secrets: Arc<Secrets>,
    limits: HttpLimits,
    clients: Clients,
}

impl HttpGate {
    /// Costs nothing: the client is built at the first request.
    pub fn new(grants: &Grants, secrets: Arc<Secrets>) -> Self {
        Self::with_limits(grants, secrets, HttpLimits::default())
    }

    pub fn with_limits(grants: &Grants, secrets: Arc<Secrets>, limits: HttpLimits) -> Self {
        let localhost = grants.hosts.iter().any(|grant| grant.host == "localhost");
        Self {
            hosts: grants.hosts.clone(),
            bindings: grants.secrets.clone(),
            secrets,
            clients: Clients::new(localhost, &limits),
            limits,
        }
    }

    /// What is sent for the plugin, and must not come back.
    pub(in crate::gates) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let bound = self.bindings.iter().filter_map(|binding| self.secrets.get(&binding.name));
        bound.map(|secret| Secret::new(secret.expose()))
    }

    pub async fn send(&self, request: Request) -> Result<Response, GateError> {
        let limit = request.timeout.map_or(self.limits.total, |asked| asked.min(self.limits.total));
        let reads = ["GET", "HEAD"].iter().any(|known| known.eq_ignore_ascii_case(&request.method));
        let mut redirected = false;
        let result = match tokio::time::timeout(limit, self.follow(request, &mut redirected)).await
        {
            Ok(result) if redirected => result.map_err(|error| after_redirect(error, reads)),
            Ok(result) => result,
            Err(_) => Err(GateError::other(
                "timeout",
                format!("the request was not answered within {limit:?}"),
            )),
        };
        // A library's message may repeat what was sent.
        result.map_err(|error| GateError {
            kind: error.kind,
            message: self.secrets.redact(&error.message),
            hint: error.hint,
        })
    }

    /// Sends the request, and again wherever a redirect leads.
    async fn follow(&self, request: Request, redirected: &mut bool) -> Result<Response, GateError> {
        let mut method = checked_method(&request.method)?;
        let mut headers = headers::checked(&request.headers, &self.bindings)?;
        let mut body = request.body;
        if let Some(length) = body.as_ref().map(Vec::len)
            && length > self.limits.body_bytes
        {
            return Err(GateError::other(
                "too-large",
                format!(
                    "the body has {length} bytes, and at most {} are sent",
                    self.limits.body_bytes
                ),
            ));
        }
        let most = request.max_bytes.map_or(self.limits.body_bytes, |asked| {
            usize::try_from(asked).unwrap_or(usize::MAX).min(self.limits.body_bytes)
        });

        let (mut target, mut url) = Target::parse(&request.url)?;
        self.check(&target, None)?;
        let mut trusted = true;
        // On any hop: who was sent a secret may hand it to the next.
        let mut sent = Vec::new();
        for _ in 0..=MOST_REDIRECTS {
            let mut hop_headers = headers.clone();
            if trusted {
                self.attach(&target, &mut hop_headers, &mut sent)?;
            }
            if body.as_ref().is_none_or(Vec::is_empty) && has_content(&method) {
                // Servers ask for it, and the library leaves it out where it is nothing.
                hop_headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
            }
            let mut builder = self
                .clients
                .get(target.encrypted)?
                .request(method.clone(), url.clone())
                .headers(hop_headers);
            if let Some(body) = &body {
                builder = builder.body(body.clone());
            }
            let response = builder.send().await.map_err(|error| failure(error, &target))?;

            let Some(next) = redirect(&response, &url)? else {
                return self.receive(response, &target, &url, most, &sent).await;
            };
            *redirected = true;
            let (next_target, next_url) = Target::parse(&next)?;
            if next_target != target {
                // For good: a way back must not win them back.
                trusted = false;
                headers::drop_credentials(&mut headers);
            }
            if !trusted && carries(&response, &next_url, &sent) {
                // Without the next origin's name: the secret may be part of it.
                return Err(GateError::refused(format!(
                    "{target} redirects to another origin with a secret in the URL, which would \
                     give the secret away"
                ))
                .with_hint("ask the address that the service documents for use with a key"));
            }
            self.check(&next_target, Some(&target))?;
            if becomes_get(response.status(), &method) {
                method = Method::GET;
                body = None;
                headers::drop_content(&mut headers);
            }
            (target, url) = (next_target, next_url);
        }
        Err(GateError::other(
            "redirects",
            format!("{target} redirects more than {MOST_REDIRECTS} times"),
        ))
    }

    fn check(&self, target: &Target, from: Option<&Target>) -> Result<(), GateError> {
        if self.hosts.iter().any(|grant| target.is_granted_by(grant)) {
            return Ok(());
        }
        let message = match from {
            Some(from) => format!("{from} redirects to {target}, which is not granted"),
            None => format!("{target} is not granted"),
        };
        let hint = format!("if the plugin should reach it, add \"{target}\" to its `grants.hosts`");
        Err(GateError::refused(message).with_hint(hint))
    }

    /// Adds the secrets that are bound to the target, and notes which.
    fn attach<'gate>(
        &'gate self,
        target: &Target,
        headers: &mut HeaderMap,
        sent: &mut Vec<&'gate Secret>,
    ) -> Result<(), GateError> {
        for binding in &self.bindings {
            // A secret for everyone would be none.
            if binding.host.host == "*" || !target.is_granted_by(&binding.host) {
                continue;
            }
            let name = &binding.name;
            if !target.encrypted && !target.is_loopback() {
                return Err(GateError::refused(format!(
                    "the secret {name} is bound to {target}, and is not sent over plain http"
                ))
                .with_hint("use https"));
            }
            let unusable = |message| GateError::new(GateErrorKind::Auth, message);
            let secret = self.secrets.get(name).ok_or_else(|| {
                unusable(format!("{target} needs a key, and {name} is not set"))
                    .with_hint(format!("set the environment variable {name}"))
            })?;
            let header = HeaderName::from_bytes(binding.header.as_bytes()).map_err(|_| {
                unusable(format!(
                    "the secret {name} is bound to `{}`, not a header name",
                    binding.header
                ))
            })?;
            let text = zeroize::Zeroizing::new(format!("{}{}", binding.prefix, secret.expose()));
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                unusable(format!("the value of {name} holds characters that no header can carry"))
                    .with_hint(format!("set the environment variable {name} to the key alone"))
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
            if !sent.iter().any(|known| std::ptr::eq(*known, secret)) {
                sent.push(secret);
            }
        }
        Ok(())
    }

    async fn receive(
        &self,
        response: reqwest::Response,
        target: &Target,
        url: &Url,
        most: usize,
        sent: &[&Secret],
    ) -> Result<Response, GateError> {
        let status = response.status().as_u16();
        let mut headers = headers::received(response.headers(), self.limits.header_bytes)?;
        for (_, value) in &mut headers {
            *value = self.secrets.redact(value);
        }
        let body = body::read(response, target, most).await?;
        let body = redact_bytes(body, sent.iter().copied());
        let url = self.secrets.redact(url.as_str());
        Ok(Response { status, headers, body, url })
    }
}

fn checked_method(method: &str) -> Result<Method, GateError> {
    METHODS.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(method)).ok_or_else(|| {
        let known: Vec<String> = METHODS.iter().map(Method::to_string).collect();
        GateError::new(
            GateErrorKind::InvalidInput,
            format!("`{}` is not one of {}", method.escape_debug(), known.join(", ")),
        )
    })
}

/// Whether a request with this method is expected to say how long its body is.
fn has_content(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

/// Whoever redirects has had the request, and may have done what it asks for: no
/// error may then claim that nothing came of it, unless it only asked to read.
fn after_redirect(error: GateError, reads: bool) -> GateError {
    let kind = match error.kind {
        GateErrorKind::Other(name) if name == NOT_SENT => GateErrorKind::Unavailable,
        GateErrorKind::Refused | GateErrorKind::Auth | GateErrorKind::InvalidInput if !reads => {
            GateErrorKind::Other("redirects".to_owned())
        }
        kind => kind,
    };
    GateError { kind, ..error }
}

/// Where the answer sends us, if it does.
fn redirect(response: &reqwest::Response, url: &Url) -> Result<Option<String>, GateError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    let joined = std::str::from_utf8(location.as_bytes()).ok().and_then(|text| url.join(text).ok());
    match joined {
        Some(next) => Ok(Some(next.into())),
        None => {
            Err(GateError::other("redirects", "the answer redirects to something that is no URL"))
        }
    }
}

/// Whether a redirect holds a secret that was sent: as it was told, and as it was
/// understood (a host's name is then in lower case).
fn carries(response: &reqwest::Response, next: &Url, sent: &[&Secret]) -> bool {
    let told = response.headers().get(LOCATION).map_or(&[][..], HeaderValue::as_bytes);
    sent.iter().any(|secret| holds(told, secret) || holds(next.as_str().as_bytes(), secret))
}

/// Whether the redirect turns the request into a plain `GET`, as browsers do.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => *method != Method::GET && *method != Method::HEAD,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}
