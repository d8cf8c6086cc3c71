//! What is written can be read back, once, and in order.

use super::*;
use crate::store::{CallEnd, CallState, Status, StoreError, TaskFilter};

fn answered() -> CallEnd {
    CallEnd {
        outcome: Ok(r#"{"text":"so it is"}"#.to_owned()),
        usage: Some(r#"{"input_tokens":7}"#.to_owned()),
        cost_usd: Some(0.25),
    }
}

fn any(limit: u32) -> TaskFilter {
    TaskFilter { status: None, limit }
}

#[tokio::test]
async fn a_task_from_start_to_end() {
    let (_directory, store) = scratch();
    let claim = create(&store, "why is the sea salt").await;
    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!(task.status, Status::Running);
    assert_eq!(task.text, "why is the sea salt");
    assert_eq!(task.question, r#"{"text":"why is the sea salt"}"#);
    assert_eq!((task.plan, task.memo.as_str(), task.rounds), (None, "", 0));
    assert_eq!(store.result(&claim.id).await.unwrap(), None);

    store.save_plan(&claim, r#"{"rounds":2}"#.to_owned()).await.unwrap();
    let number = store.begin_call(&claim, call("ask")).await.unwrap();
    let sent = store.calls(&claim.id).await.unwrap().remove(0);
    assert_eq!((sent.number, sent.state), (number, CallState::Sent));
    assert_eq!((sent.outcome, sent.returned_at), (None, None));
    store.finish_call(&claim, number, answered()).await.unwrap();
    store.save_round(&claim, round(1)).await.unwrap();
    store.save_round(&claim, round(2)).await.unwrap();
    store.finish_task(&claim, end(Ending::Completed)).await.unwrap();

    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!(task.status, Status::Completed);
    assert_eq!(task.plan.as_deref(), Some(r#"{"rounds":2}"#));
    assert_eq!((task.memo.as_str(), task.rounds), ("memo 2", 2));
    assert_eq!(task.stop_reason.as_deref(), Some("good-enough"));
    assert_eq!(task.finished_at, Some(task.updated_at));
    assert!(task.created_at <= task.updated_at);

    let call = store.calls(&claim.id).await.unwrap().remove(0);
    assert_eq!(call.state, CallState::Answered);
    assert_eq!(call.outcome.as_deref(), Some(r#"{"text":"so it is"}"#));
    assert_eq!(call.usage.as_deref(), Some(r#"{"input_tokens":7}"#));
    assert_eq!(call.cost_usd, Some(0.25));
    let rounds = store.rounds(&claim.id).await.unwrap();
    let numbers: Vec<u32> = rounds.iter().map(|round| round.number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(rounds[1].round, r#"{"number":2}"#);
    let result = store.result(&claim.id).await.unwrap().unwrap();
    assert_eq!(result.markdown, "# 42\n");
    assert_eq!(result.outcome, r#"{"answer":"42"}"#);
}

#[tokio::test]
async fn what_was_written_is_there_after_closing() {
    let (directory, store) = scratch();
    let claim = create(&store, "question").await;
    store.finish_task(&claim, end(Ending::Completed)).await.unwrap();
    store.tasks(any(1)).await.unwrap();
    store.close().await;
    assert_eq!(store.task(&claim.id).await, Err(StoreError::Closed));
    assert_eq!(store.create_task(task("late")).await, Err(StoreError::Closed));
    assert!(!directory.path().join("tasks.db-wal").exists(), "the log is folded into the file");

    let again = open(directory.path());
    assert!(again.result(&claim.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_cancelled_task_stays_cancelled() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    let cancelled = TaskEnd { result: None, ..end(Ending::Cancelled) };
    store.finish_task(&claim, cancelled).await.unwrap();

    let refused = StoreError::Finished { task: claim.id.clone(), status: Status::Cancelled };
    let completed = store.finish_task(&claim, end(Ending::Completed)).await;
    assert_eq!(completed, Err(refused.clone()));
    let round = store.save_round(&claim, round(1)).await;
    assert_eq!(round, Err(refused.clone()));
    let call = store.begin_call(&claim, call("ask")).await;
    assert_eq!(call, Err(refused.clone()));
    let plan = store.save_plan(&claim, "{}".to_owned()).await;
    assert_eq!(plan, Err(refused.clone()));
    assert_eq!(store.claim_task(&claim.id).await, Err(refused));

    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!((task.status, task.rounds), (Status::Cancelled, 0));
    assert_eq!(store.result(&claim.id).await.unwrap(), None);
}

#[tokio::test]
async fn the_user_can_have_a_task_that_ended_taken_up_again() {
    for ending in [Ending::Cancelled, Ending::Failed] {
        let (_directory, store) = scratch();
        let claim = create(&store, "question").await;
        store.save_round(&claim, round(1)).await.unwrap();
        store.finish_task(&claim, end(ending)).await.unwrap();

        let again = store.reopen_task(&claim.id).await.unwrap();
        let task = store.task(&claim.id).await.unwrap().unwrap();
        assert_eq!((task.status, task.rounds, task.finished_at), (Status::Running, 1, None));
        assert!(store.result(&claim.id).await.unwrap().is_some(), "until there is another");
        let late = store.save_round(&claim, round(2)).await;
        assert_eq!(late, Err(StoreError::LostOwnership { task: claim.id.clone() }));
        store.save_round(&again, round(2)).await.unwrap();
        store.finish_task(&again, end(Ending::Completed)).await.unwrap();
        let refused = StoreError::Finished { task: claim.id.clone(), status: Status::Completed };
        assert_eq!(store.claim_task(&claim.id).await, Err(refused));
    }
}

#[tokio::test]
async fn a_task_is_finished_once() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    store.finish_task(&claim, end(Ending::Completed)).await.unwrap();
    let mut second = end(Ending::Failed);
    second.result.as_mut().unwrap().markdown = "other".to_owned();
    let error = store.finish_task(&claim, second).await.unwrap_err();
    assert_eq!(error.to_string(), format!("task {} is completed already", claim.id));
    let result = store.result(&claim.id).await.unwrap().unwrap();
    assert_eq!(result.markdown, "# 42\n");
}

#[tokio::test]
async fn a_saved_round_never_changes() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    store.save_round(&claim, round(1)).await.unwrap();
    let again = NewRound { round: "other".to_owned(), memo: "other".to_owned(), ..round(1) };
    let error = store.save_round(&claim, again).await.unwrap_err();
    let expected = StoreError::RoundSaved { task: claim.id.clone(), number: 1 };
    assert_eq!(error, expected);
    let rounds = store.rounds(&claim.id).await.unwrap();
    assert_eq!(rounds[0].round, r#"{"number":1}"#);
    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!(task.memo, "memo 1");
}

#[tokio::test]
async fn a_call_comes_back_once_and_only_if_it_was_begun() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    let never = store.finish_call(&claim, 1, answered()).await;
    let expected = StoreError::NoOpenCall { task: claim.id.clone(), number: 1 };
    assert_eq!(never, Err(expected.clone()));

    let number = store.begin_call(&claim, call("ask")).await.unwrap();
    let failed = CallEnd {
        outcome: Err(r#"{"message":"refused"}"#.to_owned()),
        usage: None,
        cost_usd: None,
    };
    store.finish_call(&claim, number, failed).await.unwrap();
    let twice = store.finish_call(&claim, number, answered()).await;
    assert_eq!(twice, Err(expected));
    let call = store.calls(&claim.id).await.unwrap().remove(0);
    assert_eq!(call.state, CallState::Failed);
    assert_eq!(call.outcome.as_deref(), Some(r#"{"message":"refused"}"#));
}

#[tokio::test]
async fn calls_begun_together_get_numbers_of_their_own() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    let other = create(&store, "another").await;
    let mut begun = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (store, claim) = (store.clone(), claim.clone());
        begun.spawn(async move { store.begin_call(&claim, call("ask")).await.unwrap() });
    }
    let mut numbers = begun.join_all().await;
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=20).collect::<Vec<u32>>());
    assert_eq!(store.begin_call(&other, call("ask")).await, Ok(1));
}

#[tokio::test]
async fn the_list_is_newest_first_and_can_be_narrowed() {
    let (_directory, store) = scratch();
    let mut claims = Vec::new();
    for text in ["first", "second", "third", "fourth"] {
        claims.push(create(&store, text).await);
    }
    store.finish_task(&claims[1], end(Ending::Completed)).await.unwrap();
    store.finish_task(&claims[2], end(Ending::Failed)).await.unwrap();

    let texts = async |status, limit| {
        let tasks = store.tasks(TaskFilter { status, limit }).await.unwrap();
        tasks.into_iter().map(|task| task.text).collect::<Vec<String>>()
    };
    assert_eq!(texts(None, 10).await, ["fourth", "third", "second", "first"]);
    assert_eq!(texts(None, 2).await, ["fourth", "third"]);
    assert_eq!(texts(None, 0).await, [""; 0]);
    assert_eq!(texts(Some(Status::Running), 10).await, ["fourth", "first"]);
    assert_eq!(texts(Some(Status::Running), 1).await, ["fourth"]);
    assert_eq!(texts(Some(Status::Completed), 10).await, ["second"]);
    assert_eq!(texts(Some(Status::Failed), 10).await, ["third"]);
    assert_eq!(texts(Some(Status::Interrupted), 10).await, [""; 0]);
}

#[tokio::test]
async fn a_task_is_found_by_the_beginning_of_its_id() {
    let (_directory, store) = scratch();
    let error = store.find_task("abc").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no task `abc`");
    assert_eq!(error.hint().as_deref(), Some("no task has been saved yet"));

    // Ids begin with one of sixteen letters, so two of these begin alike.
    let mut ids = Vec::new();
    for _ in 0..17 {
        ids.push(create(&store, "question").await.id);
    }
    for id in &ids {
        assert_eq!(store.find_task(id).await.unwrap().id, *id);
        let shouted = format!(" {} ", &id[..13].to_uppercase());
        assert_eq!(store.find_task(&shouted).await.unwrap().id, *id);
    }
    let mut ambiguous = 0;
    for letter in "0123456789abcdef".chars().map(String::from) {
        let mut expected: Vec<String> =
            ids.iter().filter(|id| id.starts_with(&letter)).cloned().collect();
        expected.sort();
        match store.find_task(&letter).await {
            Ok(task) => assert_eq!(vec![task.id], expected),
            Err(StoreError::NoSuchTask { empty: false, .. }) => assert!(expected.is_empty()),
            Err(StoreError::AmbiguousTask { given, matches }) => {
                assert_eq!((given, matches), (letter, expected));
                ambiguous += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(ambiguous > 0);

    for nothing in ["", "  ", "%", "_", "zz", "' OR 1=1"] {
        let error = store.find_task(nothing).await.unwrap_err();
        assert!(
            matches!(error, StoreError::NoSuchTask { empty: false, .. }),
            "{nothing:?}: {error}"
        );
        assert_eq!(error.hint().as_deref(), Some("`bathysphere history` lists the tasks"));
    }
}

#[tokio::test]
async fn any_text_comes_back_as_it_was() {
    let (_directory, store) = scratch();
    let odd = format!("{}\0'; DROP TABLE tasks; -- 🦑\u{202e}", "x".repeat(1 << 20));
    let claim = store
        .create_task(NewTask {
            tool: odd.clone(),
            text: odd.clone(),
            question: odd.clone(),
            ..NewTask::default()
        })
        .await
        .unwrap();
    let task = store.find_task(&claim.id).await.unwrap();
    assert!(task.tool == odd && task.text == odd && task.question == odd);
}
