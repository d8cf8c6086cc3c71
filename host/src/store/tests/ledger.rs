//! What calls cost, and what may not be spent.

use super::*;
use crate::store::{Budget, CallEnd, LedgerBy, Spent, StoreError};

fn costs(cost_usd: Option<f64>) -> CallEnd {
    CallEnd {
        outcome: Ok("{}".to_owned()),
        usage: Some(
            r#"{"input_tokens":1000,"output_tokens":20,"searches":3,"pages":1}"#.to_owned(),
        ),
        cost_usd,
    }
}

async fn spend(store: &Store, claim: &Claim, plugin: &str, cost_usd: Option<f64>) {
    let call = NewCall { plugin: plugin.to_owned(), ..call("answer") };
    let number = store.begin_call(claim, call).await.unwrap();
    store.finish_call(claim, number, costs(cost_usd)).await.unwrap();
}

async fn paid(store: &Store, claim: &Claim, limit: f64, reserve: f64) -> Result<u32, StoreError> {
    let budget = Budget { since: 0, limit_usd: limit, reserve_usd: reserve };
    store.begin_paid_call(claim, call("start"), Some(budget)).await
}

#[track_caller]
fn assert_near(amount: f64, expected: f64) {
    assert!((amount - expected).abs() < 1e-9, "{amount} and not {expected}");
}

#[tokio::test]
async fn calls_are_summed_by_backend_task_and_time() {
    let (_directory, store) = scratch();
    let first = create(&store, "first").await;
    let second = create(&store, "second").await;
    spend(&store, &first, "agent", Some(0.5)).await;
    spend(&store, &first, "search", Some(0.25)).await;
    spend(&store, &second, "agent", None).await;
    // One that failed cost nothing that is known, one without an answer may have.
    let failed = store.begin_call(&second, call("answer")).await.unwrap();
    let end = CallEnd { outcome: Err("\"no\"".to_owned()), usage: None, cost_usd: None };
    store.finish_call(&second, failed, end).await.unwrap();
    store.begin_call(&second, call("answer")).await.unwrap();

    let backends = store.ledger(LedgerBy::Backend, 0).await.unwrap();
    let keys: Vec<&str> = backends.iter().map(|row| row.key.as_str()).collect();
    assert_eq!(keys, ["agent", "search", "agent-gemini-cli"]);
    let agent = backends[0].spent;
    assert_eq!((agent.calls, agent.unpriced), (2, 1));
    assert_eq!((agent.input_tokens, agent.output_tokens), (2000, 40));
    assert_eq!((agent.searches, agent.pages), (6, 2));
    assert_near(agent.cost_usd, 0.5);
    assert_eq!((backends[2].spent.calls, backends[2].spent.unpriced), (2, 1));

    let tasks = store.ledger(LedgerBy::Task, 0).await.unwrap();
    assert_eq!(tasks.len(), 2);
    let of_first = tasks.iter().find(|row| row.key == first.id).unwrap();
    assert_eq!(of_first.task, Some(("search".to_owned(), "first".to_owned())));
    assert_near(of_first.spent.cost_usd, 0.75);
    assert_eq!(store.spent_by_task(&first.id).await.unwrap(), of_first.spent);
    assert_eq!(store.spent_by_task("none").await.unwrap(), Spent::default());

    let times = store.ledger(LedgerBy::Time, 0).await.unwrap();
    let mut all = Spent::default();
    for row in &times {
        let start: i64 = row.key.parse().unwrap();
        assert_eq!(start % (15 * 60 * 1000), 0);
        assert!((start..start + 15 * 60 * 1000).contains(&row.first_at), "{row:?}");
        all.add(&row.spent);
    }
    assert_eq!((all.calls, all.unpriced), (5, 2));
    assert_near(all.cost_usd, 0.75);
    assert_eq!(store.ledger(LedgerBy::Task, i64::MAX).await.unwrap(), []);
}

