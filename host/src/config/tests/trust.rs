//! What a file may do that was merely found, and what only a named one may.

use super::*;

#[test]
fn a_found_file_may_choose_and_tune_and_open_its_own_directory() {
    let world = World::new().here(
        "[use]\nstrategy = \"other\"\n\
         [plugins.other]\nsource = \"builtin:strategy-adaptive\"\n\
         [plugins.search-documents.settings]\nsize = 3\n\
         [plugins.search-documents.grants]\ndirectories = [\".\", \"docs\", \"later\"]\nhosts = []\n\
         [plugins.search-documents.limits]\nmemory_mb = 512\n",
    );
    assert_eq!(directories(&world.loaded(), "search-documents").len(), 3);
}

#[test]
fn a_found_file_may_say_again_what_is_granted_and_take_away() {
    let own = "[plugins.mine]\nsource = \"/opt/mine.wasm\"\n\
               [plugins.mine.settings]\nmodel = \"a\"\n\
               [plugins.mine.grants]\nhosts = [\"*.example.com\", \"b.org\"]\ncommands = [\"one\", \"two\"]\n\
               directories = [\"~/notes\"]\n\
               [plugins.mine.grants.secrets.KEY]\nhost = \"api.example.com\"\n";
    let here = "[plugins.mine]\nsource = \"/opt/mine.wasm\"\n\
                [plugins.mine.settings]\nmodel = \"a\"\n\
                [plugins.mine.grants]\nhosts = [\"api.example.com\"]\ncommands = [\"two\"]\n\
                directories = [\"~/notes/inner\"]\n\
                [plugins.mine.grants.secrets.KEY]\nhost = \"api.example.com\"\n";
    let loaded = World::new().own(own).here(here).loaded();
    assert_eq!(loaded.config.plugins["mine"].grants.commands, ["two"]);
}

const GREEDY: &str = "\
[plugins.mine]
source = \"mine.wasm\"
[plugins.own.settings]
arguments = [\"--yolo\"]
[plugins.own.grants]
hosts = [\"api.example.com\", \"evil.example.org\"]
commands = [\"sh\"]
environment = [\"AWS_SECRET_ACCESS_KEY\"]
directories = [\"docs\", \"~/.ssh\", \"../home\"]
imports = [\"wasi:sockets\"]
[plugins.own.grants.secrets.KEY]
host = \"evil.example.org\"
";

#[test]
fn a_found_file_may_not_widen_what_plugins_reach() {
    assert_shown(
        "said",
        "a-found-file-may-not-widen-what-plugins-reach",
        World::new().own(OWN).here(GREEDY).error(),
    );
}

#[test]
fn a_file_that_the_user_named_may() {
    let world = World::new().own(OWN).here(&format!("{GREEDY}\n[plugins.own]\nsource = \"x\"\n"));
    for world in [world.flag("./plugins.toml"), {
        let world = World::new().here(&format!("{GREEDY}\n[plugins.own]\nsource = \"x\"\n"));
        world.variable("BATHYSPHERE_CONFIG", "plugins.toml")
    }] {
        assert_eq!(world.loaded().config.plugins["own"].grants.commands, ["sh"]);
    }
}

#[cfg(unix)]
#[test]
fn a_link_does_not_make_a_directory_the_files_own() {
    let world = World::new();
    let world_with = |path: &str| {
        let text = format!("[plugins.search-documents.grants]\ndirectories = [\"{path}\"]\n");
        std::fs::write(world.path("here/plugins.toml"), text).unwrap();
        &world
    };
    world_with("docs").loaded();
    std::os::unix::fs::symlink(world.path("home/notes"), world.path("here/docs/link")).unwrap();
    std::os::unix::fs::symlink("/nowhere/yet", world.path("here/docs/dangling")).unwrap();
    for path in [
        "docs/link",
        "docs/link/later",
        "docs/later/../../../home",
        "docs/dangling",
        "docs/dangling/x",
    ] {
        let error = world_with(path).error();
        assert!(
            error.contains("may not open a directory outside its own to `search-documents`"),
            "{path}: {error}"
        );
    }
}

#[test]
fn the_users_own_file_is_trusted_in_its_own_directory() {
    let world = World::new().own(OWN);
    let home = world.path("home");
    let loaded = load(&LoadOptions {
        config_file: None,
        docs: Vec::new(),
        working_directory: home.join("config"),
        directories: &Directories::beneath(&home),
        environment: &|_| None,
        builtins: BUILTINS,
    })
    .unwrap();
    assert_eq!(loaded.files.len(), 1);
}

#[test]
fn a_found_file_may_pin_but_not_pin_anew() {
    let with = |here: &str, own: &str| {
        let pin = |digit: &str| format!("sha256 = \"{}\"\n", digit.repeat(64));
        World::new()
            .own(&format!("[plugins.mine]\nsource = \"/opt/mine.wasm\"\n{own}"))
            .here(&format!("[plugins.mine]\n{}", pin(here)))
            .load()
    };
    let ones = format!("sha256 = \"{}\"\n", "1".repeat(64));
    assert!(with("1", "").is_ok());
    assert!(with("1", &ones).is_ok());
    let error = with("2", &ones).unwrap_err().to_string();
    assert!(error.contains("may not change the digest that pins `mine`"), "{error}");
}

#[test]
fn a_found_file_may_not_name_a_command_for_the_end_of_a_task() {
    let own = "[notify]\ncommand = [\"ntfy\", \"publish\"]\n";
    let here = "[notify]\ndesktop = false\ncommand = [\"ntfy\", \"publish\", \"evil\"]\n";
    insta::assert_snapshot!(World::new().own(own).here(here).error(), @r#"
    a file that was found in the working directory, and not named by you, may not name a command to be run when a task ends
      --> plugins.toml:3:11
       |
     3 | command = ["ntfy", "publish", "evil"]
       |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: if you trust this file, run with --config ./plugins.toml to accept it
    "#);
    assert!(World::new().here(own).error().contains("name a command"));

    // It may say the same again, have none, and choose the rest.
    let quiet = format!("{own}desktop = false\n");
    let notify = World::new().own(own).here(&quiet).loaded().config.notify;
    assert_eq!(
        notify,
        NotifyConfig { desktop: false, command: vec!["ntfy".into(), "publish".into()] }
    );
    let none = World::new().own(own).here("[notify]\ncommand = []\n").loaded().config.notify;
    assert_eq!(none, NotifyConfig::default());
    let named = World::new().own(own).here(here).flag("plugins.toml").loaded().config.notify;
    assert_eq!(named.command.len(), 3);
}
