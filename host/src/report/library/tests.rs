//! Reports as files: where they go, and what cannot move them elsewhere.

use std::fs;

use super::super::tests as outcomes;
use super::*;

fn noon() -> Timestamp {
    "2025-12-14T10:30:45Z".parse().unwrap()
}

fn options(directory: &Path) -> SaveOptions {
    SaveOptions { output_dir: directory.to_owned(), ..SaveOptions::default() }
}

fn saved(outcome: &Outcome, options: &SaveOptions) -> Result<SavedReport, LibraryError> {
    save_at(outcome, options, &Templates::built_in(), noon())
}

fn text(outcome: &Outcome, change: impl FnOnce(&mut SaveOptions)) -> String {
    let home = tempfile::tempdir().unwrap();
    let mut options = options(home.path());
    change(&mut options);
    let report = saved(outcome, &options).unwrap();
    fs::read_to_string(report.file_path.unwrap()).unwrap()
}

/// Everything below a directory, by its path there.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(directory).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_report_is_saved_by_month_and_found_again() {
    let home = tempfile::tempdir().unwrap();
    let outcome = outcomes::researched();
    let directory = home.path().join("deep/research_reports");
    let report = saved(&outcome, &options(&directory)).unwrap();
    let name = "research_0198c2f4-7a1b-7c3d-8e4f-112233445566_20251214_103045.md";
    assert_eq!(files(&directory), [format!("2025-12/{name}")], "and nothing beside it");
    let path = directory.join("2025-12").join(name);
    let size = fs::metadata(&path).unwrap().len() as f64 / 1024.0;
    assert!((report.file_size_kb.unwrap() - size).abs() < 0.06);
    let value = serde_json::to_value(&report).unwrap();
    let expected = serde_json::json!({
        "success": true,
        "task_id": outcome.id,
        "file_path": path.display().to_string(),
        "file_size_kb": report.file_size_kb,
        "filename": name,
        "created_at": "2025-12-14T10:30:45Z",
    });
    assert_eq!(value, expected);
}

#[test]
fn the_file_of_a_long_research() {
    let text = text(&outcomes::researched(), |_| {});
    insta::assert_snapshot!(text);
    assert_eq!(text.matches("[cite").count(), 1, "in code alone");
}

#[test]
fn the_file_of_findings() {
    insta::assert_snapshot!(text(&outcomes::found(), |_| {}));
}

#[test]
fn what_is_not_wanted_is_left_out() {
    let full = text(&outcomes::researched(), |_| {});
    let bare = text(&outcomes::researched(), |options| options.include_metadata = false);
    assert!(bare.starts_with("# What is the state"), "{bare}");
    assert!(
        !bare.contains("## How it was") && bare.contains("## Sources") && bare.len() < full.len()
    );
    let bare = text(&outcomes::researched(), |options| options.include_sources = false);
    assert!(bare.starts_with("---\ntask_id:") && !bare.contains("## Sources"));
    assert!(!bare.contains("forum.example") && bare.contains("\n[^1]: "), "footnotes stay: {bare}");
}

#[test]
fn a_page_is_saved_too() {
    let home = tempfile::tempdir().unwrap();
    let options = SaveOptions { format: Format::Html, ..options(home.path()) };
    let report = saved(&outcomes::researched(), &options).unwrap();
    assert!(report.filename.unwrap().ends_with("_20251214_103045.html"));
    let page = fs::read_to_string(report.file_path.unwrap()).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
}

#[test]
fn every_mark_has_its_footnote_whatever_the_report_says() {
    use pulldown_cmark::{Event, Options, Parser, Tag};
    for (run, mut outcome) in outcomes::scrambled(300).enumerate() {
        if run % 2 == 1 {
            outcome.answer.insert_str(0, "First [cite: 1, 2].\n\n");
            outcome.findings.clear();
        }
        let text = text(&outcome, |_| {});
        let (front, rest) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        assert!(front.lines().all(|line| line.contains(": ")), "run {run}: {front}");
        let (mut used, mut defined) = (Vec::new(), Vec::new());
        for event in Parser::new_ext(rest, Options::ENABLE_FOOTNOTES | Options::ENABLE_TABLES) {
            match event {
                Event::FootnoteReference(name) => used.push(name.to_string()),
                Event::Start(Tag::FootnoteDefinition(name)) => defined.push(name.to_string()),
                Event::Html(html) | Event::InlineHtml(html) => panic!("run {run}: {html}\n{rest}"),
                Event::Start(Tag::Image { .. }) => panic!("run {run}: an image\n{rest}"),
                _ => {}
            }
        }
        for name in &used {
            let number: usize =
                name.parse().unwrap_or_else(|_| panic!("run {run}: [^{name}]\n{rest}"));
            assert!(defined.contains(name) && number <= 5, "run {run}: [^{name}]\n{rest}");
        }
        assert!(run % 2 == 0 || !used.is_empty(), "run {run}\n{rest}");
    }
}

