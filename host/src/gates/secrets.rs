//! Secrets: the only code that holds a key. They are read once, from the
//! environment; nothing can print them, and only the gates can look inside.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// What stands in a text where a secret stood.
const MASK: &str = "[secret]";

/// Shorter values are not looked for by `redact`: they protect nothing, and
/// would tear holes into ordinary words.
const SHORTEST_REDACTED: usize = 6;

/// JSON in JSON in JSON in JSON, as no one writes it.
const MOST_BACKSLASHES: usize = 8;

/// A value that cannot be printed, and is wiped from memory when dropped.
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The value itself, for the one place that sends it.
    pub(in crate::gates) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

/// The secrets that the configuration names, by the variable that holds each.
#[derive(Debug, Default)]
pub struct Secrets {
    by_name: BTreeMap<String, Option<Secret>>,
}

impl Secrets {
    /// Asks `lookup` once for each name. White space around a value is dropped
    /// (a line end from a file is never part of a key); an empty one is not set.
    pub fn new<Name: Into<String>>(
        names: impl IntoIterator<Item = Name>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Self {
        let by_name = names
            .into_iter()
            .map(|name| {
                let name = name.into();
                let value = lookup(&name).map(Zeroizing::new);
                let secret = value
                    .as_deref()
                    .map(|value| value.trim())
                    .filter(|value| !value.is_empty())
                    .map(Secret::new);
                (name, secret)
            })
            .collect();
        Self { by_name }
    }

    /// Reads the named variables of this process.
    pub fn from_environment<Name: Into<String>>(names: impl IntoIterator<Item = Name>) -> Self {
        Self::new(names, |name| std::env::var(name).ok())
    }

    /// Whether the name is known and has a value.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Every known name, and whether it has a value.
    pub fn names(&self) -> impl Iterator<Item = (&str, bool)> {
        self.by_name.iter().map(|(name, secret)| (name.as_str(), secret.is_some()))
    }

    /// Whether there is a value for it, which nobody is shown.
    pub fn has(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(Option::is_some)
    }

    pub(in crate::gates) fn get(&self, name: &str) -> Option<&Secret> {
        self.by_name.get(name)?.as_ref()
    }

    /// The text with every known secret masked, also where it is written as
    /// part of a URL or of JSON.
    pub fn redact(&self, text: &str) -> String {
        redact_text(text, self.by_name.values().flatten())
    }
}

/// What one plugin was given to use and must not tell. A gate masks what it hands to
/// the plugin; but a plugin puts pieces together and decodes them, so what it says is
/// masked once more.
#[derive(Debug, Clone, Default)]
pub struct Mask(Arc<[Secret]>);

impl Mask {
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let worth_hiding = |secret: &Secret| secret.expose().len() >= SHORTEST_REDACTED;
        Self(secrets.into_iter().filter(worth_hiding).collect())
    }

    /// With nothing to hide, nothing need be looked at.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn text<'text>(&self, text: &'text str) -> Cow<'text, str> {
        if !self.0.iter().any(|secret| holds(text.as_bytes(), secret)) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(redact_text(text, self.0.iter()))
    }

    pub fn apply(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.text(text) {
            *text = masked;
        }
    }
}

fn redact_text<'secrets>(
    text: &str,
    secrets: impl IntoIterator<Item = &'secrets Secret>,
) -> String {
    String::from_utf8(redact_bytes(text.as_bytes().to_vec(), secrets))
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The bytes with the secrets masked: a server may echo what it was sent, plain or
/// as part of a URL or of JSON.
pub(in crate::gates) fn redact_bytes<'secrets>(
    mut bytes: Vec<u8>,
    secrets: impl IntoIterator<Item = &'secrets Secret>,
) -> Vec<u8> {
    let mut needles: Vec<&[u8]> = secrets
        .into_iter()
        .map(|secret| secret.expose().as_bytes())
        .filter(|needle| needle.len() >= SHORTEST_REDACTED)
        .collect();
    // The longest first, so that a secret that begins like another leaves no
    // remainder.
    needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
    for needle in needles {
        let mut masked = Vec::new();
        let mut copied = 0;
        while let Some((start, end)) = find(&bytes, needle, copied) {
            masked.extend_from_slice(&bytes[copied..start]);
            masked.extend_from_slice(MASK.as_bytes());
            copied = end;
        }
        if copied > 0 {
            masked.extend_from_slice(&bytes[copied..]);
            bytes = masked;
        }
    }
    bytes
}

