//! Tasks that go on without anybody who waits, and the jobs they wait for.

use super::*;
use crate::store::{CallEnd, Cancelled, NewJob, Status, StoreError, TaskRecord};

async fn in_background(store: &Store, notify: bool) -> Claim {
    store.create_task(NewTask { background: true, notify, ..task("question") }).await.unwrap()
}

fn job(call: u32) -> NewJob {
    NewJob {
        call,
        plugin: "research-gemini".to_owned(),
        job_id: "v1_0".to_owned(),
        state: "{}".to_owned(),
    }
}

#[tokio::test]
async fn a_job_that_starts_after_the_cancel_is_to_be_ended_at_once_and_by_one() {
    let (_directory, store) = scratch();
    let claim = in_background(&store, true).await;
    let number = store.begin_call(&claim, call("start")).await.unwrap();
    assert_eq!(store.cancel_task(&claim.id, None).await, Ok(Cancelled::Now));
    assert_eq!(
        store.take_cancels(vec!["research-gemini".to_owned()]).await,
        Ok(Vec::new()),
        "nobody knows of a job yet"
    );

    let answer = CallEnd { outcome: Ok("{}".to_owned()), usage: None, cost_usd: None };
    let started = store.job_started(&claim, job(number), answer).await;
    assert_eq!(started, Err(StoreError::LostOwnership { task: claim.id.clone() }));
    store.job_started_too_late(&claim.id, job(number)).await.unwrap();

    let others = store.take_cancels(vec!["research-other".to_owned()]).await;
    assert_eq!(others, Ok(Vec::new()), "whoever cannot reach the vendor leaves it alone");
    let taken = store.take_cancels(vec!["research-gemini".to_owned()]).await.unwrap();
    let ids: Vec<&str> = taken.iter().map(|job| job.job_id.as_str()).collect();
    assert_eq!(ids, ["v1_0"]);
    assert_eq!(
        store.take_cancels(vec!["research-gemini".to_owned()]).await,
        Ok(Vec::new()),
        "another is at it"
    );
    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!(task.status, Status::Cancelled);
}

#[tokio::test]
async fn there_is_something_to_do_until_task_vendor_and_user_are_seen_to() {
    let (_directory, store) = scratch();
    assert_eq!(store.any_in_background().await, Ok(false));
    // Of one with somebody who waits, nothing is to be done in the background.
    create(&store, "question").await;
    assert_eq!(store.any_in_background().await, Ok(false));

    let told = in_background(&store, true).await;
    assert_eq!(store.any_in_background().await, Ok(true), "it runs");
    store.finish_task(&told, end(Ending::Completed)).await.unwrap();
    assert_eq!(store.any_in_background().await, Ok(true), "the user is to be told");
    assert_eq!(store.claim_notice(&told.id).await, Ok(true));
    assert_eq!(store.any_in_background().await, Ok(false));

    let unwanted = in_background(&store, true).await;
    let number = store.begin_call(&unwanted, call("start")).await.unwrap();
    let answer = CallEnd { outcome: Ok("{}".to_owned()), usage: None, cost_usd: None };
    store.job_started(&unwanted, job(number), answer).await.unwrap();
    store.cancel_task(&unwanted.id, None).await.unwrap();
    assert_eq!(store.any_in_background().await, Ok(true), "the vendor is to be told");
    store.job_cancelled(&unwanted.id, None, None, None).await.unwrap();
    assert_eq!(store.any_in_background().await, Ok(false));
}

#[tokio::test]
async fn a_task_that_is_decided_on_has_its_time_again() {
    let (_directory, store) = scratch();
    let new = NewTask { background: true, deadline: Some(1_000), ..task("question") };
    let claim = store.create_task(new).await.unwrap();
    store.begin_call(&claim, call("start")).await.unwrap();
    store.park_task(&claim, String::new(), "{}".to_owned()).await.unwrap();
    let before = store.task(&claim.id).await.unwrap().unwrap();
    store.retry_task(&claim.id).await.unwrap();
    let after = store.task(&claim.id).await.unwrap().unwrap();
    let given = |task: &TaskRecord| task.deadline.unwrap() - before.created_at;
    assert!(given(&after) >= given(&before), "{after:?}");
    assert!(after.deadline > before.deadline);
    assert_eq!(store.left_tasks().await, Ok(vec![claim.id]));
}

#[tokio::test]
async fn a_task_that_is_given_up_is_found_by_the_next() {
    let (_directory, store) = scratch();
    let claim = in_background(&store, false).await;
    assert_eq!(store.left_tasks().await, Ok(Vec::new()));
    store.leave_task(&claim).await.unwrap();
    assert_eq!(store.left_tasks().await, Ok(vec![claim.id.clone()]));
    let taken = store.claim_task(&claim.id).await.unwrap();
    assert_eq!(
        store.leave_task(&claim).await,
        Err(StoreError::LostOwnership { task: taken.id }),
        "whoever has lost it cannot give it away"
    );
}

#[tokio::test]
async fn a_job_that_was_taken_for_gone_can_be_named_again() {
    let (_directory, store) = scratch();
    let claim = in_background(&store, true).await;
    let number = store.begin_call(&claim, call("start")).await.unwrap();
    let answer = CallEnd { outcome: Ok("{}".to_owned()), usage: None, cost_usd: None };
    store.job_started(&claim, job(number), answer).await.unwrap();
    let running = store.adopt_job(&claim.id, "v1_1", "{}".to_owned()).await;
    assert!(matches!(running, Err(StoreError::NotParked { .. })), "{running:?}");
    store.finish_task(&claim, end(Ending::Failed)).await.unwrap();
    store.adopt_job(&claim.id, "v1_1", "{}".to_owned()).await.unwrap();
    assert_eq!(store.job(&claim.id).await.unwrap().unwrap().job_id, "v1_1");
    assert_eq!(store.left_tasks().await, Ok(vec![claim.id]));
}
