//! What a plugin and a request are known by.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// SHA-256 in lower-case hexadecimal.
pub fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn agrees_with_the_standard() {
        // The digest of nothing at all.
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(super::hexadecimal(b""), nothing);
    }
}
