//! Names that nobody can guess: for the session, so that its record is found, and
//! for fences, so that no text can close them.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// A random UUID, version 4. Each `RandomState` is keyed from the system's source of
/// chance, in the sandbox `wasi:random`.
pub fn random_uuid() -> String {
    let mut bits = (u128::from(word()) << 64) | u128::from(word());
    bits = bits & !(0xf << 76) | (0x4 << 76);
    bits = bits & !(0x3 << 62) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

fn word() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_form_and_is_new_each_time() {
        let (one, other) = (random_uuid(), random_uuid());
        assert_ne!(one, other);
        assert_ne!(one[..8], other[..8]);
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(one.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()));
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&one.as_bytes()[19]));
    }
}
