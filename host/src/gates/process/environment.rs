//! What a program gets to know of its surroundings, and where programs are.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::directory::PrivateDirectory;
use crate::gates::secrets::Secret;
use crate::gates::{GateError, GateErrorKind};

/// Names that make a program run other code, read another user's files, or talk
/// to another server than the user meant. A plugin may not set them.
const FORBIDDEN: &[&str] = &[
    "BASH_ENV",
    "CURL_CA_BUNDLE",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "PAGER",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PS4",
    "REQUESTS_CA_BUNDLE",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "VISUAL",
    "_JAVA_OPTIONS",
];
const FORBIDDEN_PREFIXES: &[&str] = &["BASH_FUNC_", "DYLD_", "GIT_", "LD_", "PYTHON", "SSL_CERT_"];
/// Programs read these in both cases.
const FORBIDDEN_SUFFIX: &str = "_PROXY";

/// A variable whose name ends so holds a secret.
const SECRET_SUFFIXES: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE"];

/// The part of the host's environment that is passed on, as it was at the start.
pub(super) struct Environment {
    path: OsString,
    passed: Vec<(String, OsString)>,
    /// What of it must not come back.
    secrets: Arc<[Secret]>,
}

impl Environment {
    pub(super) fn new(granted: &[String], lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let passed: Vec<(String, OsString)> =
            granted.iter().filter_map(|name| Some((name.clone(), lookup(name)?))).collect();
        let secrets = passed
            .iter()
            .flat_map(|(name, value)| secrets_in(name, &value.to_string_lossy()))
            .collect();
        Self { path: lookup("PATH").unwrap_or_default(), passed, secrets }
    }

    /// What a program is given and must not tell.
    pub(super) fn secrets(&self) -> Arc<[Secret]> {
        self.secrets.clone()
    }

    /// All variables of a program. What is granted goes before the private HOME
    /// and TMPDIR, and cannot be changed by the plugin.
    pub(super) fn for_command(
        &self,
        added: &[(String, String)],
        directory: &PrivateDirectory,
    ) -> Result<Vec<(OsString, OsString)>, GateError> {
        let mut variables: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), self.path.clone()),
            ("HOME".into(), directory.home().into()),
            ("TMPDIR".into(), directory.temporary().into()),
        ];
        for (name, value) in added {
            self.check(name, value)?;
            variables.push((name.into(), value.into()));
        }
        // The last of a name counts.
        variables.extend(self.passed.iter().map(|(name, value)| (name.into(), value.clone())));
        Ok(variables)
    }

    fn check(&self, name: &str, value: &str) -> Result<(), GateError> {
        let shown = name.escape_debug();
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(GateError::new(
                GateErrorKind::InvalidInput,
                format!("`{shown}` is not a variable that a program can be given"),
            ));
        }
        let upper = name.to_ascii_uppercase();
        if FORBIDDEN.contains(&upper.as_str())
            || FORBIDDEN_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
            || upper.ends_with(FORBIDDEN_SUFFIX)
        {
            return Err(GateError::refused(format!(
                "a plugin may not set the variable {shown}, which changes what code runs or whom \
                 it trusts"
            ))
            .with_hint(format!("to pass on your own, add \"{shown}\" to `grants.environment`")));
        }
        if self.passed.iter().any(|(passed, _)| passed == name) {
            return Err(GateError::refused(format!(
                "the variable {shown} is granted from the user's environment, so a plugin may not \
                 set it"
            )));
        }
        Ok(())
    }

    /// Looks in PATH, or at the absolute path.
    pub(super) fn find_program(&self, program: &str) -> Result<PathBuf, GateError> {
        if program.contains('/') {
            let path = Path::new(program);
            if path.is_absolute() && is_executable(path) {
                return Ok(path.to_owned());
            }
            return Err(GateError::new(
                GateErrorKind::NotFound,
                format!("`{program}` is not the absolute path of a program"),
            )
            .with_hint("correct it in `grants.commands`"));
        }
        std::env::split_paths(&self.path)
            // An entry that is not absolute would mean another place in each
            // directory.
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(program))
            .find(|path| is_executable(path))
            .ok_or_else(|| {
                GateError::new(
                    GateErrorKind::NotFound,
                    format!("the program `{program}` is not installed"),
                )
                .with_hint(format!(
                    "install `{program}` so that it is in PATH, or name it by its absolute path"
                ))
            })
    }
}

/// Whether a variable holds a secret, by its name.
pub fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SECRET_SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
}

/// The secrets that a variable holds, in every form a program may print them: as
/// they are, line by line (output is read so), and as JSON writes them.
fn secrets_in(name: &str, value: &str) -> Vec<Secret> {
    let secret = if is_secret(name) {
        value
    } else if let Some(login) = login_of(value) {
        login
    } else {
        return Vec::new();
    };
    let lines = || secret.lines().map(str::trim).filter(|line| !line.is_empty());
    let escaped = lines().filter_map(|line| {
        let json = serde_json::Value::from(line).to_string();
        let inner = &json[1..json.len() - 1];
        (inner != line).then(|| Secret::new(inner))
    });
    lines().map(Secret::new).chain(escaped).collect()
}

/// The name and password of a URL, as those of proxies have them.
fn login_of(value: &str) -> Option<&str> {
    let (_scheme, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (login, _host) = authority.rsplit_once('@')?;
    login.contains(':').then_some(login)
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
