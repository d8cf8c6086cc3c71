//! One is told, once.

use super::*;

/// A task whose user wants to be told of its end.
async fn wanted(store: &Store, text: &str) -> Claim {
    let claim = create(store, text).await;
    let id = claim.id.clone();
    store
        .write(move |transaction| {
            transaction.execute("UPDATE tasks SET notify = 1 WHERE id = ?1", [&id])?;
            Ok(())
        })
        .await
        .unwrap();
    claim
}

#[tokio::test]
async fn what_has_ended_and_is_wanted_is_told_in_the_order_it_ended() {
    let (_directory, store) = scratch();
    let unwanted = create(&store, "nobody wants to know").await;
    let running = wanted(&store, "still running").await;
    let cancelled = wanted(&store, "cancelled").await;
    let failed = wanted(&store, "failed").await;
    let completed = wanted(&store, "completed").await;
    for (claim, ending) in [
        (&unwanted, Ending::Completed),
        (&completed, Ending::Completed),
        (&cancelled, Ending::Cancelled),
        (&failed, Ending::Failed),
    ] {
        store.finish_task(claim, end(ending)).await.unwrap();
    }
    // They may have ended within the same millisecond.
    let id = failed.id.clone();
    store
        .write(move |transaction| {
            transaction
                .execute("UPDATE tasks SET finished_at = finished_at + 5 WHERE id = ?1", [&id])?;
            Ok(())
        })
        .await
        .unwrap();
    let expected = vec![completed.id.clone(), failed.id.clone()];
    assert_eq!(store.tasks_to_tell().await, Ok(expected));
    for claim in [&unwanted, &running, &cancelled] {
        assert_eq!(store.claim_notice(&claim.id).await, Ok(false));
    }
    assert_eq!(store.claim_notice("no such task").await, Ok(false));

    assert_eq!(store.claim_notice(&completed.id).await, Ok(true));
    assert_eq!(store.claim_notice(&completed.id).await, Ok(false));
    assert_eq!(store.tasks_to_tell().await, Ok(vec![failed.id.clone()]));
}

#[tokio::test]
async fn of_several_stores_one_tells() {
    let (directory, first) = scratch();
    let claim = wanted(&first, "question").await;
    first.finish_task(&claim, end(Ending::Completed)).await.unwrap();
    let claims = (0..8).map(|_| {
        let (store, id) = (open(directory.path()), claim.id.clone());
        tokio::spawn(async move { store.claim_notice(&id).await.unwrap() })
    });
    let claims: Vec<_> = claims.collect();
    let mut winners = 0;
    for claimed in claims {
        winners += usize::from(claimed.await.unwrap());
    }
    assert_eq!(winners, 1);
    assert_eq!(open(directory.path()).tasks_to_tell().await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_task_that_is_taken_up_again_is_not_told_of_twice() {
    let (_directory, store) = scratch();
    let claim = wanted(&store, "question").await;
    store.finish_task(&claim, end(Ending::Failed)).await.unwrap();
    assert_eq!(store.claim_notice(&claim.id).await, Ok(true));
    let again = store.reopen_task(&claim.id).await.unwrap();
    store.finish_task(&again, end(Ending::Completed)).await.unwrap();
    assert_eq!(store.tasks_to_tell().await, Ok(Vec::new()));
    assert_eq!(store.claim_notice(&claim.id).await, Ok(false));
}

#[tokio::test]
async fn looking_for_them_does_not_read_every_task() {
    let (_directory, store) = scratch();
    create(&store, "question").await;
    let plan: String = store
        .read(|reading| {
            let sql = format!("EXPLAIN QUERY PLAN {}", crate::store::notices::TO_TELL);
            Ok(reading.connection.query_row(&sql, [], |row| row.get("detail"))?)
        })
        .await
        .unwrap();
    assert!(plan.contains("tasks_to_tell"), "{plan}");
}
