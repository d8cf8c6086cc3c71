//! The gate from outside: what it refuses, what it lists, and what it indexes.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::*;

fn gate(directories: &[&Path], cache: &Path) -> DocumentsGate {
    let grants: Vec<DirectoryGrant> = directories
        .iter()
        .map(|path| DirectoryGrant { path: path.to_path_buf(), prefix: "docs/".to_owned() })
        .collect();
    DocumentsGate::new(&grants, cache.to_owned(), "search-documents", "digest")
}

/// A granted directory beside one that is not, and a cache.
struct Place {
    _all: tempfile::TempDir,
    docs: PathBuf,
    outside: PathBuf,
    gate: DocumentsGate,
}

fn place() -> Place {
    let all = tempfile::tempdir().unwrap();
    let docs = all.path().join("docs");
    let outside = all.path().join("outside");
    std::fs::create_dir_all(docs.join("sub")).unwrap();
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(docs.join("a.md"), "cod and eel").unwrap();
    std::fs::write(docs.join("sub/b.md"), "a heron").unwrap();
    std::fs::write(outside.join("secret.txt"), "secret").unwrap();
    let gate = gate(&[&docs], &all.path().join("cache"));
    Place { _all: all, docs, outside, gate }
}

/// Sets the time of modification back, so that the file counts as settled where
/// only that time is known.
fn settle(path: &Path) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
}

fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

fn document(path: &str, text: &str) -> Document {
    let passage =
        Passage { heading: String::new(), start_line: 1, end_line: 1, text: text.to_owned() };
    Document { root: 0, path: path.to_owned(), title: String::new(), passages: vec![passage] }
}

#[tokio::test]
async fn lists_and_reads_what_is_granted() {
    let place = place();
    assert_eq!(place.gate.roots(), [Root { id: 0, prefix: "docs/".to_owned() }]);
    let top = place.gate.list_directory(0, String::new()).await.unwrap();
    assert_eq!(names(&top), ["a.md", "sub"]);
    assert_eq!((top[0].kind, top[0].size, top[0].indexed), (EntryKind::File, 11, false));
    assert_eq!(top[1].kind, EntryKind::Directory);
    assert_eq!(place.gate.read(0, "sub/b.md".to_owned(), 100).await.unwrap(), b"a heron");
}

#[tokio::test]
async fn refuses_paths_that_lead_out_or_name_a_file_twice() {
    let place = place();
    let absolute = place.outside.join("secret.txt").display().to_string();
    let wrong = [
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "sub/../a.md",
        "..",
        ".",
        "./a.md",
        "/etc/passwd",
        &absolute,
        "",
        "a.md/",
        "sub//b.md",
        "a\0b",
    ];
    for path in wrong {
        let error = place.gate.read(0, path.to_owned(), 100).await.unwrap_err();
        assert_eq!(error.kind, GateErrorKind::Refused, "{path:?}");
        let error = place.gate.put(vec![document(path, "x")]).await.unwrap_err();
        assert_eq!(error.kind, GateErrorKind::Refused, "{path:?}");
        if !path.is_empty() {
            assert!(place.gate.list_directory(0, path.to_owned()).await.is_err(), "{path:?}");
        }
    }
}

