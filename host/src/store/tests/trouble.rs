//! What is wrong with the file is told apart, and costs nothing but the write.

use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::*;
use crate::store::{Fault, StoreError, TaskFilter};

fn path(directory: &tempfile::TempDir) -> std::path::PathBuf {
    directory.path().join("tasks.db")
}

async fn error_of(store: &Store) -> StoreError {
    let reading = store.task("any").await.unwrap_err();
    let writing = store.create_task(task("question")).await.unwrap_err();
    assert_eq!(reading, writing);
    let named = store.path().file_name().unwrap().to_str().unwrap();
    assert!(writing.to_string().contains(named), "{writing}");
    assert!(writing.hint().is_some());
    writing
}

async fn count(store: &Store) -> usize {
    let all = TaskFilter { status: None, limit: u32::MAX };
    store.tasks(all).await.unwrap().len()
}

#[tokio::test]
async fn a_file_that_is_no_database() {
    let directory = tempfile::tempdir().unwrap();
    let text = "Dear diary, this is certainly not a database.\n".repeat(100);
    std::fs::write(path(&directory), &text).unwrap();
    let error = error_of(&open(directory.path())).await;
    assert_eq!(error.fault(), Some(Fault::NotADatabase));
    let after = std::fs::read_to_string(path(&directory)).unwrap();
    assert_eq!(after, text, "it is left as it was");
}

#[tokio::test]
async fn a_database_of_another_program() {
    let directory = tempfile::tempdir().unwrap();
    Connection::open(path(&directory))
        .unwrap()
        .execute_batch("CREATE TABLE bookmarks (url TEXT)")
        .unwrap();
    let before = std::fs::read(path(&directory)).unwrap();
    let error = error_of(&open(directory.path())).await;
    assert_eq!(error.fault(), Some(Fault::Foreign));
    assert_eq!(std::fs::read(path(&directory)).unwrap(), before);
}

#[tokio::test]
async fn a_database_of_a_newer_version() {
    let (directory, store) = scratch();
    store.check().await.unwrap();
    store.close().await;
    Connection::open(path(&directory)).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = error_of(&open(directory.path())).await;
    assert_eq!(error.fault(), Some(Fault::NewerSchema));
    let text = error.to_string();
    assert!(
        text.ends_with("was written by a newer version: its schema is 99, this version knows 2"),
        "{text}"
    );
}

#[tokio::test]
async fn a_damaged_database() {
    let (directory, store) = scratch();
    let claim = create(&store, "question").await;
    store.close().await;
    let mut bytes = std::fs::read(path(&directory)).unwrap();
    bytes[4096..].fill(0xAA);
    std::fs::write(path(&directory), bytes).unwrap();
    let store = open(directory.path());
    let error = store.task(&claim.id).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Corrupt), "{error}");
    let error = store.create_task(task("question")).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Corrupt), "{error}");
}

#[tokio::test]
async fn a_directory_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(path(&directory)).unwrap();
    let error = error_of(&open(directory.path())).await;
    assert_eq!(error.fault(), Some(Fault::CannotOpen));
}

#[tokio::test]
async fn trouble_that_passes_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::write(&data, "a file where a directory should be").unwrap();
    let store = Store::open(data.join("tasks.db"));
    let error = store.create_task(task("question")).await.unwrap_err();
    let expected = format!("the directory {} cannot be used: ", data.display());
    assert!(error.to_string().starts_with(&expected), "{error}");

    std::fs::remove_file(&data).unwrap();
    create(&store, "question").await;
    assert_eq!(count(&store).await, 1);
}

#[tokio::test]
async fn a_database_that_another_process_keeps_locked() {
    let (directory, store) = scratch();
    let claim = create(&store, "question").await;
    let patient = store;
    let hasty = Store::open_with(path(&directory), Duration::from_millis(20));
    let mut other = Connection::open(path(&directory)).unwrap();
    let lock = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let error = hasty.create_task(task("question")).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Locked), "{error}");
    // Reading goes on meanwhile, and so does the one that waits.
    assert!(hasty.task(&claim.id).await.unwrap().is_some());
    let waiting = patient.save_round(&claim, round(1));
    let release = async {
        tokio::task::yield_now().await;
        drop(lock);
    };
    let (saved, ()) = tokio::join!(waiting, release);
    saved.unwrap();
    create(&hasty, "question").await;
    assert_eq!(count(&hasty).await, 2);
}

