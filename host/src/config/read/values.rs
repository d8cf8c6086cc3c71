//! Strings that mean something: where a component comes from, what a command or
//! a variable may be called, which directory is meant.

use std::path::{Component, Path, PathBuf};

use super::super::resolved::{DirectoryGrant, PluginSource};
use super::super::suggest::suggestion;
use super::{Reader, Wrong};

impl Reader<'_> {
    pub(super) fn source(&self, text: &str) -> Result<PluginSource, Wrong> {
        let builtins = || self.surroundings.builtins.iter().copied();
        if let Some(name) = text.strip_prefix("builtin:") {
            return if builtins().any(|builtin| builtin == name) {
                Ok(PluginSource::Builtin(name.to_owned()))
            } else {
                Err(Wrong::new(
                    format!("there is no built-in plugin `{name}`"),
                    suggestion(name, builtins(), "built-in plugins"),
                ))
            };
        }
        if text.is_empty() {
            return Err(Wrong::new(
                "it is empty",
                "write \"builtin:NAME\" or the path of a component",
            ));
        }
        if text.contains("://") {
            return Err(Wrong::new(
                format!("`{text}` is a URL, and components are not downloaded"),
                "download it, name the file, and pin it with `sha256`",
            ));
        }
        if builtins().any(|builtin| builtin == text) {
            return Err(Wrong::new(
                format!("`{text}` is a path here, and also the name of a built-in plugin"),
                format!("write \"builtin:{text}\", or \"./{text}\" if you mean the file"),
            ));
        }
        Ok(PluginSource::Path(self.path(text)?))
    }

    pub(super) fn command(&self, text: &str) -> Result<String, Wrong> {
        const EXAMPLES: &str =
            "write a name that is looked up in PATH, such as \"gemini\", or an absolute path";
        if text.trim().is_empty() {
            return Err(Wrong::new("a command cannot be empty", EXAMPLES));
        }
        if text.contains('\0') {
            return Err(Wrong::new("a command cannot hold a NUL character", EXAMPLES));
        }
        if !text.contains(['/', '\\']) {
            return match text.split_once(char::is_whitespace) {
                None => Ok(text.to_owned()),
                Some((name, _)) => Err(Wrong::new(
                    format!(
                        "`{text}` holds a blank, and a grant names a command without its arguments"
                    ),
                    format!("write \"{name}\""),
                )),
            };
        }
        let path = expand_home(text, self.surroundings.home)?;
        if path.is_absolute() {
            Ok(path.to_string_lossy().into_owned())
        } else {
            Err(Wrong::new(format!("`{text}` is a relative path"), EXAMPLES))
        }
    }

    pub(super) fn directory(&self, text: &str) -> Result<DirectoryGrant, Wrong> {
        if text.is_empty() {
            return Err(Wrong::new(
                "a directory cannot be empty",
                "write \".\" for the file's own directory",
            ));
        }
        let path = self.path(text)?;
        let prefix = prefix_of(&path, self.surroundings.working_directory);
        Ok(DirectoryGrant { path, prefix })
    }

    /// From the file's directory, or the user's where it starts with `~`.
    fn path(&self, text: &str) -> Result<PathBuf, Wrong> {
        if text.contains('\0') {
            return Err(Wrong::new("a path cannot hold a NUL character", "leave it out"));
        }
        Ok(tidy(&self.directory.join(expand_home(text, self.surroundings.home)?)))
    }
}

/// `~` and `~/…`; another user's home is not looked up.
pub fn expand_home(text: &str, home: Option<&Path>) -> Result<PathBuf, Wrong> {
    let Some(rest) = text.strip_prefix('~') else {
        return Ok(PathBuf::from(text));
    };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err(Wrong::new(
            format!("`{text}` starts with `~`, which stands only for your own home directory"),
            "write the whole path, or `./~…` for a file of that name",
        ));
    }
    let home = home.ok_or_else(|| {
        Wrong::new(
            format!("`{text}` starts with `~`, and the home directory is not known"),
            "set HOME, or write the whole path",
        )
    })?;
    Ok(home.join(rest.trim_start_matches('/')))
}

/// Without `.` and doubled slashes. `..` stays: what it means depends on links.
pub fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

/// How a user who stands in the working directory would write it before a
/// relative path.
fn prefix_of(path: &Path, working_directory: &Path) -> String {
    let plain = without_parents(path);
    let shown = plain.strip_prefix(without_parents(working_directory)).unwrap_or(&plain);
    with_slash(&shown.to_string_lossy())
}

pub fn with_slash(text: &str) -> String {
    let text = text.replace(std::path::MAIN_SEPARATOR, "/");
    if text.is_empty() || text.ends_with('/') { text } else { format!("{text}/") }
}

/// `a/../b` as `b`: right for showing, where links do not matter.
fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