#[test]
fn nothing_is_ever_saved_outside_or_over_a_file() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("reports");
    for prefix in
        ["../../x", "/etc/x", "a/b", "..", "\0", "con", "", ".git", "-rf", &"x".repeat(5000)]
    {
        for _ in 0..2 {
            let options = SaveOptions { filename_prefix: prefix.to_owned(), ..options(&directory) };
            saved(&outcomes::researched(), &options).unwrap();
        }
    }
    let found = files(home.path());
    assert!(found.iter().all(|file| file.starts_with("reports/2025-12/")), "{found:#?}");
    assert_eq!(found.len(), 20, "each save made a file of its own: {found:#?}");
}

#[test]
fn those_who_save_at_once_do_not_overwrite_each_other() {
    let home = tempfile::tempdir().unwrap();
    let paths: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let options = options(home.path());
                scope.spawn(move || {
                    let mut outcome = outcomes::researched();
                    outcome.model = Some(format!("model-{number}"));
                    let path = saved(&outcome, &options).unwrap().file_path.unwrap();
                    assert!(
                        fs::read_to_string(&path).unwrap().contains(&format!("model-{number}"))
                    );
                    path
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut distinct = paths.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 8);
    assert_eq!(files(home.path()).len(), 8, "and nothing is left beside them");
}

#[test]
fn a_directory_that_cannot_be_one_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "kept").unwrap();
    let refused = |directory: &Path| {
        ErrorReport::from(saved(&outcomes::found(), &options(directory)).unwrap_err())
    };
    for directory in [file.clone(), file.join("below"), PathBuf::new(), PathBuf::from("a\0b")] {
        let error = refused(&directory);
        assert_eq!(error.code, "INVALID_INPUT", "{error:?}");
        assert!(error.hint.is_some());
    }
    assert!(refused(&file).message.ends_with("file: it is not a directory"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    // A file where the month's directory should be.
    let directory = home.path().join("reports");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("2025-12"), "kept").unwrap();
    let error = refused(&directory);
    assert!(error.message.ends_with("2025-12: it is not a directory"), "{}", error.message);
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed_out_of_the_directory() {
    use std::os::unix::fs::symlink;
    let home = tempfile::tempdir().unwrap();
    let (directory, outside) = (home.path().join("reports"), home.path().join("outside"));
    fs::create_dir(&directory).unwrap();
    fs::create_dir(&outside).unwrap();
    for target in [outside.clone(), PathBuf::from("../outside")] {
        symlink(&target, directory.join("2025-12")).unwrap();
        let error = saved(&outcomes::found(), &options(&directory)).unwrap_err();
        assert!(matches!(error, LibraryError::Write(WriteError::LeadsOut { .. })), "{error}");
        fs::remove_file(directory.join("2025-12")).unwrap();
    }
    assert_eq!(files(&outside), [""; 0]);
    // One that stays inside is a matter of taste.
    fs::create_dir(directory.join("winter")).unwrap();
    symlink("winter", directory.join("2025-12")).unwrap();
    saved(&outcomes::found(), &options(&directory)).unwrap();
    assert_eq!(files(&directory.join("winter")).len(), 1);
    // A name that leads elsewhere is taken, not written through.
    let path = saved(&outcomes::found(), &options(&directory)).unwrap().file_path.unwrap();
    assert!(path.ends_with("_2.md"), "{path}");
}

#[test]
fn home_is_meant_as_a_shell_reads_it() {
    let home = || Some(PathBuf::from("/home/me"));
    assert_eq!(at_home(Path::new("~/reports"), home()), Path::new("/home/me/reports"));
    assert_eq!(at_home(Path::new("~"), home()), Path::new("/home/me"));
    assert_eq!(at_home(Path::new("~/reports"), None), Path::new("~/reports"));
    for other in ["./reports", "a~", "~you/reports", "/tmp/~/reports"] {
        assert_eq!(at_home(Path::new(other), home()), Path::new(other));
    }
}

#[test]
fn only_what_is_completed_is_kept_unasked() {
    assert!(require_completed(&outcomes::researched()).is_ok());
    let cases = [
        (TaskStatus::Running, "running_async"),
        (TaskStatus::Cancelled, "cancelled"),
        (TaskStatus::Failed, "failed"),
        (TaskStatus::NeedsAttention, "needs_attention"),
    ];
    for (status, said) in cases {
        let outcome = outcomes::ended_midway(status);
        let error = require_completed(&outcome).unwrap_err();
        assert_eq!(error.code, "NOT_COMPLETED");
        assert_eq!(
            error.message,
            format!("the research 0198c2f4 is not completed: its status is {said}")
        );
        let answer = SavedReport::of_error(&error, Some(&outcome));
        assert_eq!((answer.success, answer.status.as_deref()), (false, Some(said)));
    }
}

#[test]
fn a_mistake_in_the_users_template_saves_nothing() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("templates")).unwrap();
    fs::write(home.path().join("templates/research_report.md"), "# {{ title }}\n{{ nonsense }}\n")
        .unwrap();
    let directory = home.path().join("reports");
    let error = save_report(&outcomes::found(), &options(&directory), home.path()).unwrap_err();
    assert_eq!(error.code, "CONFIG_ERROR");
    assert!(error.message.contains("research_report.md:2:4"), "{}", error.message);
    assert!(!directory.exists());
    fs::write(home.path().join("templates/research_report.md"), "{{ title }} by {{ task.model }}")
        .unwrap();
    let report = save_report(&outcomes::researched(), &options(&directory), home.path()).unwrap();
    let text = fs::read_to_string(report.file_path.unwrap()).unwrap();
    assert_eq!(
        text,
        "What is the state of tidal power in Europe? by deep-research-preview-04-2026\n"
    );
}

