//! Where a service is: whoever names it grants it, and a file that was merely found
//! may not.

use super::*;

const VARIABLE: &str = "GOOGLE_GEMINI_BASE_URL";
const PLUGIN: &str = "research-gemini";
const GOOGLE: &str = "generativelanguage.googleapis.com";

fn settings(url: &str) -> String {
    format!("[plugins.research-gemini.settings]\nbase_url = \"{url}\"\n")
}

fn hosts(loaded: &LoadedConfig) -> Vec<String> {
    let grants = &loaded.config.plugins[PLUGIN].grants;
    grants.hosts.iter().map(ToString::to_string).collect()
}

/// Where the key is sent, and in which header.
fn bound(loaded: &LoadedConfig) -> (String, String) {
    let secrets = &loaded.config.plugins[PLUGIN].grants.secrets;
    assert_eq!(secrets.len(), 1);
    assert_eq!(secrets[0].name, "GEMINI_API_KEY");
    (secrets[0].host.to_string(), format!("{}: {}", secrets[0].header, secrets[0].prefix))
}

fn origin(loaded: &LoadedConfig, key: &str) -> String {
    let values = explain(loaded);
    let key = format!("plugins.research-gemini.{key}");
    values.iter().find(|value| value.key == key).unwrap().origin.to_string()
}

#[test]
fn by_default_the_key_goes_to_google_and_nowhere_else() {
    let loaded = World::new().loaded();
    assert_eq!(hosts(&loaded), [GOOGLE]);
    assert_eq!(bound(&loaded), (GOOGLE.to_owned(), "x-goog-api-key: ".to_owned()));
    assert!(loaded.config.plugins[PLUGIN].settings.is_empty());
}

#[test]
fn a_variable_names_the_service_and_grants_it() {
    let loaded = World::new().variable(VARIABLE, " http://127.0.0.1:4321/ ").loaded();
    assert_eq!(loaded.config.plugins[PLUGIN].settings["base_url"], "http://127.0.0.1:4321/");
    assert_eq!(hosts(&loaded), [GOOGLE, "127.0.0.1:4321"]);
    assert_eq!(bound(&loaded), ("127.0.0.1:4321".to_owned(), "x-goog-api-key: ".to_owned()));
    assert_eq!(loaded.warnings, [""; 0]);
    for key in ["settings.base_url", "grants.hosts", "grants.secrets.GEMINI_API_KEY.host"] {
        assert_eq!(origin(&loaded, key), VARIABLE, "{key}");
    }
    assert_eq!(origin(&loaded, "grants.secrets.GEMINI_API_KEY.header"), "built-in");
    // Nobody else is granted anything by it.
    let others = loaded.config.plugins.values().filter(|plugin| plugin.name != PLUGIN);
    assert!(others.into_iter().all(|plugin| plugin.grants.hosts.is_empty()));
}

#[test]
fn a_file_of_the_users_names_the_service_and_grants_it() {
    let file = settings("https://proxy.example/gemini");
    for world in [World::new().own(&file), World::new().file("here/named", &file).flag("named")] {
        let loaded = world.loaded();
        assert_eq!(hosts(&loaded), [GOOGLE, "proxy.example"]);
        assert_eq!(bound(&loaded).0, "proxy.example");
        assert!(origin(&loaded, "grants.hosts").ends_with(":2"));
        // The variable wins, and the file's host is then nobody's.
        let loaded = world.variable(VARIABLE, "https://other.example:8443").loaded();
        assert_eq!(hosts(&loaded), [GOOGLE, "other.example:8443"]);
        assert_eq!(bound(&loaded).0, "other.example:8443");
    }
    // The service that the defaults name is what it was.
    let loaded = World::new().own(&settings(&format!("https://{GOOGLE}"))).loaded();
    assert_eq!((hosts(&loaded), bound(&loaded).0), (vec![GOOGLE.to_owned()], GOOGLE.to_owned()));
}

#[test]
fn who_binds_the_key_in_the_same_file_means_it() {
    let file = format!(
        "{}[plugins.research-gemini.grants]\nhosts = [\"a.example\", \"b.example\"]\n\
         [plugins.research-gemini.grants.secrets.GEMINI_API_KEY]\nhost = \"a.example\"\n",
        settings("https://b.example")
    );
    let loaded = World::new().own(&file).loaded();
    assert_eq!(
        (hosts(&loaded).join(" "), bound(&loaded).0),
        ("a.example b.example".into(), "a.example".into())
    );
    let loaded = World::new().own(&file).variable(VARIABLE, "https://c.example").loaded();
    assert_eq!(bound(&loaded).0, "c.example");
}

