//! One owner at a time.

use super::*;
use crate::store::{Status, StoreError, TaskFilter};

async fn status(store: &Store, claim: &Claim) -> Status {
    store.task(&claim.id).await.unwrap().unwrap().status
}

/// As if every process that owns tasks had died.
fn forget_owners(directory: &Path) {
    std::fs::remove_dir_all(directory.join("owners")).unwrap();
}

#[tokio::test]
async fn a_task_of_a_living_process_is_not_given_away() {
    let (directory, first) = scratch();
    let second = open(directory.path());
    let claim = create(&first, "question").await;
    assert_eq!(status(&second, &claim).await, Status::Running);
    let expected = StoreError::Owned { task: claim.id.clone() };
    assert_eq!(second.claim_task(&claim.id).await, Err(expected.clone()));
    // Nor to the one that has it: two claims would be two owners.
    assert_eq!(first.claim_task(&claim.id).await, Err(expected));
}

#[tokio::test]
async fn an_interrupted_task_goes_on_with_its_new_owner() {
    let (directory, first) = scratch();
    let second = open(directory.path());
    let claim = create(&first, "question").await;
    let done = create(&first, "done").await;
    first.finish_task(&done, end(Ending::Completed)).await.unwrap();
    first.save_round(&claim, round(1)).await.unwrap();
    first.close().await;

    assert_eq!(status(&second, &claim).await, Status::Interrupted);
    assert_eq!(status(&second, &done).await, Status::Completed);
    let filter = |status| TaskFilter { status: Some(status), limit: 10 };
    let interrupted = second.tasks(filter(Status::Interrupted)).await.unwrap();
    assert_eq!(interrupted.len(), 1);
    assert_eq!(interrupted[0].id, claim.id);
    assert_eq!(second.tasks(filter(Status::Running)).await, Ok(Vec::new()));

    let taken = second.claim_task(&claim.id).await.unwrap();
    assert_eq!(status(&second, &taken).await, Status::Running);
    second.save_round(&taken, round(2)).await.unwrap();
    second.finish_task(&taken, end(Ending::Completed)).await.unwrap();
    assert_eq!(second.rounds(&claim.id).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_former_owner_can_write_no_more() {
    let (directory, first) = scratch();
    let second = open(directory.path());
    let claim = create(&first, "question").await;
    let number = first.begin_call(&claim, call("ask")).await.unwrap();
    forget_owners(directory.path());
    let taken = second.claim_task(&claim.id).await.unwrap();

    let lost = StoreError::LostOwnership { task: claim.id.clone() };
    let answer =
        crate::store::CallEnd { outcome: Ok("{}".to_owned()), usage: None, cost_usd: None };
    let plan = first.save_plan(&claim, "{}".to_owned()).await;
    assert_eq!(plan, Err(lost.clone()));
    let saved = first.save_round(&claim, round(1)).await;
    assert_eq!(saved, Err(lost.clone()));
    let begun = first.begin_call(&claim, call("ask")).await;
    assert_eq!(begun, Err(lost.clone()));
    let returned = first.finish_call(&claim, number, answer).await;
    assert_eq!(returned, Err(lost.clone()));
    let finished = first.finish_task(&claim, end(Ending::Completed)).await;
    assert_eq!(finished, Err(lost));
    assert_eq!(second.rounds(&claim.id).await, Ok(Vec::new()));
    assert_eq!(second.result(&claim.id).await, Ok(None));

    second.save_round(&taken, round(1)).await.unwrap();
}

#[tokio::test]
async fn of_many_that_claim_a_task_one_gets_it() {
    let (directory, first) = scratch();
    let claim = create(&first, "question").await;
    first.close().await;
    let mut claims = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, id) = (open(directory.path()), claim.id.clone());
        claims.spawn(async move {
            let claimed = store.claim_task(&id).await;
            (store, claimed)
        });
    }
    // The stores are kept: a winner that went away could be succeeded.
    let claims = claims.join_all().await;
    let won = claims.iter().filter(|(_, claimed)| claimed.is_ok()).count();
    assert_eq!(won, 1);
    for (_, claimed) in claims {
        if let Err(error) = claimed {
            assert!(matches!(error, StoreError::Owned { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn what_does_not_exist_cannot_be_claimed() {
    let (_directory, store) = scratch();
    let error = store.claim_task("nothing").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no task `nothing`");
}

#[tokio::test]
async fn a_process_that_only_reads_takes_no_lock() {
    let (directory, store) = scratch();
    assert_eq!(store.task("nothing").await, Ok(None));
    assert!(!directory.path().join("owners").exists());
}