#[cfg(unix)]
mod without_space {
    //! A process whose files cannot grow: a disk that is full, for it alone.

    #![expect(clippy::disallowed_methods, reason = "the process is this test binary again")]

    use std::process::{Command, Stdio};

    use super::*;

    const DIRECTORY: &str = "BATHYSPHERE_TEST_LIBRARY_DIRECTORY";

    /// Not a test of its own: the part of the other process.
    #[test]
    fn child() {
        let Some(directory) = std::env::var_os(DIRECTORY) else { return };
        let directory = PathBuf::from(directory);
        let error = saved(&outcomes::long(1_000_000), &options(&directory)).unwrap_err();
        let error = ErrorReport::from(error);
        assert_eq!(error.code, "DISK_FULL", "{error:?}");
        let path = directory
            .join("2025-12/research_0198c2f4-7a1b-7c3d-8e4f-112233445566_20251214_103045.md");
        assert!(error.message.contains(&path.display().to_string()), "{}", error.message);
        let (_, needed) = error.message.split_once("it needs ").unwrap();
        let needed: f64 = needed.split(' ').next().unwrap().parse().unwrap();
        assert!(needed > 900.0, "{}", error.message);
        // What fits is still saved.
        saved(&outcomes::found(), &options(&directory)).unwrap();
    }

    #[test]
    fn a_full_disk_names_the_path_and_the_room_it_takes() {
        let home = tempfile::tempdir().unwrap();
        let (_, module) = module_path!().split_once("::").unwrap();
        let output = Command::new("sh")
            .args(["-c", r#"trap "" XFSZ; ulimit -f 256; exec "$0" "$@""#])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::child"), "--nocapture"])
            .env(DIRECTORY, home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found = files(home.path());
        assert_eq!(found.len(), 1, "nothing half written is left: {found:?}");
    }
}

#[test]
fn a_long_report_is_rendered_quickly() {
    let outcome = outcomes::long(200_000);
    assert!(outcome.answer.len() >= 200_000);
    let templates = Templates::built_in();
    let options = SaveOptions::default();
    let began = std::time::Instant::now();
    let text = rendered(&outcome, &options, &templates).unwrap();
    let took = began.elapsed();
    assert!(text.len() > 200_000);
    // Far more than it takes, for machines that are busy; the benchmark tells.
    assert!(took.as_millis() < 2_000, "{took:?}");
}
