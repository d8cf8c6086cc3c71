//! What the store costs. Run it with `--ignored --nocapture` to see the figures.

use std::io::Write;
use std::time::{Duration, Instant};

use super::*;
use crate::store::TaskFilter;

struct Times(Vec<Duration>);

impl Times {
    /// The time that this share of them took at the most.
    fn at(&self, share: f64) -> Duration {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }

    async fn of<F: Future>(name: &str, times: usize, mut work: impl FnMut(usize) -> F) -> Self {
        let mut taken = Vec::with_capacity(times);
        for number in 0..times {
            let start = Instant::now();
            work(number).await;
            taken.push(start.elapsed());
        }
        taken.sort();
        let taken = Self(taken);
        let (median, most) = (taken.at(0.5), taken.at(0.99));
        writeln!(std::io::stderr(), "{name}: median {median:?}, 99% {most:?}").unwrap();
        taken
    }
}

#[tokio::test]
#[ignore = "measures time"]
async fn cost_of_reading_and_writing() {
    let (directory, store) = scratch();
    let started = Instant::now();
    drop(open(directory.path()));
    let opening = started.elapsed();
    writeln!(std::io::stderr(), "open: {opening:?}").unwrap();
    store.check().await.unwrap();

    let claims = std::sync::Mutex::new(Vec::new());
    Times::of("create_task", 200, async |_| {
        let claim = create(&store, "why is the sea salt").await;
        claims.lock().unwrap().push(claim);
    })
    .await;
    let claims = claims.into_inner().unwrap();
    let save_round = Times::of("save_round of 8 KB", 200, async |number| {
        let round = NewRound { round: "x".repeat(8192), ..round(1) };
        store.save_round(&claims[number], round).await.unwrap();
    })
    .await;
    Times::of("begin_call", 200, async |number| {
        store.begin_call(&claims[number], call("ask")).await.unwrap();
    })
    .await;

    // As large as a database gets in years.
    let many = |session: &mut crate::store::writer::Session| {
        session.transact(|transaction| {
            transaction.execute_batch(
                "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
                 INSERT INTO tasks (id, tool, text, question, status, owner, epoch, created_at, updated_at)
                 SELECT lower(hex(randomblob(16))), 'search', 'question', '{}', 'completed', '', 1, n, n
                 FROM numbers",
            )?;
            Ok(())
        })
    };
    store.shared.writer.submit(many).await.unwrap();
    let status = Times::of("status among 10,000 tasks", 2000, async |number| {
        store.task(&claims[number % 200].id).await.unwrap();
    })
    .await;
    let list = Times::of("the newest 20", 500, async |_| {
        let filter = TaskFilter { status: None, limit: 20 };
        store.tasks(filter).await.unwrap();
    })
    .await;

    assert!(opening < Duration::from_millis(5));
    assert!(status.at(0.5) < Duration::from_millis(1));
    assert!(list.at(0.5) < Duration::from_millis(5));
    assert!(save_round.at(0.5) < Duration::from_millis(50));
}
