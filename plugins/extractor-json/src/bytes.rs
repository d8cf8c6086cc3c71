//! Passes over the plain part of a string, eight bytes at a time: most of a text
//! is neither quotation mark nor escape, and a sandbox pays for every turn of a
//! loop. Looks only; changes nothing.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// What to do at characters that are not ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    Pass,
    Stop,
}

/// The first place from `at` on that holds a quotation mark, a backslash or a
/// control character; the end when there is none.
pub fn next_special(bytes: &[u8], mut at: usize, beyond: Beyond) -> usize {
    let stop = if beyond == Beyond::Stop { HIGH } else { 0 };
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        // The lowest high bit that is set marks the first byte that is below, or
        // equal: borrows can only reach the bytes above it.
        let below = |limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
        let equal = |byte: u8| {
            let other = word ^ (ONES * u64::from(byte));
            other.wrapping_sub(ONES) & !other
        };
        let found =
            (below(0x20) | equal(b'"') | equal(b'\'') | equal(b'`') | equal(b'\\') | (word & stop))
                & HIGH;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = |byte: &u8| match byte {
        0..0x20 | b'"' | b'\'' | b'`' | b'\\' => true,
        0x80.. => beyond == Beyond::Stop,
        _ => false,
    };
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(special).map_or(bytes.len(), |length| at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_judged_alike_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            for place in 0..20 {
                let mut bytes = [b'x'; 20];
                bytes[place] = byte;
                let special = byte < 0x20 || b"\"'`\\".contains(&byte);
                let expected = if special { place } else { bytes.len() };
                assert_eq!(next_special(&bytes, 0, Beyond::Pass), expected, "{byte} at {place}");
                let expected = if special || byte >= 0x80 { place } else { bytes.len() };
                assert_eq!(next_special(&bytes, 0, Beyond::Stop), expected, "{byte} at {place}");
                assert_eq!(next_special(&bytes, place + 1, Beyond::Stop), bytes.len());
            }
        }
    }
}