/// Whether the bytes hold the secret, plain or as part of a URL or of JSON.
pub(in crate::gates) fn holds(bytes: &[u8], secret: &Secret) -> bool {
    let needle = secret.expose().as_bytes();
    needle.len() >= SHORTEST_REDACTED && find(bytes, needle, 0).is_some()
}

/// Where the needle stands first, at or after `position`: its start and its end.
fn find(bytes: &[u8], needle: &[u8], mut position: usize) -> Option<(usize, usize)> {
    let first = *needle.first()?;
    loop {
        position +=
            bytes[position..].iter().position(|byte| [first, b'%', b'\\'].contains(byte))?;
        if let Some(length) = length_of_match(&bytes[position..], needle) {
            return Some((position, position + length));
        }
        position += 1;
    }
}

/// How many bytes at the start spell the needle. Any of them may be
/// percent-encoded, in either case, or escaped as JSON has it: writers differ in
/// which they encode.
fn length_of_match(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    if bytes.starts_with(needle) {
        return Some(needle.len());
    }
    let mut length = 0;
    for expected in needle {
        let rest = &bytes[length..];
        if percent_decoded(rest) == Some(*expected) {
            length += 3;
        } else if rest.first() == Some(expected) {
            length += 1;
        } else {
            length += length_of_escape(rest, *expected)?;
        }
    }
    Some(length)
}

/// How long the `\u002F` or `\/` at the start is, if it stands for this byte. JSON
/// within JSON doubles the backslash each time.
fn length_of_escape(bytes: &[u8], expected: u8) -> Option<usize> {
    let backslashes =
        bytes.iter().take(MOST_BACKSLASHES).take_while(|byte| **byte == b'\\').count();
    if backslashes == 0 {
        return None;
    }
    match &bytes[backslashes..] {
        [b'u', b'0', b'0', high, low, ..] if byte_of(*high, *low) == Some(expected) => {
            Some(backslashes + 5)
        }
        // A letter after a backslash would be another character.
        [byte, ..] if *byte == expected && byte.is_ascii_punctuation() => Some(backslashes + 1),
        _ => None,
    }
}

