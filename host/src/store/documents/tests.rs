//! The index as a whole: what is put in is found, ranked and forgotten again.

use std::path::Path;

use super::*;

fn index(directory: &Path, digest: &str) -> Index {
    Index::new(directory, Path::new("/docs"), "plugin", digest)
}

fn stamp(number: i64) -> Stamp {
    Stamp { size: 1, modified: number, changed: number }
}

fn passage(heading: &str, line: u32, text: &str) -> Passage {
    Passage { heading: heading.to_owned(), start_line: line, end_line: line, text: text.to_owned() }
}

fn document(path: &str, title: &str, texts: &[&str]) -> Document {
    let passages = texts.iter().zip(1..).map(|(text, line)| passage("", line, text)).collect();
    Document { path: path.to_owned(), title: title.to_owned(), passages, stamp: stamp(1) }
}

async fn fill(index: &Index, documents: Vec<Document>) {
    let paths = documents.iter().map(|document| document.path.clone()).collect();
    let writer = Writer::start(index).unwrap();
    writer.put(documents).await.unwrap();
    writer.retain(paths).await.unwrap();
}

fn paths(index: &Index, question: &str) -> Vec<String> {
    let found = search(std::slice::from_ref(index), question, 10, 1).unwrap();
    found.into_iter().map(|found| found.path).collect()
}

#[tokio::test]
async fn a_document_is_found_replaced_and_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    fill(
        &index,
        vec![
            document("a.md", "Fish", &["cod and eels"]),
            document("b.md", "Birds", &["the heron"]),
        ],
    )
    .await;
    assert_eq!(paths(&index, "eel"), ["a.md"]);
    assert!(index.stamps().unwrap().holds("a.md", stamp(1)));
    assert!(!index.stamps().unwrap().holds("a.md", stamp(2)));

    let writer = Writer::start(&index).unwrap();
    let changed = Document { stamp: stamp(2), ..document("a.md", "Fish", &["only salmon"]) };
    writer.put(vec![changed]).await.unwrap();
    assert_eq!(writer.retain(vec!["a.md".to_owned()]).await.unwrap(), 1);
    assert_eq!(paths(&index, "eel"), Vec::<String>::new());
    assert_eq!(paths(&index, "heron"), Vec::<String>::new());
    assert_eq!(paths(&index, "salmon"), ["a.md"]);
    assert!(index.stamps().unwrap().holds("a.md", stamp(2)));
}

#[tokio::test]
async fn what_was_put_is_kept_when_the_pass_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    let writer = Writer::start(&index).unwrap();
    writer.put(vec![document("a.md", "", &["cod"])]).await.unwrap();
    drop(writer);
    // The lock is free once the writer has ended.
    drop(index.lock().unwrap());
    assert_eq!(paths(&index, "cod"), ["a.md"]);
}

#[tokio::test]
async fn another_version_of_the_plugin_starts_over() {
    let directory = tempfile::tempdir().unwrap();
    let old = index(directory.path(), "1");
    fill(&old, vec![document("a.md", "", &["cod"])]).await;
    let new = index(directory.path(), "2");
    assert_eq!(paths(&new, "cod"), Vec::<String>::new());
    fill(&new, vec![document("b.md", "", &["cod"])]).await;
    assert_eq!(paths(&new, "cod"), ["b.md"]);
}

#[tokio::test]
async fn a_damaged_index_is_built_anew() {
    let directory = tempfile::tempdir().unwrap();
    let first = index(directory.path(), "1");
    fill(&first, vec![document("a.md", "", &["cod"])]).await;
    let path = first.path().to_owned();
    drop(first);
    std::fs::write(&path, b"this is not a database, but it is long enough to look like a file")
        .unwrap();
    let second = index(directory.path(), "1");
    assert_eq!(paths(&second, "cod"), Vec::<String>::new());
    fill(&second, vec![document("a.md", "", &["cod"])]).await;
    assert_eq!(paths(&second, "cod"), ["a.md"]);
}

