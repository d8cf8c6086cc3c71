//! Tasks that go on without anybody who waits. Every process that serves, or works
//! alone, looks after them: it takes up those that were left, stops working on
//! those that were cancelled or taken over elsewhere, and tells vendors of jobs
//! that nobody wants, and the user of what has ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::resume::TakenUp;
use super::{ErrorReport, Tasks};
use crate::store::StoreError;

/// How soon a cancel or a takeover by another process is noticed.
const LOOK: Duration = Duration::from_secs(1);

/// How long the end of this process waits for a start at a vendor.
const FAREWELL: Duration = Duration::from_secs(10);

/// How often what was left is looked for.
const ROUND: Duration = Duration::from_secs(3);

/// So many tasks in a row that cannot be taken up say something of the database.
const IN_VAIN: u32 = 3;

impl Tasks {
    /// Looks after the tasks in the background until `stop`.
    pub async fn keep(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(ROUND);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut trouble = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            match self.take_up_left().await {
                Ok(()) => trouble = None,
                // Said once, not every second.
                Err(error) if trouble.as_ref() != Some(&error) => {
                    tracing::warn!("background tasks cannot be looked after: {error}");
                    trouble = Some(error);
                }
                Err(_) => {}
            }
        }
    }

    /// As long as this process works on anything: what was cancelled or taken over
    /// elsewhere is let go of. There is one such watch at a time.
    pub(super) fn watch_claims(self: &Arc<Self>) {
        if self.watching.swap(true, Ordering::AcqRel) {
            return;
        }
        let tasks = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                if let Err(error) = tasks.let_go_of_lost().await {
                    tracing::debug!("whose the tasks are cannot be seen: {error}");
                }
                if tasks.running.claims().is_empty() {
                    tasks.watching.store(false, Ordering::Release);
                    // One may have begun in between, and found the watch still on.
                    if tasks.running.claims().is_empty()
                        || tasks.watching.swap(true, Ordering::AcqRel)
                    {
                        return;
                    }
                }
            }
        });
    }

    /// Looks after them with no client, until `stop`; or until each has come to its
    /// end or waits for the user.
    pub async fn work_alone(
        self: Arc<Self>,
        until_done: bool,
        stop: CancellationToken,
    ) -> Result<(), ErrorReport> {
        // What is wrong with the database is told at once, not in a log line.
        self.store.check().await?;
        for id in self.store.left_tasks().await? {
            self.check_left(&id, until_done).await?;
        }
        let keeping = stop.child_token();
        let kept = tokio::spawn(self.clone().keep(keeping.clone()));
        while until_done && !stop.is_cancelled() && self.store.any_in_background().await? {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        if !until_done {
            stop.cancelled().await;
        }
        keeping.cancel();
        let _ = kept.await;
        self.wait_for_starts().await;
        Ok(())
    }

    /// Says why a task that was left cannot be looked after here. Whoever waits for its
    /// end would wait in vain.
    async fn check_left(&self, id: &str, until_done: bool) -> Result<(), ErrorReport> {
        match self.can_take_up(id).await {
            Err(error) if until_done => Err(ErrorReport {
                message: format!("task {id} cannot be looked after: {}", error.message),
                ..error
            }),
            Err(error) => {
                tracing::warn!("task {id} cannot be looked after: {}", error.message);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Before this process ends: what is being started at a vendor is waited for,
    /// but not for long. What is broken off has to be sorted out by the user.
    pub async fn wait_for_starts(&self) {
        if tokio::time::timeout(FAREWELL, self.running.started()).await.is_err() {
            tracing::warn!("research is still being started, and this process ends all the same");
        }
    }

    async fn let_go_of_lost(&self) -> Result<(), StoreError> {
        let claims = self.running.claims();
        if claims.is_empty() {
            return Ok(());
        }
        for id in self.store.lost_claims(claims).await? {
            if let Some(running) = self.running.get(&id) {
                running.lost.cancel();
            }
        }
        Ok(())
    }

    async fn take_up_left(self: &Arc<Self>) -> Result<(), StoreError> {
        // First, so that nothing is asked for that is known already.
        self.take_in_rescued().await;
        // Nothing was ever asked: there is no need to make a database.
        if !self.store.exists() || self.check().is_err() {
            return Ok(());
        }
        let mut in_vain = 0;
        for id in self.store.left_tasks().await? {
            in_vain = if self.take_up_one(&id).await { 0 } else { in_vain + 1 };
            // It is not these tasks, it is the database: no need to wait for each.
            if in_vain == IN_VAIN {
                break;
            }
        }
        self.send_heralds().await;
        self.send_cancels().await
    }

    /// False where the database is in trouble.
    async fn take_up_one(self: &Arc<Self>, id: &str) -> bool {
        let taking_up = self.taking_up.lock().await;
        let mut sound = true;
        match self.take_up(id, None, false).await {
            Ok(TakenUp::Left(job)) => {
                tracing::info!("task {id} was left by its process, and goes on here");
                let (_, listening) = self.start(*job, Arc::new(|_| {}));
                drop(listening);
            }
            Ok(_) => {}
            // Another process can, or the user has to do something about it.
            Err(error) => {
                tracing::debug!("task {id} is left alone: {}", error.message);
                sound = error.code != "STORE_ERROR";
            }
        }
        drop(taking_up);
        sound
    }
}