/// The byte that a `%2F` at the start stands for.
fn percent_decoded(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    byte_of(*high, *low)
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(pairs: &[(&str, &str)]) -> Secrets {
        Secrets::new(pairs.iter().map(|(name, _)| *name), |name| {
            let (_, value) = pairs.iter().find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        })
    }

    #[test]
    fn a_secret_cannot_be_printed() {
        let secret = Secret::new("hunter2-hunter2");
        assert_eq!(format!("{secret} {secret:?} {secret:#?}"), "[secret] [secret] [secret]");
        let all = format!("{:?}", secrets(&[("KEY", "hunter2-hunter2")]));
        assert!(all.contains("KEY") && !all.contains("hunter2"), "{all}");
    }

    #[test]
    fn names_are_told_with_whether_they_are_set() {
        let known = Secrets::new(["SET", "EMPTY", "ABSENT"], |name| match name {
            "SET" => Some("value\n".to_owned()),
            "EMPTY" => Some("  ".to_owned()),
            _ => None,
        });
        let names: Vec<_> = known.names().collect();
        assert_eq!(names, [("ABSENT", false), ("EMPTY", false), ("SET", true)]);
        assert_eq!(known.get("SET").map(Secret::expose), Some("value"));
        assert!(!known.is_set("UNKNOWN"));
    }

    #[test]
    fn each_name_is_looked_up_once() {
        let lookups = std::cell::RefCell::new(Vec::new());
        let known = Secrets::new(["A", "B"], |name| {
            lookups.borrow_mut().push(name.to_owned());
            Some("value-of-it".to_owned())
        });
        known.redact("value-of-it");
        known.is_set("A");
        assert_eq!(lookups.into_inner(), ["A", "B"]);
    }

    #[test]
    fn redaction_masks_plain_and_encoded_forms() {
        let known = secrets(&[("A", "abc/def+ghi"), ("B", "other-secret")]);
        assert_eq!(
            known.redact("at /?k=abc%2Fdef%2Bghi and abc/def+ghi, other-secret!"),
            "at /?k=[secret] and [secret], [secret]!"
        );
        // Lower-case digits, some bytes only, and more than needed.
        assert_eq!(
            known.redact("abc%2fdef%2bghi abc/def%2Bghi %61bc/def+gh%69 abc%2Fdef%2Bgh%6"),
            "[secret] [secret] [secret] abc%2Fdef%2Bgh%6"
        );
        assert_eq!(known.redact("nothing here, 100%"), "nothing here, 100%");
    }

    #[test]
    fn redaction_masks_what_json_escapes() {
        let known = secrets(&[("A", "abc/def+ghi")]);
        for text in [
            r"\u0061bc/def+ghi",
            r"abc\/def\u002bgh\u0069",
            r"abc\u002Fdef%2Bghi",
            r"\\u0061bc\\/def+ghi",
            r"\u0061\u0062\u0063\u002f\u0064\u0065\u0066\u002b\u0067\u0068\u0069",
        ] {
            assert_eq!(known.redact(&format!("k: {text}.")), "k: [secret].", "{text}");
        }
        for text in [r"\abc\n/def+ghi", r"\u0062bc/def+ghi", r"\u0061bc/def+gh\u00", r"\u0061"] {
            assert_eq!(known.redact(text), text);
        }
    }

    #[test]
    fn a_mask_copies_only_what_it_changes() {
        let mask = Mask::new(["common-start", "common-start-and-more", "short"].map(Secret::new));
        assert!(matches!(mask.text("short and common"), Cow::Borrowed("short and common")));
        assert_eq!(mask.text("a common-start-and-more b"), "a [secret] b");
        assert!(!mask.is_empty() && Mask::new([Secret::new("short")]).is_empty());
        assert!(!format!("{mask:?}").contains("common"));
    }

    #[test]
    fn a_secret_with_a_percent_sign_is_found_plain_and_encoded() {
        let known = secrets(&[("A", "%25-percent")]);
        assert_eq!(known.redact("é %25-percent %2525-percent é"), "é [secret] [secret] é");
    }

    #[test]
    fn holding_is_told_of_what_would_be_masked() {
        let secret = Secret::new("abc/def");
        assert!(holds(b"x?k=abc/def", &secret));
        assert!(holds(b"x?k=abc%2fdef&y", &secret));
        assert!(!holds(b"x?k=abc%2Fde", &secret));
        assert!(!holds(b"the key", &Secret::new("key")));
    }

    #[test]
    fn redaction_leaves_no_remainder_of_a_longer_secret() {
        let known = secrets(&[("A", "common-start"), ("B", "common-start-and-more")]);
        assert_eq!(known.redact("common-start-and-more"), "[secret]");
    }

    #[test]
    fn redaction_does_not_tear_ordinary_words() {
        assert_eq!(secrets(&[("A", "key")]).redact("the key is missing"), "the key is missing");
    }

    #[test]
    fn bytes_are_masked_wherever_they_stand() {
        let secret = Secret::new("aabaac");
        let mask = |text: &str| {
            String::from_utf8(redact_bytes(text.as_bytes().to_vec(), [&secret])).expect("text")
        };
        assert_eq!(mask("aabaac-aaabaac-aabaab-aabaac"), "[secret]-a[secret]-aabaab-[secret]");
        assert_eq!(mask(""), "");
        assert_eq!(mask("aabaa"), "aabaa");
    }
}
