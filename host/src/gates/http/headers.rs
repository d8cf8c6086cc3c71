//! Which headers a plugin may send, and what it sees of an answer's.

use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, COOKIE, HeaderMap,
    HeaderName, HeaderValue,
};

use crate::config::resolved::SecretGrant;
use crate::gates::{GateError, GateErrorKind};

const MOST_HEADERS: usize = 64;
const MOST_BYTES: usize = 32 << 10;

/// What belongs to the connection, which is the gate's: framing and hop-by-hop
/// headers, and the encodings that the gate can bound.
const RESERVED: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];
const RESERVED_PREFIXES: &[&str] = &["proxy-", "x-forwarded-"];

/// Headers that say who is asking: these stay with the origin they were meant for.
const CREDENTIALS: &[HeaderName] = &[AUTHORIZATION, COOKIE];
const CREDENTIAL_WORDS: &[&str] = &["api-key", "apikey", "token", "secret", "auth", "cookie"];

/// Checks what a plugin wants to send.
pub(super) fn checked(
    headers: &[(String, String)],
    secrets: &[SecretGrant],
) -> Result<HeaderMap, GateError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if headers.len() > MOST_HEADERS || bytes > MOST_BYTES {
        return Err(invalid(format!(
            "{} headers with {bytes} bytes are too many: at most {MOST_HEADERS} with {MOST_BYTES} \
             bytes are sent",
            headers.len()
        )));
    }
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| invalid(format!("`{}` is not a header name", name.escape_debug())))?;
        // HeaderName is in lower case from here on.
        let lower = header.as_str();
        if RESERVED.contains(&lower)
            || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
        {
            return Err(GateError::refused(format!(
                "the header `{lower}` is set by the host, not by a plugin"
            )));
        }
        if let Some(secret) = secrets.iter().find(|secret| secret.header == lower) {
            return Err(GateError::refused(format!(
                "the header `{lower}` carries the secret {}, so a plugin may not set it",
                secret.name
            )));
        }
        let value = HeaderValue::from_str(value).map_err(|_| {
            invalid(format!(
                "the value of the header `{lower}` holds characters that cannot be sent"
            ))
        })?;
        map.append(header, value);
    }
    map.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(map)
}

/// Drops what must not follow a redirect to another origin.
pub(super) fn drop_credentials(headers: &mut HeaderMap) {
    let dropped: Vec<HeaderName> = headers
        .keys()
        .filter(|name| {
            CREDENTIALS.contains(name)
                || CREDENTIAL_WORDS.iter().any(|word| name.as_str().contains(word))
        })
        .cloned()
        .collect();
    for name in dropped {
        headers.remove(name);
    }
}

/// Drops what described a body, for a redirect that turns into a `GET`.
pub(super) fn drop_content(headers: &mut HeaderMap) {
    let dropped: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("content-")).cloned().collect();
    for name in dropped {
        headers.remove(name);
    }
}

/// An answer's headers for the plugin; the gate has already undone the encoding,
/// so what described it would mislead.
pub(super) fn received(
    headers: &HeaderMap,
    most_bytes: usize,
) -> Result<Vec<(String, String)>, GateError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > most_bytes {
        return Err(GateError::other(
            "too-large",
            format!("the answer's headers have {bytes} bytes, and at most {most_bytes} are read"),
        ));
    }
    let decoded = headers.contains_key(CONTENT_ENCODING);
    Ok(headers
        .iter()
        .filter(|(name, _)| !(decoded && (*name == CONTENT_ENCODING || *name == CONTENT_LENGTH)))
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect())
}

fn invalid(message: String) -> GateError {
    GateError::new(GateErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::resolved::HostGrant;

    fn check(name: &str, value: &str) -> Result<HeaderMap, GateErrorKind> {
        let secret = SecretGrant {
            name: "KEY".to_owned(),
            host: HostGrant { host: "example.com".to_owned(), port: None },
            header: "x-goog-api-key".to_owned(),
            prefix: String::new(),
        };
        checked(&[(name.to_owned(), value.to_owned())], &[secret]).map_err(|error| error.kind)
    }

    #[test]
    fn ordinary_headers_are_sent() {
        let map = check("X-Client", "a b").expect("allowed");
        assert_eq!(map["x-client"], "a b");
        assert_eq!(map["accept-encoding"], "gzip");
    }

    #[test]
    fn headers_of_the_connection_are_refused() {
        for name in RESERVED.iter().chain(&["Host", "PROXY-Authorization", "X-Forwarded-For"]) {
            assert_eq!(check(name, "x"), Err(GateErrorKind::Refused), "{name}");
        }
    }

    #[test]
    fn the_header_of_a_secret_is_refused() {
        assert_eq!(check("X-Goog-Api-Key", "mine"), Err(GateErrorKind::Refused));
    }

    #[test]
    fn values_cannot_smuggle_a_line() {
        for (name, value) in
            [("x", "a\r\nhost: evil"), ("x", "a\0"), ("x y", "a"), ("", "a"), ("x:", "a")]
        {
            assert_eq!(check(name, value), Err(GateErrorKind::InvalidInput), "{name:?} {value:?}");
        }
    }

    #[test]
    fn too_many_are_not_sent() {
        assert_eq!(check("x", &"a".repeat(MOST_BYTES)), Err(GateErrorKind::InvalidInput));
        let many = vec![("x".to_owned(), String::new()); MOST_HEADERS + 1];
        assert!(checked(&many, &[]).is_err());
        assert!(checked(&many[1..], &[]).is_ok());
    }

    #[test]
    fn credentials_do_not_cross_origins() {
        let mut map = HeaderMap::new();
        for name in ["authorization", "cookie", "x-api-key", "x-auth-token", "accept"] {
            map.insert(name, HeaderValue::from_static("x"));
        }
        drop_credentials(&mut map);
        assert_eq!(map.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }

    #[test]
    fn a_decoded_answer_does_not_claim_to_be_encoded() {
        let mut map = HeaderMap::new();
        map.insert("content-length", HeaderValue::from_static("9"));
        map.insert("etag", HeaderValue::from_static("x"));
        assert_eq!(received(&map, 100).expect("small").len(), 2);
        map.insert("content-encoding", HeaderValue::from_static("gzip"));
        assert_eq!(received(&map, 100).expect("small"), [("etag".to_owned(), "x".to_owned())]);
        assert!(received(&map, 10).is_err());
    }
}
