//! The plugins that are part of the binary; host/build.rs builds them.

const TABLE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/builtin.rs"));

/// A built-in plugin's component.
pub fn component(name: &str) -> Option<&'static [u8]> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

/// The names after `builtin:` that exist.
pub fn names() -> Vec<&'static str> {
    TABLE.iter().map(|(name, _)| *name).collect()
}
