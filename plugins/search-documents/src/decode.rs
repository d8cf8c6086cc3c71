//! From a file's bytes to text, or the finding that it is none.

use std::borrow::Cow;

/// How far a file is looked into for signs that it is not text.
const LOOKED_AT: usize = 8192;

/// The text of a file; none for one that is binary.
pub fn decode(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return decode(rest);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return Some(Cow::Owned(wide(rest, u16::from_le_bytes)));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return Some(Cow::Owned(wide(rest, u16::from_be_bytes)));
    }
    let start = &bytes[..bytes.len().min(LOOKED_AT)];
    if start.contains(&0) {
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) if is_mostly_text(start) => Some(lossy(bytes)),
        Err(_) => None,
    }
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Few control characters, and not mainly bytes beyond ASCII.
fn is_mostly_text(start: &[u8]) -> bool {
    let control = start
        .iter()
        .filter(|byte| **byte < 32 && !matches!(**byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b))
        .count();
    let beyond = start.iter().filter(|byte| **byte >= 128).count();
    control * 50 <= start.len() && beyond * 3 <= start.len()
}

/// UTF-8 with a few wrong bytes stays UTF-8; what is mostly wrong is Latin-1,
/// where every byte is a character.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    let mut right = 0_usize;
    let mut wrong = 0_usize;
    for chunk in bytes.utf8_chunks() {
        right += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        wrong += chunk.invalid().len();
    }
    if wrong > right {
        Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect())
    } else {
        String::from_utf8_lossy(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_encodings_are_understood() {
        assert_eq!(decode(b"\xef\xbb\xbfabc").unwrap(), "abc");
        assert_eq!(decode(b"\xff\xfea\0b\0").unwrap(), "ab");
        assert_eq!(decode(b"\xfe\xff\0a\0b").unwrap(), "ab");
        assert_eq!(decode(b"caf\xe9 au lait").unwrap(), "café au lait");
        assert_eq!(decode("naïve é ü \u{fffd}".as_bytes()).unwrap(), "naïve é ü \u{fffd}");
        assert_eq!(
            decode(b"a na\xc3\xafve caf\xc3\xa9 and more \xff").unwrap(),
            "a naïve café and more \u{fffd}"
        );
    }

    #[test]
    fn binary_files_are_none() {
        assert_eq!(decode(b"PK\x03\x04\0\0"), None);
        assert_eq!(decode(&[0x89, 0xff, 0xd8, 0x90, 0x91, 0x80, 0x01, 0x02]), None);
        let mut late = vec![b'a'; LOOKED_AT];
        late.push(0);
        assert!(decode(&late).is_some());
    }
}
