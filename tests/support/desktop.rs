//! A desktop to be told things on: a message bus of its own (`dbus-daemon`, where it
//! is installed), and a stand-in for the notification service on it. And a bus that
//! takes every caller, and never says a word.

use std::io::{self, BufRead as _, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use tempfile::TempDir;
use zbus::zvariant::OwnedValue;

use super::program::DEADLINE;

const CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=BUS</listen>
  <policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>
"#;

/// What the desktop was asked to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub program: String,
    pub title: String,
    pub body: String,
}

pub struct Desktop {
    directory: TempDir,
    _daemon: Daemon,
    shown: Arc<Mutex<Vec<Shown>>>,
    /// Keeps the service on the bus until the desktop is dropped.
    _runtime: tokio::runtime::Runtime,
    _connection: zbus::Connection,
}

impl Desktop {
    /// An error where there is no `dbus-daemon`.
    pub fn start(capabilities: &'static [&'static str]) -> io::Result<Self> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("bus.conf");
        let bus = directory.path().join("bus").display().to_string();
        std::fs::write(&file, CONFIGURATION.replace("BUS", &bus)).expect("a writable directory");
        let daemon = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", file.display()))
            .args(["--nofork", "--nopidfile", "--print-address=1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut daemon = Daemon(daemon?);
        // It listens from the moment it says where.
        let stdout = daemon.0.stdout.take().expect("stdout is piped");
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || drop(sender.send(BufReader::new(stdout).lines().next())));
        receiver.recv_timeout(DEADLINE).expect("an address").expect("a line").expect("text");

        let shown = Arc::<Mutex<Vec<Shown>>>::default();
        let service = Service { shown: shown.clone(), capabilities };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let connection = runtime
            .block_on(async { tokio::time::timeout(DEADLINE, serve(&bus, service)).await })
            .expect("a bus that answers")
            .expect("a service on the bus");
        Ok(Self { directory, _daemon: daemon, shown, _runtime: runtime, _connection: connection })
    }

    /// For `DBUS_SESSION_BUS_ADDRESS`.
    pub fn address(&self) -> String {
        address(&self.directory.path().join("bus"))
    }

    pub fn shown(&self) -> Vec<Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Ends with whoever has it.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn serve(bus: &str, service: Service) -> zbus::Result<zbus::Connection> {
    zbus::connection::Builder::address(&*format!("unix:path={bus}"))?
        .serve_at("/org/freedesktop/Notifications", service)?
        .name("org.freedesktop.Notifications")?
        .build()
        .await
}

fn address(socket: &Path) -> String {
    format!("unix:path={}", socket.display())
}

struct Service {
    shown: Arc<Mutex<Vec<Shown>>>,
    capabilities: &'static [&'static str],
}

#[expect(clippy::unused_self, reason = "the bus asks an object")]
#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Service {
    fn get_capabilities(&self) -> Vec<String> {
        self.capabilities.iter().map(|one| (*one).to_owned()).collect()
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        let text = str::to_owned;
        (text("stand-in"), text("Bathysphere"), text("1.0"), text("1.2"))
    }

    #[expect(clippy::too_many_arguments, reason = "the specification has that many")]
    fn notify(
        &self,
        program: String,
        replaces: u32,
        icon: String,
        title: String,
        body: String,
        actions: Vec<String>,
        hints: std::collections::HashMap<String, OwnedValue>,
        timeout: i32,
    ) -> u32 {
        let _ = (replaces, icon, actions, hints, timeout);
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.push(Shown { program, title, body });
        shown.len() as u32
    }
}

/// Takes every caller, and never says a word.
pub struct SilentBus {
    directory: TempDir,
    callers: mpsc::Receiver<UnixStream>,
}

impl SilentBus {
    pub fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let listener = UnixListener::bind(directory.path().join("bus")).expect("a socket");
        let (sender, callers) = mpsc::channel();
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                if sender.send(caller).is_err() {
                    return;
                }
            }
        });
        Self { directory, callers }
    }

    pub fn address(&self) -> String {
        address(&self.directory.path().join("bus"))
    }

    /// How many have called.
    pub fn callers(&self) -> usize {
        self.callers.try_iter().count()
    }
}