#[tokio::test]
async fn those_who_wait_behind_one_that_waited_in_vain_are_answered_at_once() {
    let patience = Duration::from_millis(400);
    let (directory, _store) = scratch();
    let store = Store::open_with(path(&directory), patience);
    let claim = create(&store, "question").await;
    let mut other = Connection::open(path(&directory)).unwrap();
    let lock = other.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let begun = std::time::Instant::now();
    let mut waiting = tokio::task::JoinSet::new();
    for number in 1..=50 {
        let (store, claim) = (store.clone(), claim.clone());
        waiting.spawn(async move { store.save_round(&claim, round(number)).await });
    }
    for saved in waiting.join_all().await {
        assert_eq!(saved.unwrap_err().fault(), Some(Fault::Locked));
    }
    // One after the other they would have taken 20 seconds.
    assert!(begun.elapsed() < patience * 10, "{:?}", begun.elapsed());
    drop(lock);
    store.save_round(&claim, round(1)).await.unwrap();
}

#[tokio::test]
async fn a_newer_version_that_comes_meanwhile_is_left_alone() {
    let (directory, store) = scratch();
    let claim = create(&store, "question").await;
    assert!(store.task(&claim.id).await.unwrap().is_some());
    let other = Connection::open(path(&directory)).unwrap();
    let known = crate::store::schema::known_version() as i64;
    other.pragma_update(None, "user_version", known + 1).unwrap();
    for error in [
        store.save_round(&claim, round(1)).await.unwrap_err(),
        store.task(&claim.id).await.unwrap_err(),
    ] {
        assert_eq!(error.fault(), Some(Fault::NewerSchema), "{error}");
    }
    other.pragma_update(None, "user_version", known).unwrap();
    store.save_round(&claim, round(1)).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_costs_the_write_and_nothing_else() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    let full = |session: &mut crate::store::writer::Session| {
        let connection = session.connection()?;
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        Ok(())
    };
    store.shared.writer.submit(full).await.unwrap();
    let large = NewRound { round: "x".repeat(1 << 20), ..round(1) };
    let error = store.save_round(&claim, large.clone()).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::Full), "{error}");
    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!((task.rounds, task.memo.as_str()), (0, ""));
    assert_eq!(task.updated_at, task.created_at);

    // The limit was the connection's; a new one has space again.
    store.save_round(&claim, large).await.unwrap();
    let task = store.task(&claim.id).await.unwrap().unwrap();
    assert_eq!((task.rounds, task.memo.as_str()), (1, "memo 1"));
}

#[tokio::test]
async fn a_reader_cannot_write() {
    let (_directory, store) = scratch();
    let claim = create(&store, "question").await;
    let error = store
        .read(|reading| {
            reading.connection.execute("DELETE FROM tasks", [])?;
            Ok(())
        })
        .await
        .unwrap_err();
    assert_eq!(error.fault(), Some(Fault::ReadOnly), "{error}");
    assert!(store.task(&claim.id).await.unwrap().is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_written_may_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, store) = scratch();
    let claim = create(&store, "question").await;
    store.close().await;
    std::fs::set_permissions(path(&directory), std::fs::Permissions::from_mode(0o400)).unwrap();
    let store = open(directory.path());
    if rustix::process::geteuid().is_root() {
        // Nothing is forbidden to root.
        assert_eq!(store.check().await, Ok(()));
        return;
    }
    let error = store.create_task(task("question")).await.unwrap_err();
    assert_eq!(error.fault(), Some(Fault::ReadOnly), "{error}");
    assert!(store.task(&claim.id).await.unwrap().is_some());
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("share/bathysphere");
    let store = open(&directory);
    create(&store, "question").await;
    assert_eq!(mode(&outer.path().join("share")), 0o700);
    assert_eq!(mode(&directory), 0o700);
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm"] {
        assert_eq!(mode(&directory.join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&directory.join("owners")), 0o700);
    for lock in std::fs::read_dir(directory.join("owners")).unwrap() {
        assert_eq!(mode(&lock.unwrap().path()), 0o600);
    }
    store.close().await;

    // A file that was copied with looser permissions is closed again; the
    // user's own directory stays as it is.
    let loose = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&directory, loose.clone()).unwrap();
    std::fs::set_permissions(directory.join("tasks.db"), loose).unwrap();
    open(&directory).check().await.unwrap();
    assert_eq!(mode(&directory.join("tasks.db")), 0o600);
    assert_eq!(mode(&directory), 0o755);
}