#[test]
fn a_bad_variable_is_warned_about_and_never_repeated() {
    for (value, reason) in [
        ("hunter2", "is not a URL"),
        ("https://user:hunter2@proxy.example", "holds a user name or a password"),
        ("https://proxy.example/?key=hunter2", "has a query"),
        ("http://hunter2.example", "is plain http"),
        ("ftp://hunter2.example", "is neither https nor http"),
        ("https://*.hunter2.example", "names no host"),
        ("https://hunter2.example\u{1b}[31m x", "holds spaces"),
    ] {
        let loaded = World::new().variable(VARIABLE, value).loaded();
        assert_eq!(
            (hosts(&loaded), bound(&loaded).0),
            (vec![GOOGLE.to_owned()], GOOGLE.to_owned())
        );
        assert!(loaded.config.plugins[PLUGIN].settings.is_empty());
        let [warning] = loaded.warnings.as_slice() else { panic!("{:?}", loaded.warnings) };
        let start = format!("{VARIABLE} is ignored by research-gemini, because it {reason}");
        assert!(warning.starts_with(&start), "{warning}");
        assert!(!warning.contains("hunter2") && !explain_text(&loaded).contains("hunter2"));
    }
    let empty = World::new().variable(VARIABLE, " ").loaded();
    assert_eq!(empty.warnings, [""; 0]);
}

#[test]
fn another_component_in_its_place_is_not_told() {
    let own = "[plugins.research-gemini]\nsource = \"own.wasm\"\n";
    let loaded = World::new().own(own).variable(VARIABLE, "https://proxy.example").loaded();
    assert_eq!((hosts(&loaded), bound(&loaded).0), (vec![GOOGLE.to_owned()], GOOGLE.to_owned()));
    // Its settings are its own affair, and grant nothing by themselves.
    let own = format!("{own}{}", settings("https://proxy.example"));
    assert_eq!(hosts(&World::new().own(&own).loaded()), [GOOGLE]);
}

#[test]
fn what_the_file_says_wrongly_grants_nothing() {
    for url in ["http://proxy.example", "proxy.example", "https://a:b@proxy.example", ""] {
        assert_eq!(hosts(&World::new().own(&settings(url)).loaded()), [GOOGLE], "{url}");
    }
    let number = "[plugins.research-gemini.settings]\nbase_url = 5\n";
    assert_eq!(hosts(&World::new().own(number).loaded()), [GOOGLE]);
}

#[test]
fn a_found_file_may_not_have_the_key_sent_elsewhere() {
    let evil = settings("https://evil.example");
    assert_shown(
        "said",
        "a-found-file-may-not-choose-the-service",
        World::new().here(&evil).error(),
    );
    for here in [
        evil.clone(),
        settings("http://127.0.0.1:1"),
        format!("{evil}[plugins.research-gemini.grants]\nhosts = []\n"),
        // Of a plugin that it makes itself.
        "[plugins.mine]\nsource = \"builtin:research-gemini\"\n\
         [plugins.mine.settings]\nbase_url = \"https://evil.example\"\n"
            .to_owned(),
    ] {
        let error = World::new().here(&here).error();
        assert!(error.contains("may not choose, with `base_url`, the service of `"), "{error}");
    }
    // Even where the host is granted for something else.
    let own = "[plugins.research-gemini.grants]\n\
               hosts = [\"evil.example\", \"generativelanguage.googleapis.com\"]\n";
    World::new().own(own).here(&evil).error();
    // What the user says may be said again.
    let mine = settings("https://proxy.example");
    assert_eq!(bound(&World::new().own(&mine).here(&mine).loaded()).0, "proxy.example");
    // Whoever names the file accepts it.
    let named = World::new().here(&evil).flag("plugins.toml").loaded();
    assert_eq!(bound(&named).0, "evil.example");
}

#[test]
fn a_found_file_may_not_choose_a_dearer_agent() {
    let dearer =
        "[plugins.research-gemini.settings]\nagent = \"deep-research-max-preview-04-2026\"\n";
    let error = World::new().here(dearer).error();
    assert!(
        error.contains(
            "may not change the settings, which say what is paid for with its key, of \
             `research-gemini`"
        ),
        "{error}"
    );
    assert_eq!(
        World::new().own(dearer).here(dearer).loaded().config.plugins[PLUGIN].settings["agent"],
        "deep-research-max-preview-04-2026"
    );
}
