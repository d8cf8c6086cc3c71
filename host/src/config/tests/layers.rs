//! Which files apply, and what comes out when they are laid over each other.

use super::*;

#[test]
fn the_defaults_stand_alone() {
    let loaded = World::new().loaded();
    assert_eq!(loaded.config.strategy, "strategy-adaptive");
    assert_eq!(loaded.config.tools.len(), TOOLS.len());
    assert_eq!(loaded.config.research, ResearchConfig::default());
    assert!(loaded.files.is_empty() && loaded.warnings.is_empty());
    for plugin in loaded.config.plugins.values() {
        assert_eq!(plugin.source, PluginSource::Builtin(plugin.name.clone()));
        // Nothing is granted but the one program that an agent is made of, and the one
        // service, with its key, that a research backend is.
        let Grants { hosts, commands, secrets, .. } = plugin.grants.clone();
        let few = Grants { hosts, commands, secrets, ..Grants::default() };
        let grants = Grants { environment: Vec::new(), ..plugin.grants.clone() };
        assert_eq!(grants, few, "{}", plugin.name);
        let services = usize::from(plugin.name == "research-gemini");
        assert_eq!(plugin.grants.hosts.len(), services, "{}", plugin.name);
        assert_eq!(plugin.grants.secrets.len(), services, "{}", plugin.name);
        let programs: &[&str] = if plugin.name == "agent-gemini-cli" { &["gemini"] } else { &[] };
        assert_eq!(plugin.grants.commands, programs, "{}", plugin.name);
        assert_eq!(plugin.grants.environment.is_empty(), programs.is_empty(), "{}", plugin.name);
    }
    assert_eq!(loaded.config.plugins["search-documents"].limits.memory_bytes, 256 << 20);
    assert_eq!(loaded.config.plugins["agent-extractive"].limits, Limits::default());
}

#[test]
fn the_projects_own_file_is_harmless_where_it_lies() {
    let world =
        World::new().own("[plugins.search-documents.grants]\ndirectories = [\"~/notes\"]\n");
    let world = world.here(DEFAULTS);
    let loaded = world.loaded();
    assert_eq!(directories(&loaded, "search-documents").len(), 1);
    assert_eq!(loaded.files, [world.path("home/config/plugins.toml")]);
    // As the file of an older or newer version it is one like any other.
    let loaded = World::new().here(&format!("{DEFAULTS}\n# changed\n")).loaded();
    assert_eq!(loaded.files.len(), 1);
}

#[test]
fn layers_merge_key_by_key_and_replace_the_rest() {
    let world = World::new()
        .own(
            "[use]\nestimator = \"mine\"\n[tools.search]\npages = \"mine\"\n\
             [plugins.mine]\nsource = \"mine.wasm\"\n\
             [plugins.mine.settings]\nlist = [1, 2]\nkept = true\ntable = { a = 1, b = 2 }\n\
             [plugins.mine.grants]\nhosts = [\"a.example.com\", \"b.example.com\"]\n\
             [plugins.mine.limits]\nmemory_mb = 8\nconcurrency = 2\n",
        )
        .here(
            "[tools.search]\nagent = \"agent-extractive\"\n\
             [plugins.mine.settings]\nlist = [3]\ntable = { b = \"x\" }\n\
             [plugins.mine.grants]\nhosts = [\"b.example.com\"]\n\
             [plugins.mine.limits]\nmemory_mb = 9\ncompute_seconds = 0.5\n",
        );
    let loaded = world.loaded();
    assert_eq!(
        loaded.files,
        [world.path("here/plugins.toml"), world.path("home/config/plugins.toml")]
    );
    let config = &loaded.config;
    assert_eq!(config.estimator.as_deref(), Some("mine"));
    assert_eq!(config.tools["search"].pages.as_deref(), Some("mine"));
    assert_eq!(config.tools["search"].agent.as_deref(), Some("agent-extractive"));
    let mine = &config.plugins["mine"];
    assert_eq!(mine.source, PluginSource::Path(world.path("home/config/mine.wasm")));
    assert_eq!(
        serde_json::Value::Object(mine.settings.clone()),
        serde_json::json!({ "list": [3], "kept": true, "table": { "a": 1, "b": "x" } })
    );
    assert_eq!(mine.grants.hosts, [HostGrant { host: "b.example.com".to_owned(), port: None }]);
    assert_eq!((mine.limits.memory_bytes, mine.limits.concurrency), (9 << 20, 2));
    assert_eq!(mine.limits.compute, std::time::Duration::from_millis(500));
    assert_eq!(mine.origins["/list/0"].to_string(), "plugins.toml:4");
    assert_eq!(mine.origins["/table/b"].to_string(), "plugins.toml:5");
    assert!(mine.origins["/kept"].to_string().ends_with("home/config/plugins.toml:9"));
}

