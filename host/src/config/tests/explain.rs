//! What `bathysphere config` shows.

use super::*;

#[test]
fn the_result_is_explained_value_by_value() {
    let own = format!("{OWN}\n[tools.search]\nagent = \"own\"\n");
    let world = World::new().own(&own).docs(&["docs"]).variable("GEMINI_MODEL", "gemini-b").here(
        "[research]\nmax_iterations = 3\n\n[plugins.search-documents.settings]\n\
         chunk = 400\nnames = [\"a\", 'b\"c']\n\n[plugins.search-documents.settings.deep.\"odd key\"]\nx = 1.0\n",
    );
    assert_shown("said", "the-result-is-explained-value-by-value", world.text());
    let json = explain_json(&world.loaded());
    let find = |key: &str| {
        let values = json["values"].as_array().unwrap();
        values.iter().find(|value| value["key"] == key).unwrap().clone()
    };
    assert_eq!(
        find("plugins.search-documents.settings.chunk"),
        serde_json::json!({
            "key": "plugins.search-documents.settings.chunk",
            "value": 400,
            "origin": { "place": "plugins.toml", "line": 5, "column": 1, "via": null },
        })
    );
    assert_eq!(find("plugins.search-documents.grants.directories")["origin"]["place"], "--docs");
    assert_eq!(
        find("tools.deep_search.agent")["origin"],
        serde_json::json!({ "place": "--docs", "line": null, "column": null, "via": "documents" })
    );
    assert_eq!(find("use.strategy")["origin"]["place"], "built-in");
    assert_eq!(json["files"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_explained_means_the_same_when_read_again() {
    let world = World::new().own(OWN).docs(&["docs"]).here(
        "[plugins.search-documents.settings]\na = \"line\\nbreak \\u001b \\u202e ü \\\\ \\\"\"\n\
         b = [1, -2.5, true, { c = \"d\", e = [] }]\nf = 1979-05-27\n\
         [plugins.search-documents.limits]\ncompute_seconds = 0.25\n\
         [research]\nmax_wait_seconds = 2.5\n",
    );
    let first = world.loaded();
    let again =
        World::new().file("here/again.toml", explain_text(&first)).flag("again.toml").loaded();
    assert_eq!(first.config.strategy, again.config.strategy);
    assert_eq!(first.config.tools, again.config.tools);
    assert_eq!(first.config.research, again.config.research);
    for (name, plugin) in &first.config.plugins {
        let second = &again.config.plugins[name];
        assert_eq!(plugin.source, second.source, "{name}");
        assert_eq!(plugin.settings, second.settings, "{name}");
        assert_eq!(plugin.limits, second.limits, "{name}");
        assert_eq!(plugin.grants.secrets, second.grants.secrets, "{name}");
        let paths = |plugin: &PluginConfig| -> Vec<PathBuf> {
            plugin.grants.directories.iter().map(|granted| granted.path.clone()).collect()
        };
        assert_eq!(paths(plugin), paths(second), "{name}");
    }
}
