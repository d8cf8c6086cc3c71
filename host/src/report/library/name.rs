//! The name of a file that is kept: safe on every system, whatever it is made of.

use jiff::Timestamp;

use super::PREFIX;
use crate::prompts::clean_line;

/// Bytes of a prefix; the whole name stays far below the 255 that file systems take.
const LONGEST_PREFIX: usize = 80;

/// Bytes of a task's id, which is shorter unless something is wrong with it.
const LONGEST_ID: usize = 64;

/// Names that mean a device on Windows, whatever follows the first full stop.
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// `research_0198c2f4-…_20251214_103045`.
pub fn stem(prefix: &str, id: &str, now: Timestamp) -> String {
    let mut prefix = part(prefix, LONGEST_PREFIX);
    if prefix.is_empty() {
        PREFIX.clone_into(&mut prefix);
    }
    let device = prefix.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = |name: &str| device.strip_prefix(name).is_some_and(|rest| rest.len() == 1);
    if DEVICES.contains(&device.as_str()) || numbered("com") || numbered("lpt") {
        prefix.insert(0, '_');
    }
    format!("{prefix}_{}_{}", part(id, LONGEST_ID), now.strftime("%Y%m%d_%H%M%S"))
}

/// Letters and digits of any script, `-`, `_` and `.`; each run of anything else one
/// `_`. It neither hides the file nor looks like an option or a step upwards.
fn part(text: &str, longest: usize) -> String {
    let mut name = String::new();
    for character in clean_line(text).chars() {
        let kept = match character {
            '-' | '_' => true,
            '.' => !name.ends_with('.'),
            other if other.is_ascii() => other.is_ascii_alphanumeric(),
            other => !other.is_whitespace() && other != '\u{fffd}',
        };
        if kept {
            name.push(character);
        } else if !name.ends_with(['_', '.']) {
            name.push('_');
        }
    }
    let name = name.trim_start_matches(['.', '-', '_']);
    name[..name.floor_char_boundary(longest.min(name.len()))]
        .trim_end_matches(['.', '_'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_part_of_a_name_and_nothing_else() {
        let cases = [
            ("research", "research"),
            ("tidal power/2026", "tidal_power_2026"),
            ("../../etc/passwd", "etc_passwd"),
            ("..\\..\\windows", "windows"),
            ("/absolute", "absolute"),
            ("C:\\temp", "C_temp"),
            (".hidden", "hidden"),
            ("--flag", "flag"),
            ("a\0b\nc\u{1b}[31m", "a_b_c_31m"),
            ("v1.2", "v1.2"),
            ("a...b", "a.b"),
            ("", PREFIX),
            ("   ", PREFIX),
            ("..", PREFIX),
            ("???", PREFIX),
            ("con", "_con"),
            ("COM1.txt", "_COM1.txt"),
            ("concert", "concert"),
            ("潮汐 Gezeiten é", "潮汐_Gezeiten_é"),
            ("a\u{202e}b\u{200b}c", "abc"),
            ("$(rm -rf ~)`x`;|&<>\"'*", "rm_-rf_x"),
        ];
        for (prefix, expected) in cases {
            let stem = stem(prefix, "0198c2f4", Timestamp::UNIX_EPOCH);
            assert_eq!(stem, format!("{expected}_0198c2f4_19700101_000000"), "{prefix:?}");
        }
    }

    #[test]
    fn a_long_prefix_leaves_room_for_the_rest() {
        for letter in ["a", "ä", "潮", "👩"] {
            let stem = stem(&letter.repeat(1000), &"i".repeat(1000), Timestamp::UNIX_EPOCH);
            assert!(stem.len() < 200, "{}", stem.len());
            assert!(stem.ends_with("_19700101_000000"));
        }
    }
}
