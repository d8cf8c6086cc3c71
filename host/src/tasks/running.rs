//! The tasks that this process works on: each runs by itself, so that whoever
//! asked can stop waiting without ending it, and whoever asks again can listen
//! to the one that runs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::report::Outcome;
use crate::research::{Event, EventSink};
use crate::store::Claim;

/// A task under way.
pub struct Running {
    pub id: String,
    /// Ends it, with all that was done.
    pub cancel: CancellationToken,
    /// It was cancelled or taken over elsewhere: the work on it stops, and what
    /// became of it is in the database.
    pub lost: CancellationToken,
    /// What allows this process to write to it.
    claim: Option<Claim>,
    /// It goes on without anybody who waits.
    background: bool,
    listeners: Mutex<Listeners>,
    /// How many wait for its end.
    waiting: AtomicUsize,
    outcome: watch::Receiver<Option<Arc<Outcome>>>,
    /// Whether its job is being started at a vendor just now.
    starting: OnceLock<watch::Receiver<bool>>,
}

/// One who waits. Whoever goes away before the end, and leaves nobody waiting,
/// ends the task: nobody should go on paying for what nobody wants.
struct Waiter<'a> {
    running: &'a Running,
    content: bool,
}

impl<'a> Waiter<'a> {
    fn new(running: &'a Running) -> Self {
        running.waiting.fetch_add(1, Ordering::AcqRel);
        Self { running, content: false }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let last = self.running.waiting.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && !self.content && !self.running.background {
            self.running.cancel.cancel();
        }
    }
}

/// How whoever works on it tells that it has come to its end. Dropped without a
/// word, nobody waits any longer.
pub struct End(watch::Sender<Option<Arc<Outcome>>>);

impl End {
    pub fn tell(self, outcome: Outcome) {
        self.0.send_replace(Some(Arc::new(outcome)));
    }
}

#[derive(Default)]
struct Listeners {
    next: u64,
    sinks: Vec<(u64, EventSink)>,
}

/// Hears what is told until it is dropped.
pub struct Listening {
    running: Arc<Running>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        guard(&self.running.listeners).sinks.retain(|(number, _)| *number != self.number);
    }
}

impl Running {
    pub fn new(id: String, claim: Option<Claim>, background: bool) -> (Arc<Self>, End) {
        let (sender, outcome) = watch::channel(None);
        let running = Self {
            id,
            cancel: CancellationToken::new(),
            lost: CancellationToken::new(),
            claim,
            background,
            listeners: Mutex::default(),
            waiting: AtomicUsize::new(0),
            outcome,
            starting: OnceLock::new(),
        };
        (Arc::new(running), End(sender))
    }

    /// Whoever works on it tells when its job is being started.
    pub fn tell_of_starts(&self, starting: watch::Receiver<bool>) {
        let _ = self.starting.set(starting);
    }

    /// Waits until its job is not being started: broken off, nobody would know
    /// what was paid for.
    pub async fn started(&self) {
        if let Some(starting) = self.starting.get() {
            // Whoever worked on it is gone: nothing is being started then.
            let _ = starting.clone().wait_for(|starting| !starting).await;
        }
    }

    pub fn listen(self: &Arc<Self>, events: EventSink) -> Listening {
        let mut listeners = guard(&self.listeners);
        let number = listeners.next;
        listeners.next += 1;
        listeners.sinks.push((number, events));
        Listening { running: self.clone(), number }
    }

    /// Tells everyone who listens.
    pub fn events(self: &Arc<Self>) -> EventSink {
        let running = self.clone();
        Arc::new(move |event: Event| {
            let sinks = guard(&running.listeners).sinks.clone();
            for (_, sink) in sinks {
                sink(event.clone());
            }
        })
    }