#[tokio::test]
async fn damage_inside_the_file_is_an_error_once_and_then_gone() {
    let directory = tempfile::tempdir().unwrap();
    let first = index(directory.path(), "1");
    let many: Vec<String> = (0..400).map(|number| format!("cod number{number} swims")).collect();
    fill(
        &first,
        many.iter()
            .enumerate()
            .map(|(number, text)| document(&format!("{number}.md"), "", &[text]))
            .collect(),
    )
    .await;
    let path = first.path().to_owned();
    drop(first);
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    for byte in &mut bytes[12_288..length] {
        *byte = 0x5a;
    }
    std::fs::write(&path, bytes).unwrap();
    let second = index(directory.path(), "1");
    if let Err(error) = search(std::slice::from_ref(&second), "cod", 10, 1) {
        assert!(matches!(error, IndexError::Damaged { .. }), "{error}");
    }
    fill(&second, vec![document("a.md", "", &["cod"])]).await;
    assert_eq!(paths(&second, "cod"), ["a.md"]);
}

#[tokio::test]
async fn titles_headings_and_rare_words_decide() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    let filler = "water and waves and more water with some waves";
    let mut documents: Vec<Document> =
        (0..30).map(|number| document(&format!("filler{number}.md"), "Sea", &[filler])).collect();
    documents.push(document("titled.md", "Migration of herons", &["they fly far over the water"]));
    documents.push(document(
        "mentions.md",
        "Ponds",
        &["a heron was seen once at the water", filler, filler],
    ));
    let mut headed = document("headed.md", "Diary", &["we looked at the water"]);
    headed.passages[0].heading = "Diary › Kingfisher".to_owned();
    documents.push(headed);
    fill(&index, documents).await;
    assert_eq!(paths(&index, "heron water")[..2], ["titled.md", "mentions.md"]);
    assert_eq!(paths(&index, "kingfishers"), ["headed.md"]);
    assert_eq!(paths(&index, "the of and"), Vec::<String>::new());
}

#[tokio::test]
async fn words_that_stand_together_count_more() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    let apart = "memory one two three four five six seven eight nine ten eleven twelve leak";
    let together = "one two three four five six seven memory leak eight nine ten eleven twelve";
    fill(
        &index,
        vec![document("apart.md", "", &[apart]), document("together.md", "", &[together])],
    )
    .await;
    assert_eq!(paths(&index, "memory leak"), ["together.md", "apart.md"]);
}

#[tokio::test]
async fn the_best_passages_of_a_document_come_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    let long = document(
        "long.md",
        "Notes",
        &["nothing here", "cod cod and eel", "one eel", "nothing there"],
    );
    fill(&index, vec![long, document("short.md", "Other", &["a heron"])]).await;
    let found = search(std::slice::from_ref(&index), "cod eel", 10, 2).unwrap();
    let lines: Vec<_> = found.iter().map(|found| (found.path.as_str(), found.start_line)).collect();
    assert_eq!(lines, [("long.md", 2), ("long.md", 3)]);
    assert!(found[0].score > found[1].score && found[1].score > 0.0);
}

#[tokio::test]
async fn several_indexes_are_ranked_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let one = Index::new(directory.path(), Path::new("/one"), "plugin", "1");
    let two = Index::new(directory.path(), Path::new("/two"), "plugin", "1");
    fill(
        &one,
        vec![
            document("a.md", "Cod", &["all about cod and cod"]),
            document("b.md", "Eel", &["an eel"]),
        ],
    )
    .await;
    fill(
        &two,
        vec![
            document("a.md", "Birds", &["a heron eats cod"]),
            document("c.md", "Owl", &["an owl"]),
        ],
    )
    .await;
    let found = search(&[one, two], "cod", 10, 1).unwrap();
    let places: Vec<_> = found.iter().map(|found| (found.index, found.path.as_str())).collect();
    assert_eq!(places, [(0, "a.md"), (1, "a.md")]);
}