#[tokio::test]
async fn refuses_roots_that_are_not_granted() {
    let place = place();
    for root in [1, u32::MAX] {
        assert_eq!(
            place.gate.list_directory(root, String::new()).await.unwrap_err().kind,
            GateErrorKind::Refused
        );
        assert_eq!(
            place.gate.read(root, "a.md".to_owned(), 9).await.unwrap_err().kind,
            GateErrorKind::Refused
        );
        assert_eq!(
            place.gate.retain(root, Vec::new()).await.unwrap_err().kind,
            GateErrorKind::Refused
        );
        let elsewhere = Document { root, ..document("a.md", "x") };
        assert_eq!(place.gate.put(vec![elsewhere]).await.unwrap_err().kind, GateErrorKind::Refused);
    }
    let none = gate(&[], &place.outside);
    assert!(none.roots().is_empty());
    assert!(none.query("cod".to_owned(), 5, 1).await.unwrap().is_empty());
    assert_eq!(none.read(0, "a.md".to_owned(), 9).await.unwrap_err().kind, GateErrorKind::Refused);
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_followed_inside_and_refused_outside() {
    use std::os::unix::fs::symlink;
    let place = place();
    symlink(place.outside.join("secret.txt"), place.docs.join("absolute.md")).unwrap();
    symlink("../outside/secret.txt", place.docs.join("relative.md")).unwrap();
    symlink(&place.outside, place.docs.join("directory")).unwrap();
    symlink("..", place.docs.join("sub/up")).unwrap();
    symlink("nowhere", place.docs.join("broken.md")).unwrap();
    symlink("loop.md", place.docs.join("loop.md")).unwrap();
    symlink("../a.md", place.docs.join("sub/inside.md")).unwrap();
    let top = place.gate.list_directory(0, String::new()).await.unwrap();
    assert_eq!(names(&top), ["a.md", "sub"]);
    let sub = place.gate.list_directory(0, "sub".to_owned()).await.unwrap();
    assert_eq!(names(&sub), ["b.md", "inside.md"]);
    assert_eq!(place.gate.read(0, "sub/inside.md".to_owned(), 100).await.unwrap(), b"cod and eel");
    for path in [
        "absolute.md",
        "relative.md",
        "directory/secret.txt",
        "sub/up/../outside/secret.txt",
        "loop.md",
    ] {
        assert!(place.gate.read(0, path.to_owned(), 100).await.is_err(), "{path}");
    }
    assert!(place.gate.list_directory(0, "directory".to_owned()).await.is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_sockets_and_names_that_are_not_text_are_left_out() {
    use std::os::unix::ffi::OsStrExt;
    let place = place();
    let pipe = place.docs.join("pipe.md");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.docs.join("socket.md")).unwrap();
    std::fs::write(place.docs.join(std::ffi::OsStr::from_bytes(b"bad\xff.md")), "x").unwrap();
    let top = place.gate.list_directory(0, String::new()).await.unwrap();
    assert_eq!(names(&top), ["a.md", "sub"]);
    // Nor does reading wait for someone at the other end.
    let error = place.gate.read(0, "pipe.md".to_owned(), 100).await.unwrap_err();
    assert_eq!(error.message, "docs/pipe.md is not a file");
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let place = place();
    let error = place.gate.read(0, "missing.md".to_owned(), 100).await.unwrap_err();
    assert_eq!(error.kind, GateErrorKind::NotFound);
    assert!(error.message.starts_with("docs/missing.md cannot be read: "), "{error}");
    let error = place.gate.read(0, "a.md".to_owned(), 3).await.unwrap_err();
    assert_eq!(error.kind, GateErrorKind::Other("too-large".to_owned()));
    assert_eq!(place.gate.read(0, "a.md".to_owned(), 11).await.unwrap().len(), 11);
    assert!(place.gate.read(0, "sub".to_owned(), 100).await.is_err());
    assert!(place.gate.list_directory(0, "a.md".to_owned()).await.is_err());
    let gone = gate(&[&place.docs.join("gone")], &place.outside);
    let error = gone.list_directory(0, String::new()).await.unwrap_err();
    assert_eq!(error.kind, GateErrorKind::NotFound);
    assert!(error.message.contains("gone") && error.hint.is_some(), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_unreadable_file_does_not_hide_the_others() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    let closed = place.docs.join("closed.md");
    std::fs::write(&closed, "x").unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let top = place.gate.list_directory(0, String::new()).await.unwrap();
    assert_eq!(names(&top), ["a.md", "closed.md", "sub"]);
    // Whoever runs as root may read everything.
    if std::fs::read(&closed).is_err() {
        let error = place.gate.read(0, "closed.md".to_owned(), 9).await.unwrap_err();
        assert_eq!(error.kind, GateErrorKind::Refused);
    }
    assert!(place.gate.read(0, "a.md".to_owned(), 100).await.is_ok());
}

#[tokio::test]
async fn a_pass_makes_documents_found_and_known() {
    let place = place();
    let gate = place.gate.session();
    gate.list_directory(0, String::new()).await.unwrap();
    gate.read(0, "a.md".to_owned(), 100).await.unwrap();
    gate.put(vec![document("a.md", "cod and eel"), document("sub/b.md", "a heron")]).await.unwrap();
    let both = vec!["a.md".to_owned(), "sub/b.md".to_owned()];
    assert_eq!(gate.retain(0, both.clone()).await.unwrap(), 0);
    let found = place.gate.query("herons".to_owned(), 5, 1).await.unwrap();
    assert_eq!((found.len(), found[0].path.as_str(), found[0].root), (1, "sub/b.md", 0));

    let later = place.gate.session();
    assert_eq!(later.retain(0, both).await.unwrap(), 0);
    assert_eq!(later.retain(0, vec!["a.md".to_owned()]).await.unwrap(), 1);
    assert!(place.gate.query("herons".to_owned(), 5, 1).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_file_is_indexed_until_it_changes() {
    let place = place();
    let path = place.docs.join("a.md");
    let indexed = async |gate: &DocumentsGate| {
        gate.list_directory(0, String::new()).await.unwrap()[0].indexed
    };
    // A file that was written this moment is not trusted to be settled, so index
    // until it is.
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    settle(&path);
    while !indexed(&place.gate.session()).await {
        let gate = place.gate.session();
        gate.read(0, "a.md".to_owned(), 100).await.unwrap();
        gate.put(vec![document("a.md", "cod and eel")]).await.unwrap();
        gate.retain(0, vec!["a.md".to_owned()]).await.unwrap();
        assert!(std::time::Instant::now() < deadline, "the file never settled");
    }
    std::fs::write(&path, "eel and cod").unwrap();
    settle(&path);
    let changed = place.gate.session().list_directory(0, String::new()).await.unwrap();
    assert!(!changed[0].indexed, "same size and nearly the same time, but another content");
}

#[tokio::test]
async fn an_abandoned_pass_gives_the_lock_back() {
    let place = place();
    let abandoned = place.gate.session();
    abandoned.put(vec![document("a.md", "cod")]).await.unwrap();
    drop(abandoned);
    let next = place.gate.session();
    next.put(vec![document("sub/b.md", "heron")]).await.unwrap();
    next.retain(0, vec!["a.md".to_owned(), "sub/b.md".to_owned()]).await.unwrap();
    assert_eq!(next.query("cod heron".to_owned(), 5, 1).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passes_at_the_same_time_take_turns() {
    let place = place();
    let all: Vec<String> = (0..200).map(|number| format!("{number}.md")).collect();
    let mut passes = Vec::new();
    for _ in 0..4 {
        let gate = place.gate.session();
        let paths = all.clone();
        passes.push(tokio::spawn(async move {
            for chunk in paths.chunks(50) {
                gate.put(chunk.iter().map(|path| document(path, "cod")).collect()).await.unwrap();
            }
            gate.retain(0, paths).await.unwrap()
        }));
    }
    for pass in passes {
        assert_eq!(pass.await.unwrap(), 0);
    }
    assert_eq!(place.gate.query("cod".to_owned(), 500, 1).await.unwrap().len(), 200);
}
