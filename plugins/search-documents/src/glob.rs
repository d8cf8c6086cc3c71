//! Glob patterns as .gitignore has them: `*`, `?`, `[…]`, `**`.
//!
//! Written here rather than taken from a crate, because those that do it bring a
//! regular-expression engine, many times the size of this whole plugin.

/// A pattern, sorted by how it can be checked quickly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Glob {
    /// No wildcard.
    Exactly(String),
    /// `*` and an ending without a wildcard or slash.
    EndsWith(String),
    General(Vec<u8>),
}

impl Glob {
    pub fn new(pattern: &str) -> Self {
        let wild = |text: &str| text.contains(['*', '?', '[', '\\']);
        if !wild(pattern) {
            return Self::Exactly(pattern.to_owned());
        }
        match pattern.strip_prefix('*') {
            Some(ending) if !wild(ending) && !ending.contains('/') => {
                Self::EndsWith(ending.to_owned())
            }
            _ => Self::General(pattern.as_bytes().to_vec()),
        }
    }

    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exactly(exact) => text == exact,
            Self::EndsWith(ending) => {
                text.ends_with(ending.as_str()) && !text[..text.len() - ending.len()].contains('/')
            }
            Self::General(pattern) => general(pattern, text.as_bytes()),
        }
    }
}

/// Matches with one point to come back to for each of `*` and `**`, so that no
/// pattern takes more than the product of the lengths.
fn general(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where to go on when the rest does not fit: after the star, with one more
    // byte swallowed by it.
    let mut star: Option<(usize, usize)> = None;
    let mut double: Option<(usize, usize)> = None;
    loop {
        if at < pattern.len() {
            if pattern[at] == b'*' {
                if pattern[at..].starts_with(b"**") {
                    let mut next = at + 2;
                    while pattern.get(next) == Some(&b'*') {
                        next += 1;
                    }
                    let starts = at == 0 || pattern[at - 1] == b'/';
                    if starts && pattern.get(next) == Some(&b'/') {
                        // `**/` stands for any directories, none included.
                        at = next + 1;
                        double = Some((at, place));
                        star = None;
                        continue;
                    }
                    if starts && next == pattern.len() {
                        // A closing `**` takes all there is, but not nothing.
                        if place < text.len() {
                            return true;
                        }
                    } else {
                        at = next;
                        star = Some((at, place));
                        continue;
                    }
                } else {
                    at += 1;
                    star = Some((at, place));
                    continue;
                }
            } else if place < text.len()
                && let Some(next) = one(pattern, at, text[place])
            {
                at = next;
                place += 1;
                continue;
            }
        } else if place == text.len() {
            return true;
        }
        // It does not fit: let the last star take one byte more.
        if let Some((after, taken)) = star
            && taken < text.len()
            && text[taken] != b'/'
        {
            star = Some((after, taken + 1));
            at = after;
            place = taken + 1;
            continue;
        }
        // Or the last `**/` one directory more.
        if let Some((after, taken)) = double
            && let Some(slash) = text[taken..].iter().position(|byte| *byte == b'/')
        {
            double = Some((after, taken + slash + 1));
            star = None;
            at = after;
            place = taken + slash + 1;
            continue;
        }
        return false;
    }
}

/// Matches one byte; tells where the pattern goes on.
fn one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match pattern[at] {
        b'?' => (byte != b'/').then_some(at + 1),
        b'[' => class(pattern, at, byte),
        b'\\' if at + 1 < pattern.len() => (pattern[at + 1] == byte).then_some(at + 2),
        literal => (literal == byte).then_some(at + 1),
    }
}

fn class(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    let negated = matches!(pattern.get(at + 1), Some(b'!' | b'^'));
    let first = at + 1 + usize::from(negated);
    let mut next = first;
    let mut found = false;
    loop {
        let mut low = *pattern.get(next)?;
        if low == b']' && next > first {
            break;
        }
        if low == b'\\' {
            next += 1;
            low = *pattern.get(next)?;
        }
        if pattern.get(next + 1) == Some(&b'-')
            && pattern.get(next + 2).is_some_and(|high| *high != b']')
        {
            found |= (low..=pattern[next + 2]).contains(&byte);
            next += 3;
        } else {
            found |= low == byte;
            next += 1;
        }
    }
    (found != negated && byte != b'/').then_some(next + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).matches(text)
    }

    #[test]
    fn stars_stay_within_a_name_and_double_stars_do_not() {
        assert!(matches("*.md", "a.md"));
        assert!(!matches("*.md", "b/a.md"));
        assert!(matches("**/*.md", "a.md"));
        assert!(matches("**/*.md", "x/y/a.md"));
        assert!(matches("a/**", "a/b/c"));
        assert!(!matches("a/**", "a"));
        assert!(matches("a/**/b", "a/b"));
        assert!(matches("a/**/b", "a/x/y/b"));
        assert!(!matches("a/**/b", "a/x/y/c"));
        assert!(matches("a/**/x*z/**/q", "a/1/xyz/2/3/q"));
        assert!(matches("foo*bar*baz", "foo-bar-bar-baz"));
        assert!(!matches("foo*baz", "foo/baz"));
    }

    #[test]
    fn classes_and_escapes() {
        assert!(matches("[a-c]?.txt", "bx.txt"));
        assert!(!matches("[!a-c]?.txt", "bx.txt"));
        assert!(matches("[]x]", "]"));
        assert!(matches("\\*", "*"));
        assert!(!matches("\\*", "x"));
        assert!(!matches("[a", "a"));
    }

    #[test]
    fn a_hostile_pattern_ends_soon() {
        assert!(!matches(&"*a".repeat(40), &"a".repeat(39)));
        assert!(!matches(&"**/a*".repeat(30), &"a/".repeat(2000)));
    }
}
