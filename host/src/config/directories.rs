//! Where files live: the platform's directories for configuration, data and
//! cache, or three directories beneath one that the user names.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use super::error::{ConfigError, Problem};

const NAME: &str = "bathysphere";

/// Named whether or not they exist; `ensure` makes one when it is first needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    pub config: PathBuf,
    pub data: PathBuf,
    pub cache: PathBuf,
}

impl Directories {
    /// `home` is `--home`; without it `BATHYSPHERE_HOME` is asked for, and then
    /// the platform. An empty variable counts as none.
    pub fn find(
        home: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, ConfigError> {
        let variable =
            || environment("BATHYSPHERE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
        match home.map(Path::to_owned).or_else(variable) {
            Some(home) => {
                std::path::absolute(&home).map(|home| Self::beneath(&home)).map_err(|error| {
                    let shown = home.display();
                    Problem::new(format!("{shown} cannot be made an absolute path: {error}"))
                        .with_hint("give --home or BATHYSPHERE_HOME an absolute path")
                        .into()
                })
            }
            None => Self::of_platform(),
        }
    }

    /// All three beneath one directory.
    pub fn beneath(home: &Path) -> Self {
        Self { config: home.join("config"), data: home.join("data"), cache: home.join("cache") }
    }

    fn of_platform() -> Result<Self, ConfigError> {
        let base = etcetera::base_strategy::choose_native_strategy().map_err(|_| {
            Problem::new("the home directory is not known, so there is no place for files")
                .with_hint("set HOME, or name a directory with --home DIR or BATHYSPHERE_HOME")
        })?;
        // Apple keeps ~/Library/Preferences for its own defaults system.
        let config =
            if cfg!(target_vendor = "apple") { base.data_dir() } else { base.config_dir() };
        Ok(Self {
            config: config.join(NAME),
            data: base.data_dir().join(NAME),
            cache: base.cache_dir().join(NAME),
        })
    }

    /// Makes a directory and its parents, for this user alone. One that exists
    /// is left as it is.
    pub fn ensure(path: &Path) -> Result<(), ConfigError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            builder.mode(0o700);
        }
        builder.create(path).map_err(|error| {
            Problem::new(format!("cannot make the directory {}: {error}", path.display()))
                .with_hint("name another place with --home DIR or BATHYSPHERE_HOME")
                .into()
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "one test starts itself with other variables")]
mod tests {
    use super::*;

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    #[test]
    fn a_flag_moves_all_three_and_wins_over_the_variable() {
        let variable =
            |name: &str| (name == "BATHYSPHERE_HOME").then(|| OsString::from("/variable"));
        let found = Directories::find(Some(Path::new("/flag")), &variable).unwrap();
        assert_eq!(found, Directories::beneath(Path::new("/flag")));
        assert_eq!(found.cache, Path::new("/flag/cache"));
        let found = Directories::find(None, &variable).unwrap();
        assert_eq!(found.data, Path::new("/variable/data"));
    }

    #[test]
    fn a_relative_home_is_made_absolute() {
        let found = Directories::find(Some(Path::new("here")), &nothing).unwrap();
        assert!(found.config.is_absolute());
        assert!(found.config.ends_with("here/config"));
    }

    #[test]
    fn an_empty_variable_is_no_variable() {
        let empty = |_: &str| Some(OsString::new());
        assert_eq!(
            Directories::find(None, &empty).unwrap(),
            Directories::find(None, &nothing).unwrap()
        );
    }

    #[cfg(unix)]
    #[test]
    fn ensure_makes_private_directories_and_leaves_others_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = root.path().join("a/b");
        Directories::ensure(&path).unwrap();
        Directories::ensure(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&root.path().join("a")), 0o700);
        assert_eq!(mode(root.path()), 0o755);
    }

    #[test]
    fn ensure_says_which_directory_could_not_be_made() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Directories::ensure(&file.join("below")).unwrap_err().to_string();
        assert!(error.contains("file/below"), "{error}");
        assert!(error.contains("--home DIR"), "{error}");
    }

    /// What `find` answers in a process with a given environment: this test
    /// starts itself again, because variables belong to the whole process.
    #[cfg(all(unix, not(target_vendor = "apple")))]
    #[test]
    fn xdg_variables_are_honoured_when_absolute() {
        const CHILD: &str = "BATHYSPHERE_TEST_PRINT_DIRECTORIES";
        if let Some(out) = std::env::var_os(CHILD) {
            let found = Directories::find(None, &nothing).unwrap();
            fs::write(
                out,
                [&found.config, &found.data, &found.cache]
                    .map(|p| p.display().to_string())
                    .join("\n"),
            )
            .unwrap();
            return;
        }
        let root = tempfile::tempdir().unwrap();
        let out = root.path().join("out");
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "config::directories::tests::xdg_variables_are_honoured_when_absolute",
            ])
            .env(CHILD, &out)
            .env("HOME", "/home/someone")
            .env("XDG_CONFIG_HOME", "/xdg/config")
            .env("XDG_DATA_HOME", "relative/data")
            .env("XDG_CACHE_HOME", "")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        assert_eq!(
            fs::read_to_string(out).unwrap(),
            "/xdg/config/bathysphere\n\
             /home/someone/.local/share/bathysphere\n\
             /home/someone/.cache/bathysphere"
        );
    }
}