#[test]
fn a_named_file_stands_alone_on_the_defaults() {
    let world = World::new()
        .own("[plugins.own]\nsource = \"own.wasm\"\n")
        .here("[plugins.here]\nsource = \"builtin:agent-extractive\"\n")
        .file("here/other.toml", "[plugins.other]\nsource = \"o.wasm\"\n")
        .file("here/docs/flag.toml", "[plugins.flag]\nsource = \"f.wasm\"\n")
        .variable("BATHYSPHERE_CONFIG", "other.toml");
    let names = |loaded: LoadedConfig| {
        let mut names: Vec<String> = loaded.config.plugins.into_keys().collect();
        names.retain(|name| !BUILTINS.contains(&name.as_str()));
        names
    };
    assert_eq!(names(world.loaded()), ["other"]);
    let world = world.flag("docs/flag.toml");
    assert_eq!(
        world.loaded().config.plugins["flag"].source,
        PluginSource::Path(world.path("here/docs/f.wasm"))
    );
    assert_eq!(names(world.loaded()), ["flag"]);
}

#[test]
fn a_pin_does_not_outlive_its_source() {
    let pin = "00".repeat(32);
    let own = format!("[plugins.mine]\nsource = \"mine.wasm\"\nsha256 = \"{pin}\"\n");
    let pinned = |here: &str| {
        let loaded = World::new().own(&own).here(here).loaded();
        loaded.config.plugins["mine"].sha256.is_some()
    };
    assert!(pinned("[plugins.mine.limits]\nmemory_mb = 8\n"));
    assert!(!pinned("[plugins.mine]\nsource = \"builtin:agent-extractive\"\n"));
}

#[test]
fn directories_are_taken_from_their_file_and_shown_from_here() {
    let world = World::new().own(
        "[plugins.search-documents.grants]\ndirectories = [\"more\", \"~/notes\", \"../../here/docs\", \"/srv\", \"/srv/.\"]\n",
    );
    let shown: Vec<String> = directories(&world.loaded(), "search-documents")
        .into_iter()
        .map(|(_, prefix)| prefix)
        .collect();
    let root = world.root.path().display().to_string();
    assert_eq!(
        shown,
        [
            format!("{root}/home/config/more/"),
            format!("{root}/home/notes/"),
            "docs/".to_owned(),
            "/srv/".to_owned()
        ]
    );
}

#[test]
fn docs_take_the_place_of_configured_directories() {
    let own = "[plugins.search-documents.grants]\ndirectories = [\"~/notes\"]\n\
               [plugins.search-more]\nsource = \"builtin:search-documents\"\n\
               [plugins.mine]\nsource = \"mine.wasm\"\ngrants.directories = [\"~/notes\"]\n";
    let world = World::new().own(own).docs(&["docs", "."]).variable("BATHYSPHERE_DOCS", "/");
    let loaded = world.loaded();
    let expected =
        [(world.path("here/docs"), "docs/".to_owned()), (world.path("here"), String::new())];
    assert_eq!(directories(&loaded, "search-documents"), expected);
    assert_eq!(directories(&loaded, "search-more"), expected);
    assert_eq!(directories(&loaded, "mine")[0].0, world.path("home/notes"));

    let list = std::env::join_paths(["docs", "~/notes"]).unwrap();
    let world = World::new().own(own).variable("BATHYSPHERE_DOCS", list);
    let shown: Vec<String> = directories(&world.loaded(), "search-documents")
        .into_iter()
        .map(|(_, prefix)| prefix)
        .collect();
    assert_eq!(shown, ["docs/", "~/notes/"]);
}

#[test]
fn all_missing_docs_are_named() {
    insta::assert_snapshot!(World::new().docs(&["dcos", "docs", "zebra"]).error(), @"
    2 mistakes in the configuration

    --docs dcos: there is no directory ROOT/here/dcos
    hint: did you mean `docs`?

    --docs zebra: there is no directory ROOT/here/zebra
    ");
}
