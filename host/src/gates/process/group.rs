//! A process group that surely ends. Needs no async runtime, so that it can be
//! dropped anywhere.
//!
//! A thread waits for the group's leader. The leader is taken from the process
//! table only after the group has been signalled: until then its number cannot be
//! given to anyone else, so that no stranger is ever hit.

use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpid,
};
use tokio::sync::oneshot;

use super::directory::{self, PrivateDirectory};

/// From the polite signal to the one that cannot be ignored. Who cancels expects
/// all of it to be gone within a second.
const GRACE: Duration = Duration::from_millis(300);

/// How long `end_all` waits for the dead to be gone.
const FAREWELL: Duration = Duration::from_millis(100);

/// The groups that have not ended, for `end_all`.
static LIVING: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

struct Shared {
    leader: Pid,
    /// Whether the leader has been taken from the process table; from then on
    /// its number is no longer ours.
    reaped: Mutex<bool>,
    gone: Condvar,
    ending: AtomicBool,
    /// Removed when the last who needs it is done.
    directory: PrivateDirectory,
}

impl Shared {
    fn reaped(&self) -> MutexGuard<'_, bool> {
        self.reaped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals the whole group, if it is still ours.
    fn signal(&self, reaped: &MutexGuard<'_, bool>, signal: Signal) {
        if !**reaped {
            // An error means that there is nobody left.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Waits until the leader is gone or the time is over.
    fn wait<'shared>(
        &self,
        reaped: MutexGuard<'shared, bool>,
        time: Duration,
    ) -> MutexGuard<'shared, bool> {
        self.gone
            .wait_timeout_while(reaped, time, |reaped| !*reaped)
            .map_or_else(|poisoned| poisoned.into_inner().0, |(reaped, _)| reaped)
    }

    /// Waits for the leader to end, then ends all that it has left behind.
    fn supervise(&self, mut process: std::process::Child) -> io::Result<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(self.leader), options), Err(Errno::INTR)) {}
        let mut reaped = self.reaped();
        self.signal(&reaped, Signal::KILL);
        let status = process.wait();
        *reaped = true;
        self.gone.notify_all();
        status
    }
}

/// Ends the group when dropped.
pub(super) struct Group {
    shared: Arc<Shared>,
}

impl Group {
    /// Takes over a program that leads a group of its own, with its directory.
    pub(super) fn watch(
        process: std::process::Child,
        directory: PrivateDirectory,
    ) -> io::Result<(Self, oneshot::Receiver<ExitStatus>)> {
        let leader = Pid::from_child(&process);
        let shared = Arc::new(Shared {
            leader,
            reaped: Mutex::new(false),
            gone: Condvar::new(),
            ending: AtomicBool::new(false),
            directory,
        });
        {
            let mut living = LIVING.lock().unwrap_or_else(PoisonError::into_inner);
            living.retain(|group| group.strong_count() > 0);
            living.push(Arc::downgrade(&shared));
        }
        let (sender, receiver) = oneshot::channel();
        let watched = Arc::clone(&shared);
        let thread = thread::Builder::new().name(format!("program {leader}")).spawn(move || {
            if let Ok(status) = watched.supervise(process) {
                // Nobody listens once the child is dropped.
                let _ = sender.send(status);
            }
        });
        if let Err(error) = thread {
            let mut reaped = shared.reaped();
            shared.signal(&reaped, Signal::KILL);
            let _ = waitpid(Some(leader), WaitOptions::empty());
            *reaped = true;
            return Err(error);
        }
        Ok((Self { shared }, receiver))
    }

    pub(super) fn directory(&self) -> &PrivateDirectory {
        &self.shared.directory
    }

    /// Asks the group to end, and makes it after a moment. Does not wait.
    pub(super) fn end(&self) {
        let reaped = self.shared.reaped();
        if *reaped || self.shared.ending.swap(true, Ordering::Relaxed) {
            return;
        }
        self.shared.signal(&reaped, Signal::TERM);
        // A stopped program hears nothing but this.
        self.shared.signal(&reaped, Signal::CONT);
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("ending a program".to_owned()).spawn(move || {
            let reaped = shared.wait(shared.reaped(), GRACE);
            shared.signal(&reaped, Signal::KILL);
        });
        if thread.is_err() {
            self.shared.signal(&reaped, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Ends every program at once and removes its directory: for the moment before
/// this process exits, when nobody is left to end them later.
pub fn end_all() {
    let living: Vec<Arc<Shared>> = LIVING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .drain(..)
        .filter_map(|group| group.upgrade())
        .collect();
    end_now(&living);
    // Whoever has let go of a group before may be at removing its directory.
    let deadline = Instant::now() + FAREWELL;
    while directory::present() > living.len() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
}

fn end_now(groups: &[Arc<Shared>]) {
    for group in groups {
        group.signal(&group.reaped(), Signal::KILL);
    }
    let deadline = Instant::now() + FAREWELL;
    for group in groups {
        drop(group.wait(group.reaped(), deadline.saturating_duration_since(Instant::now())));
        group.directory.remove();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;

    use super::*;

    #[test]
    fn ending_at_once_waits_for_nobody_and_leaves_nothing() {
        let directory = PrivateDirectory::create().expect("a directory");
        let path = directory.path().to_owned();
        let process = super::super::system_command(Path::new("/bin/sh"))
            .args(["-c", "trap '' TERM; while true; do sleep 0.05; done"])
            .process_group(0)
            .spawn()
            .expect("it starts");
        let (group, exit) = Group::watch(process, directory).expect("it is watched");
        let registered = LIVING.lock().expect("no panic").iter().any(|living| {
            living.upgrade().is_some_and(|living| Arc::ptr_eq(&living, &group.shared))
        });
        assert!(registered);

        end_now(std::slice::from_ref(&group.shared));
        assert!(!path.exists());
        drop(group);
        assert_eq!(exit.blocking_recv().map(|status| status.code()), Ok(None));
    }
}
