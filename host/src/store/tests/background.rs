//! Tasks that go on without anybody who waits, and the jobs they wait for.

use super::*;
use crate::store::{CallEnd, Cancelled, NewJob, Status, StoreError};

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
    assert_eq!(store.take_cancels().await, Ok(Vec::new()), "nobody knows of a job yet");

    let answer = CallEnd { outcome: Ok("{}".to_owned()), usage: None, cost_usd: None };
    let started = store.job_started(&claim, job(number), answer).await;
    assert_eq!(started, Err(StoreError::LostOwnership { task: claim.id.clone() }));
    store.job_started_too_late(&claim.id, job(number)).await.unwrap();

    let taken = store.take_cancels().await.unwrap();
    let ids: Vec<&str> = taken.iter().map(|job| job.job_id.as_str()).collect();
    assert_eq!(ids, ["v1_0"]);
    assert_eq!(store.take_cancels().await, Ok(Vec::new()), "another is at it");
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