#[tokio::test]
async fn usage_that_cannot_be_read_counts_as_nothing() {
    let (_directory, store) = scratch();
    let claim = create(&store, "odd").await;
    let number = store.begin_call(&claim, call("answer")).await.unwrap();
    let end = CallEnd {
        outcome: Ok("{}".to_owned()),
        usage: Some(r#"{"input_tokens":null,"searches":"many"}"#.to_owned()),
        cost_usd: Some(0.1),
    };
    store.finish_call(&claim, number, end).await.unwrap();
    for _ in 0..2 {
        let number = store.begin_call(&claim, call("answer")).await.unwrap();
        let huge = format!(r#"{{"output_tokens":{}}}"#, u64::MAX);
        let end = CallEnd { usage: Some(huge), ..costs(None) };
        store.finish_call(&claim, number, end).await.unwrap();
    }
    let spent = store.spent_by_task(&claim.id).await.unwrap();
    assert_eq!((spent.calls, spent.input_tokens, spent.searches), (3, 0, 0));
    assert!(spent.output_tokens > u64::from(u32::MAX));
}

#[tokio::test]
async fn what_would_exceed_the_budget_is_refused_and_not_written_down() {
    let (_directory, store) = scratch();
    let first = create(&store, "first").await;
    let second = create(&store, "second").await;
    let number = paid(&store, &first, 5.0, 3.0).await.unwrap();
    let refused = paid(&store, &second, 5.0, 3.0).await.unwrap_err();
    assert_eq!(
        refused,
        StoreError::OverBudget { limit: 5.0, spent: 0.0, reserved: 3.0, wanted: 3.0 }
    );
    assert_eq!(store.calls(&second.id).await.unwrap(), []);
    // Less is still to be had, up to the last cent.
    paid(&store, &second, 5.0, 2.0).await.unwrap();
    assert_eq!(store.spent_since(0).await.unwrap(), (0.0, 5.0));

    // What was spent is no longer held.
    store.finish_call(&first, number, costs(Some(1.0))).await.unwrap();
    assert_eq!(store.spent_since(0).await.unwrap(), (1.0, 4.0));
    // And nothing is once the task has ended.
    store.finish_task(&first, end(Ending::Completed)).await.unwrap();
    assert_eq!(store.spent_since(0).await.unwrap(), (1.0, 2.0));
    let third = create(&store, "third").await;
    paid(&store, &third, 5.0, 2.0).await.unwrap();
}

#[tokio::test]
async fn a_task_that_goes_on_is_not_counted_twice() {
    let (_directory, store) = scratch();
    let claim = create(&store, "rounds").await;
    for _ in 0..3 {
        let number = paid(&store, &claim, 3.0, 3.0).await.unwrap();
        store.finish_call(&claim, number, costs(Some(1.0))).await.unwrap();
    }
    let refused = paid(&store, &claim, 3.0, 3.0).await.unwrap_err();
    assert!(matches!(refused, StoreError::OverBudget { .. }), "{refused}");
    assert_eq!(store.calls(&claim.id).await.unwrap().len(), 3);
}

#[tokio::test]
async fn without_a_reserve_there_must_be_something_left() {
    let (_directory, store) = scratch();
    let claim = create(&store, "unknown").await;
    assert!(paid(&store, &claim, 0.0, 0.0).await.is_err());
    let number = paid(&store, &claim, 0.5, 0.0).await.unwrap();
    store.finish_call(&claim, number, costs(Some(0.5))).await.unwrap();
    assert!(paid(&store, &claim, 0.5, 0.0).await.is_err());
    // Without a budget nothing is asked.
    store.begin_paid_call(&claim, call("start"), None).await.unwrap();
    // What was sent earlier than the day does not count.
    let tomorrow = Budget { since: i64::MAX, limit_usd: 0.5, reserve_usd: 0.0 };
    store.begin_paid_call(&claim, call("start"), Some(tomorrow)).await.unwrap();
    // A limit that is no number lets nothing through.
    assert!(paid(&store, &claim, f64::NAN, 1.0).await.is_err());
}

/// Several processes on one database, each with a store of its own.
#[tokio::test]
async fn the_same_dollar_is_not_spent_twice() {
    let directory = tempfile::tempdir().unwrap();
    let stores: Vec<Store> = (0..4).map(|_| open(directory.path())).collect();
    let mut attempts = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % stores.len()].clone();
        attempts.spawn(async move {
            let claim = create(&store, "race").await;
            paid(&store, &claim, 7.0, 1.0).await.is_ok()
        });
    }
    let granted = attempts.join_all().await.into_iter().filter(|granted| *granted).count();
    assert_eq!(granted, 7);
    assert_eq!(stores[0].spent_since(0).await.unwrap(), (0.0, 7.0));
}
