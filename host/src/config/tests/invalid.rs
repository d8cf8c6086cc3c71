//! Files that are wrong, or no files at all: what is said of them.

use super::*;

#[test]
fn broken_files_are_told_what_is_wrong() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/config/invalid");
    let mut names: Vec<PathBuf> =
        cases.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    names.sort();
    assert!(names.len() >= 30, "the cases are missing");
    for path in names {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read(&path).unwrap();
        let world = World::new().file(&format!("here/{name}"), text).flag(name);
        assert_shown("invalid", name.trim_end_matches(".toml"), world.error());
    }
}

#[test]
fn a_file_that_is_not_text_is_shown_where() {
    let error = World::new().file("here/plugins.toml", b"[use]\nstrategy = \"caf\xe9\"\n").error();
    insta::assert_snapshot!(error, @r#"
    this is not UTF-8 text
      --> plugins.toml:2:16
       |
     2 | strategy = "caf�"
       |                ^
    hint: save the file as UTF-8
    "#);
}

#[test]
fn a_named_file_must_be_there() {
    let world = World::new().file("here/plugins.local.toml", "").flag("plugins.locale.toml");
    insta::assert_snapshot!(world.error(), @"
    --config plugins.locale.toml: there is no file ROOT/here/plugins.locale.toml
    hint: did you mean `plugins.local.toml`?
    ");
    let world = World::new().variable("BATHYSPHERE_CONFIG", "/nowhere/plugins.toml");
    insta::assert_snapshot!(world.error(), @"BATHYSPHERE_CONFIG /nowhere/plugins.toml: there is no file /nowhere/plugins.toml");
}

#[test]
fn a_directory_is_not_a_file() {
    let world = World::new().flag("docs").file("here/docs/plugins.toml", "");
    insta::assert_snapshot!(world.error(), @"
    --config docs: ROOT/here/docs is a directory, not a file
    hint: did you mean ROOT/here/docs/plugins.toml?
    ");
    let world = World::new();
    std::fs::create_dir(world.path("here/plugins.toml")).unwrap();
    insta::assert_snapshot!(world.error(), @"ROOT/here/plugins.toml is a directory, not a file");
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_an_error_and_not_a_missing_one() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    // A loop of links cannot be read by anybody, not even by root.
    let world = World::new();
    symlink("plugins.toml", world.path("here/plugins.toml")).unwrap();
    let error = world.error();
    assert!(error.starts_with("ROOT/here/plugins.toml cannot be read: "), "{error}");

    let world = World::new().here("");
    let path = world.path("here/plugins.toml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&path).is_err() {
        insta::assert_snapshot!(world.error(), @"
        ROOT/here/plugins.toml cannot be read: permission denied
        hint: make the file readable for you, or name another with --config FILE
        ");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_found_pipe_does_not_keep_us_waiting() {
    let world = World::new();
    let path = world.path("here/plugins.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(world.error(), "ROOT/here/plugins.toml cannot be read: it is not a regular file");
}

#[test]
fn an_endless_file_is_cut_off() {
    let world = World::new().here(&"#".repeat((1 << 20) + 1));
    assert_eq!(world.error(), "ROOT/here/plugins.toml cannot be read: it is larger than 1 MiB");
}

#[test]
fn mistakes_of_several_files_are_reported_together() {
    let world = World::new().own("[use]\nstrategi = \"x\"\n").here("[tools.serch]\n");
    assert_shown("said", "mistakes-of-several-files-are-reported-together", world.error());
}

/// Cuts and garbles a file at every byte: each result is read or refused, and what
/// is refused is shown at a place that exists.
#[test]
fn no_garbled_file_brings_the_reader_down() {
    let text = format!(
        "{OWN}[plugins.own.settings]\na = [1, {{ b = \"ü\" }}, 1979-05-27]\n\
         [plugins.own.limits]\nmemory_mb = 0x10\n[tools.search]\npages = 'own'\n"
    );
    let mut garbled: Vec<String> = Vec::new();
    for (index, _) in text.char_indices() {
        garbled.push(text[..index].to_owned());
        let rest: String = text[index..].chars().skip(1).collect();
        for character in ["", "\"", "[", "]", "=", ".", "\n", "\r", "\0", "ü", "{", "9", "#"] {
            garbled.push(format!("{}{character}{rest}", &text[..index]));
        }
    }
    let mut refused = 0;
    for text in garbled {
        let mut layers = layer::Layers::default();
        let lines: Vec<usize> = text.split('\n').map(|line| line.chars().count()).collect();
        layers.push(layer::Layer {
            place: "garbled".to_owned(),
            text,
            directory: PathBuf::from("/here"),
        });
        let mut mistakes = layer::Mistakes::default();
        let surroundings = read::Surroundings {
            working_directory: Path::new("/here"),
            home: None,
            builtins: BUILTINS,
        };
        if let Some(raw) = read::read(&layers, 0, surroundings, &mut mistakes) {
            resolve::resolve(&raw, &layers, &mut mistakes);
        }
        for problem in mistakes.into_problems(&layers) {
            refused += 1;
            assert!(!problem.to_string().is_empty());
            if let Some(line) = problem.origin.as_ref().and_then(|origin| origin.line) {
                let column = problem.origin.unwrap().column.unwrap();
                assert!((1..=lines[line - 1] + 1).contains(&column));
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
