//! The herald: this program once more, for the few moments it takes to tell of one
//! task. It leads a process group of its own, and nothing ties it to us, so that
//! whoever kills the server does not kill what it was about to say.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// How this program was started, for one that is to see the same configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Herald {
    /// `--home`
    pub home: Option<PathBuf>,
    /// `--config`
    pub config: Option<PathBuf>,
    /// `--docs`
    pub documents: Vec<PathBuf>,
    /// Variables that hold secrets, which it does not need.
    pub without: Vec<String>,
}

impl Herald {
    /// Starts it at once, and waits for its end on a thread for blocking work, so
    /// that it does not stay in the process table. After an error it has told
    /// nothing.
    pub async fn send(&self, task: &str) -> std::io::Result<()> {
        let mut herald = self.command(task)?.spawn()?;
        let ended = tokio::task::spawn_blocking(move || herald.wait()).await;
        let status = ended.map_err(std::io::Error::other)??;
        if status.success() {
            Ok(())
        } else {
            Err(std::io::Error::other(format!("the herald ended with {status}")))
        }
    }

    fn command(&self, task: &str) -> std::io::Result<Command> {
        let mut command = system_command()?;
        if let Some(home) = &self.home {
            command.arg("--home").arg(home);
        }
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        command.arg("herald");
        for documents in &self.documents {
            command.arg("--docs").arg(documents);
        }
        command.args(["--", task]);
        for name in &self.without {
            command.env_remove(name);
        }
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }
}

/// Our own program. Linux knows it even where its file has been replaced since by
/// another version, or is gone.
#[expect(clippy::disallowed_methods, reason = "it is this program itself")]
fn system_command() -> std::io::Result<Command> {
    #[cfg(target_os = "linux")]
    if std::path::Path::new(ITSELF).exists() {
        let mut command = Command::new(ITSELF);
        command.arg0("bathysphere");
        return Ok(command);
    }
    Ok(Command::new(std::env::current_exe()?))
}

#[cfg(target_os = "linux")]
const ITSELF: &str = "/proc/self/exe";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_started_as_we_were() {
        let herald = Herald {
            home: Some("/srv/home".into()),
            config: Some("my plugins.toml".into()),
            documents: vec!["notes".into()],
            without: vec!["GEMINI_API_KEY".to_owned()],
        };
        let command = herald.command("-27475b74").unwrap();
        let arguments: Vec<_> = command.get_args().map(|one| one.to_str().unwrap()).collect();
        assert_eq!(
            arguments,
            [
                "--home",
                "/srv/home",
                "--config",
                "my plugins.toml",
                "herald",
                "--docs",
                "notes",
                "--",
                "-27475b74"
            ]
        );
        let changed: Vec<_> = command.get_envs().collect();
        assert_eq!(changed, [(std::ffi::OsStr::new("GEMINI_API_KEY"), None)]);
    }
}