#[tokio::test]
async fn any_question_is_survived() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    fill(&index, vec![document("a.md", "Cod", &["cod"])]).await;
    let long = "cod eel ".repeat(130_000);
    for question in [
        "",
        " ",
        "\"",
        "cod OR",
        "NEAR(",
        "title:cod*",
        "\0",
        "ééé 水",
        "'; DROP TABLE words; --",
        &long,
    ] {
        search(std::slice::from_ref(&index), question, 10, 1).unwrap();
    }
    assert_eq!(paths(&index, &long), ["a.md"]);
    assert!(search(std::slice::from_ref(&index), "cod", 0, 1).unwrap().is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn an_index_that_was_deleted_is_made_anew() {
    let all = tempfile::tempdir().unwrap();
    let cache = all.path().join("cache");
    let index = index(&cache, "1");
    fill(&index, vec![document("a.md", "", &["cod"])]).await;
    assert_eq!(paths(&index, "cod"), ["a.md"]);
    std::fs::remove_dir_all(&cache).unwrap();
    assert!(!index.stamps().unwrap().holds("a.md", stamp(1)));
    assert_eq!(paths(&index, "cod"), Vec::<String>::new());

    // The same number of changes as before, but others.
    fill(&index, vec![document("b.md", "", &["cod"])]).await;
    assert_eq!(paths(&index, "cod"), ["b.md"]);
    let stamps = index.stamps().unwrap();
    assert!(stamps.holds("b.md", stamp(1)) && !stamps.holds("a.md", stamp(1)));
}

#[cfg(unix)]
#[tokio::test]
async fn an_index_that_another_process_replaced_is_opened_anew() {
    let all = tempfile::tempdir().unwrap();
    let cache = all.path().join("cache");
    let ours = index(&cache, "1");
    fill(&ours, vec![document("a.md", "", &["cod"])]).await;
    assert_eq!(paths(&ours, "cod"), ["a.md"]);
    std::fs::remove_dir_all(&cache).unwrap();
    let theirs = index(&cache, "1");
    fill(&theirs, vec![document("b.md", "", &["cod"])]).await;
    // Closing the old file must not take anything from the new one.
    assert_eq!(paths(&ours, "cod"), ["b.md"]);
    assert_eq!(paths(&theirs, "cod"), ["b.md"]);
    assert_eq!(paths(&index(&cache, "1"), "cod"), ["b.md"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_pass_whose_index_is_deleted_says_so() {
    let all = tempfile::tempdir().unwrap();
    let cache = all.path().join("cache");
    let index = index(&cache, "1");
    let writer = Writer::start(&index).unwrap();
    writer.put(vec![document("a.md", "", &["cod"])]).await.unwrap();
    std::fs::remove_file(index.path()).unwrap();
    let error = writer.retain(vec!["a.md".to_owned()]).await.unwrap_err();
    assert!(matches!(error, IndexError::Replaced { .. }), "{error}");
    fill(&index, vec![document("a.md", "", &["cod"])]).await;
    assert_eq!(paths(&index, "cod"), ["a.md"]);
}

#[tokio::test]
async fn a_second_pass_does_not_wait_forever_and_questions_do_not_wait_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let ours = index(directory.path(), "1");
    fill(&ours, vec![document("a.md", "", &["cod"])]).await;
    let pass = Writer::start(&ours).unwrap();
    let theirs = index(directory.path(), "1");
    let error = theirs.wait(std::time::Duration::ZERO, || theirs.try_lock()).unwrap_err();
    assert!(matches!(error, IndexError::Busy { .. }), "{error}");
    assert_eq!(paths(&theirs, "cod"), ["a.md"]);
    pass.retain(vec!["a.md".to_owned()]).await.unwrap();
    assert!(theirs.try_lock().unwrap().is_some());
}

#[test]
fn a_disk_that_refuses_to_write_counts_as_full() {
    use rusqlite::ffi;
    let database = |code| IndexError::Database {
        path: String::new(),
        source: rusqlite::Error::SqliteFailure(ffi::Error::new(code), None),
    };
    for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_FSYNC] {
        assert!(database(code).is_full(), "code {code}");
    }
    assert!(!database(ffi::SQLITE_IOERR_READ).is_full());
    let file = |kind: ErrorKind| IndexError::File { path: String::new(), source: kind.into() };
    assert!(file(ErrorKind::StorageFull).is_full());
    assert!(!file(ErrorKind::PermissionDenied).is_full());
}

#[tokio::test]
async fn a_damaged_index_is_not_removed_under_the_pass_of_another() {
    let directory = tempfile::tempdir().unwrap();
    let index = index(directory.path(), "1");
    fill(&index, vec![document("a.md", "", &["cod"])]).await;
    let damage = || {
        rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            None,
        )
    };
    let read = || index.read::<()>(|_, _| Err(damage())).unwrap_err();
    let pass = index.lock().unwrap();
    assert!(matches!(read(), IndexError::Damaged { .. }));
    assert!(index.path().exists());
    drop(pass);
    assert!(matches!(read(), IndexError::Damaged { .. }));
    assert!(!index.path().exists());
    assert_eq!(paths(&index, "cod"), Vec::<String>::new());
}