    /// Waits for the end. None when the time was over first: the task then goes
    /// on. The last who waits ends the task by `cancel`, and by dropping this.
    pub async fn wait(
        &self,
        cancel: CancellationToken,
        most: Option<Duration>,
    ) -> Option<Arc<Outcome>> {
        let mut waiter = Waiter::new(self);
        let mut outcome = self.outcome.clone();
        let ended = async {
            let ended = outcome.wait_for(Option::is_some).await;
            ended.ok().and_then(|outcome| outcome.clone())
        };
        tokio::pin!(ended);
        let time_is_over = async {
            match most {
                Some(most) => tokio::time::sleep(most).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut ended => {
                waiter.content = true;
                outcome
            }
            () = cancel.cancelled() => {
                drop(waiter);
                if self.cancel.is_cancelled() { ended.await } else { None }
            }
            () = time_is_over => {
                waiter.content = true;
                None
            }
        }
    }
}

/// All of them, by id.
#[derive(Default)]
pub struct AllRunning {
    tasks: Mutex<HashMap<String, Arc<Running>>>,
}

/// A task's place among them, until it is dropped.
pub struct Listed {
    all: Arc<AllRunning>,
    id: String,
}

impl Drop for Listed {
    fn drop(&mut self) {
        guard(&self.all.tasks).remove(&self.id);
    }
}

impl AllRunning {
    pub fn list(self: &Arc<Self>, running: &Arc<Running>) -> Listed {
        guard(&self.tasks).insert(running.id.clone(), running.clone());
        Listed { all: self.clone(), id: running.id.clone() }
    }

    /// What this process may write to just now.
    pub fn claims(&self) -> Vec<Claim> {
        guard(&self.tasks).values().filter_map(|running| running.claim.clone()).collect()
    }

    pub fn get(&self, id: &str) -> Option<Arc<Running>> {
        guard(&self.tasks).get(id).cloned()
    }

    /// Waits until nothing is being started at a vendor.
    pub async fn started(&self) {
        let tasks: Vec<Arc<Running>> = guard(&self.tasks).values().cloned().collect();
        for running in tasks {
            running.started().await;
        }
    }
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests as outcomes;

    fn foreground(id: &str) -> (Arc<Running>, End) {
        Running::new(id.to_owned(), None, false)
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_runs_out_of_time_leaves_the_task_running() {
        let (running, _end) = foreground("one");
        let waited = running.wait(CancellationToken::new(), Some(Duration::from_secs(5))).await;
        assert!(waited.is_none());
        assert!(!running.cancel.is_cancelled());
    }

    #[tokio::test]
    async fn whoever_cancels_or_goes_away_ends_it() {
        let (running, _end) = foreground("one");
        let waiting =
            tokio::time::timeout(Duration::ZERO, running.wait(CancellationToken::new(), None));
        assert!(waiting.await.is_err());
        assert!(running.cancel.is_cancelled());

        let (running, end) = foreground("two");
        let cancel = CancellationToken::new();
        cancel.cancel();
        let ending = async {
            running.cancel.cancelled().await;
            end.tell(outcomes::found());
        };
        let (waited, ()) = tokio::join!(running.wait(cancel, None), ending);
        assert!(waited.is_some());
    }

    #[tokio::test]
    async fn a_background_task_goes_on_whoever_goes_away() {
        let (running, _end) = Running::new("one".to_owned(), None, true);
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(running.wait(cancel, None).await.is_none());
        assert!(!running.cancel.is_cancelled());
    }

    #[tokio::test]
    async fn one_of_several_may_go_without_ending_it_for_the_others() {
        let (running, end) = foreground("one");
        let gone = CancellationToken::new();
        let telling = async {
            gone.cancel();
            while running.waiting.load(Ordering::Acquire) > 1 {
                tokio::task::yield_now().await;
            }
            end.tell(outcomes::found());
        };
        let (first, second, ()) = tokio::join!(
            running.wait(CancellationToken::new(), None),
            running.wait(gone.clone(), None),
            telling
        );
        assert!(first.is_some() && second.is_none());
        assert!(!running.cancel.is_cancelled());
    }

    #[tokio::test]
    async fn everyone_who_listens_hears_it_and_nobody_else() {
        let (running, _end) = foreground("one");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let listener = |name: &'static str| {
            let heard = heard.clone();
            running.listen(Arc::new(move |_| guard(&heard).push(name)))
        };
        let first = listener("first");
        let second = listener("second");
        let events = running.events();
        events(Event::Started { id: "one".to_owned() });
        drop(first);
        events(Event::Started { id: "one".to_owned() });
        drop(second);
        events(Event::Started { id: "one".to_owned() });
        assert_eq!(*guard(&heard), ["first", "second", "second"]);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_worker_that_is_gone() {
        let (running, end) = foreground("one");
        drop(end);
        assert!(running.wait(CancellationToken::new(), None).await.is_none());
    }

    #[test]
    fn a_task_is_found_as_long_as_it_runs() {
        let all = Arc::new(AllRunning::default());
        let (running, _end) = foreground("one");
        let listed = all.list(&running);
        assert!(all.get("one").is_some_and(|found| Arc::ptr_eq(&found, &running)));
        drop(listed);
        assert!(all.get("one").is_none());
    }
}