pub fn plugin_name(text: &str) -> Result<(), Wrong> {
    let fits = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && text.len() <= 64;
    if fits {
        return Ok(());
    }
    Err(Wrong::new(
        format!("`{text}` cannot be a plugin's name"),
        "use letters, digits, `-` and `_`, at most 64, such as `search-tavily`",
    ))
}

pub fn sha256(text: &str) -> Result<String, Wrong> {
    let digest = text.strip_prefix("sha256:").unwrap_or(text);
    if let Some(character) = digest.chars().find(|character| !character.is_ascii_hexdigit()) {
        return Err(Wrong::new(
            format!("a digest is hexadecimal, and {character:?} is not"),
            "write the 64 digits that `sha256sum FILE` prints",
        ));
    }
    if digest.len() != 64 {
        return Err(Wrong::new(
            format!("a SHA-256 digest has 64 hexadecimal digits, and this has {}", digest.len()),
            "write the 64 digits that `sha256sum FILE` prints",
        ));
    }
    Ok(digest.to_ascii_lowercase())
}

pub fn variable(text: &str) -> Result<String, Wrong> {
    if let Some((name, _)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) {
        return Err(Wrong::new(
            "this is the name of a variable, without its value",
            format!("write \"{name}\"; the value is taken from the environment"),
        ));
    }
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '=') {
        return Err(Wrong::new(
            format!("{text:?} cannot be the name of a variable"),
            "write a name such as \"TAVILY_API_KEY\"",
        ));
    }
    Ok(text.to_owned())
}

pub fn import(text: &str) -> Result<String, Wrong> {
    let package = text.split(['/', '@']).next().unwrap_or_default();
    let fits = package.strip_prefix("wasi:").is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    });
    match (fits, package == text) {
        (true, true) => Ok(text.to_owned()),
        (true, false) => Err(Wrong::new(
            "this is the name of a WASI package, without interface and version",
            format!("write \"{package}\""),
        )),
        (false, _) => Err(Wrong::new(
            format!("`{text}` is not a WASI package"),
            "write a name such as \"wasi:filesystem\"",
        )),
    }
}

pub fn header(text: &str) -> Result<String, Wrong> {
    let fits = !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    if fits {
        return Ok(text.to_ascii_lowercase());
    }
    Err(Wrong::new(
        format!("{text:?} cannot be the name of a header"),
        "write a name such as \"authorization\" or \"x-api-key\"",
    ))
}

pub fn prefix(text: &str) -> Result<String, Wrong> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(text.to_owned());
    }
    Err(Wrong::new(
        "a header holds only printable ASCII characters",
        "write what stands before the secret, such as \"Bearer \"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_what_one_would_type() {
        let here = Path::new("/home/me/work");
        let prefix = |path: &str| prefix_of(Path::new(path), here);
        assert_eq!(prefix("/home/me/work"), "");
        assert_eq!(prefix("/home/me/work/docs"), "docs/");
        assert_eq!(prefix("/home/me/work/a/../docs/b"), "docs/b/");
        assert_eq!(prefix("/home/me/work/../notes"), "/home/me/notes/");
        assert_eq!(prefix("/home/me/workshop"), "/home/me/workshop/");
        assert_eq!(prefix("/"), "/");
    }

    #[test]
    fn a_tilde_is_the_users_own_home() {
        let home = Path::new("/home/me");
        let expand = |text| expand_home(text, Some(home)).ok();
        assert_eq!(expand("~"), Some(PathBuf::from("/home/me/")));
        assert_eq!(expand("~/notes"), Some(PathBuf::from("/home/me/notes")));
        assert_eq!(expand("~//etc"), Some(PathBuf::from("/home/me/etc")));
        assert_eq!(expand("a~"), Some(PathBuf::from("a~")));
        assert_eq!(expand("~root/x"), None);
        assert!(expand_home("~/x", None).is_err());
    }

    #[test]
    fn names_are_checked() {
        assert!(plugin_name("search-tavily_2").is_ok());
        assert!(
            plugin_name("").is_err() && plugin_name("a.b").is_err() && plugin_name("-a").is_err()
        );
        assert!(variable("ProgramFiles(x86)").is_ok());
        assert!(variable("=").is_err() && variable("A=1").is_err() && variable("A B").is_err());
        assert!(import("wasi:filesystem").is_ok());
        assert!(
            import("wasi:").is_err() && import("wasi:io/poll").is_err() && import("files").is_err()
        );
        assert_eq!(header("X-API-Key").ok().as_deref(), Some("x-api-key"));
        assert!(header("a b").is_err() && header("").is_err() && header("a:").is_err());
        assert!(prefix("Bearer ").is_ok() && prefix("a\r\nb: c").is_err());
        assert_eq!(sha256(&"AB".repeat(32)).ok(), Some("ab".repeat(32)));
    }
}
