//! A database that is removed or replaced under a running server: what comes
//! later is saved, and what was lost is told.

use super::*;
use crate::store::{Fault, Status, StoreError};

async fn knows(store: &Store, id: &str) -> bool {
    store.task(id).await.unwrap().is_some()
}

#[tokio::test]
async fn a_directory_that_was_removed_is_made_anew() {
    let all = tempfile::tempdir().unwrap();
    let data = all.path().join("data");
    let store = open(&data);
    let old = create(&store, "old").await;
    assert!(knows(&store, &old.id).await);
    std::fs::remove_dir_all(&data).unwrap();

    // Reading finds an empty database, not the one that is gone.
    assert!(!knows(&store, &old.id).await);
    let new = create(&store, "new").await;
    store.finish_task(&new, end(Ending::Completed)).await.unwrap();
    let running = create(&store, "running").await;
    let elsewhere = open(&data);
    assert!(knows(&elsewhere, &new.id).await);
    assert!(elsewhere.result(&new.id).await.unwrap().is_some());
    // The lock is there as well: the task has not lost its owner.
    let seen = elsewhere.task(&running.id).await.unwrap().unwrap();
    assert_eq!(seen.status, Status::Running);
    assert!(matches!(elsewhere.claim_task(&running.id).await, Err(StoreError::Owned { .. })));
}

#[tokio::test]
async fn a_task_that_vanished_cannot_be_written_in_silence() {
    let all = tempfile::tempdir().unwrap();
    let data = all.path().join("data");
    let store = open(&data);
    let claim = create(&store, "question").await;
    store.save_round(&claim, round(1)).await.unwrap();
    std::fs::remove_dir_all(&data).unwrap();

    let vanished = StoreError::Vanished { task: claim.id.clone() };
    assert_eq!(store.save_round(&claim, round(2)).await, Err(vanished.clone()));
    assert_eq!(store.begin_call(&claim, call("ask")).await, Err(vanished.clone()));
    assert_eq!(store.finish_task(&claim, end(Ending::Completed)).await, Err(vanished.clone()));
    assert!(vanished.to_string().contains("no longer in the database"), "{vanished}");
    assert!(vanished.hint().is_some());
}

#[tokio::test]
async fn a_database_that_was_replaced_is_opened_anew() {
    let (directory, store) = scratch();
    let old = create(&store, "old").await;
    assert!(knows(&store, &old.id).await);

    let other = tempfile::tempdir().unwrap();
    let restored = open(other.path());
    let kept = create(&restored, "kept").await;
    restored.close().await;
    for ending in ["-wal", "-shm"] {
        std::fs::remove_file(directory.path().join(format!("tasks.db{ending}"))).unwrap();
    }
    std::fs::rename(other.path().join("tasks.db"), directory.path().join("tasks.db")).unwrap();

    assert!(!knows(&store, &old.id).await);
    assert!(knows(&store, &kept.id).await);
    let new = create(&store, "new").await;
    store.close().await;
    let later = open(directory.path());
    assert!(knows(&later, &kept.id).await);
    assert!(knows(&later, &new.id).await);
}

#[tokio::test]
async fn a_write_into_a_file_that_is_being_removed_is_not_acknowledged() {
    let (directory, store) = scratch();
    let path = directory.path().join("tasks.db");
    store.check().await.unwrap();
    let remove = path.clone();
    let error = store
        .write(move |_| {
            std::fs::remove_file(remove).unwrap();
            Ok(())
        })
        .await
        .unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Replaced), "{error}");
    assert!(error.to_string().contains("tasks.db"), "{error}");
    let claim = create(&store, "question").await;
    assert!(knows(&open(directory.path()), &claim.id).await);
}

#[tokio::test]
async fn locks_that_were_removed_come_back_with_the_next_write() {
    let (directory, store) = scratch();
    let claim = create(&store, "question").await;
    let elsewhere = open(directory.path());
    std::fs::remove_dir_all(directory.path().join("owners")).unwrap();
    let status = async || elsewhere.task(&claim.id).await.unwrap().unwrap().status;
    assert_eq!(status().await, Status::Interrupted);
    store.save_round(&claim, round(1)).await.unwrap();
    assert_eq!(status().await, Status::Running);
}
