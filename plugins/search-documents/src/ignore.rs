//! .gitignore, .ignore and .git/info/exclude, as git reads them.

use crate::glob::Glob;

/// One line of an ignore file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    glob: Glob,
    /// `!pattern`: what it matches is not ignored after all.
    negated: bool,
    /// `pattern/`: directories only.
    directories_only: bool,
    /// It has a slash, so it speaks of the path from the file's directory and
    /// not of a name anywhere below.
    anchored: bool,
}

/// The rules of one directory, from the weakest to the strongest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The directory they stand in: empty, or ending in `/`.
    base: String,
    rules: Vec<Rule>,
}

impl Rules {
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), rules: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Adds the lines of an ignore file, which are stronger than those before.
    pub fn add(&mut self, text: &str) {
        self.rules.extend(text.trim_start_matches('\u{feff}').lines().filter_map(rule));
    }

    /// Whether these rules ignore a path, un-ignore it, or say nothing.
    fn says(&self, path: &str, name: &str, is_directory: bool) -> Option<bool> {
        let below = path.strip_prefix(self.base.as_str())?;
        self.rules.iter().rev().find_map(|rule| {
            let subject = if rule.anchored { below } else { name };
            let fits = (is_directory || !rule.directories_only) && rule.glob.matches(subject);
            fits.then_some(!rule.negated)
        })
    }
}

/// Whether a path is ignored, by the rules of the directories it is in, the
/// outermost first. That its directories are not ignored is known already: a
/// walk does not enter those that are.
pub fn is_ignored(stack: &[Rules], path: &str, is_directory: bool) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    stack.iter().rev().find_map(|rules| rules.says(path, name, is_directory)).unwrap_or(false)
}

fn rule(line: &str) -> Option<Rule> {
    if line.starts_with('#') {
        return None;
    }
    let mut line = trim_end(line);
    let negated = line.starts_with('!');
    if negated {
        line = &line[1..];
    }
    let directories_only = line.ends_with('/');
    if directories_only {
        line = line.trim_end_matches('/');
    }
    if line.is_empty() {
        return None;
    }
    let anchored = line.contains('/');
    let mut pattern = line.strip_prefix('/').unwrap_or(line);
    let mut anchored_pattern = anchored;
    // `**/name` is just `name`.
    if let Some(rest) = pattern.strip_prefix("**/")
        && !rest.contains('/')
    {
        pattern = rest;
        anchored_pattern = false;
    }
    Some(Rule { glob: Glob::new(pattern), negated, directories_only, anchored: anchored_pattern })
}

/// Without the spaces at the end, unless the last is escaped.
fn trim_end(line: &str) -> &str {
    let trimmed = line.trim_end_matches([' ', '\t', '\r']);
    if trimmed.ends_with('\\') && trimmed.len() < line.len() {
        &line[..=trimmed.len()]
    } else {
        trimmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(text: &str, path: &str) -> bool {
        let mut rules = Rules::new("");
        rules.add(text);
        is_ignored(&[rules], path.trim_end_matches('/'), path.ends_with('/'))
    }

    #[test]
    fn names_paths_and_directories() {
        assert!(ignored("*.log", "a/b/x.log"));
        assert!(ignored("build/", "a/build/"));
        assert!(!ignored("build/", "a/build"));
        assert!(ignored("/target", "target/"));
        assert!(!ignored("/target", "a/target/"));
        assert!(ignored("docs/*.txt", "docs/a.txt"));
        assert!(!ignored("docs/*.txt", "docs/b/a.txt"));
        assert!(ignored("**/cache", "x/y/cache/"));
        assert!(!ignored("# a comment", "# a comment"));
        assert!(ignored("\\#file", "#file"));
        assert!(ignored("trailing   ", "trailing"));
        assert!(ignored("space\\ ", "space "));
    }

    #[test]
    fn the_last_rule_that_fits_decides() {
        assert!(!ignored("*.md\n!README.md", "README.md"));
        assert!(ignored("!README.md\n*.md", "README.md"));
    }

    #[test]
    fn rules_of_inner_directories_are_stronger() {
        let mut outer = Rules::new("");
        outer.add("*.md\n");
        let mut inner = Rules::new("docs/");
        inner.add("!*.md\n/only-here.txt");
        let stack = [outer, inner];
        assert!(is_ignored(&stack, "a.md", false));
        assert!(!is_ignored(&stack, "docs/a.md", false));
        assert!(is_ignored(&stack, "docs/only-here.txt", false));
        assert!(!is_ignored(&stack, "docs/sub/only-here.txt", false));
        assert!(!is_ignored(&stack, "only-here.txt", false));
    }
}
