//! Which backends serve a tool, with documents and without.

use super::*;

const DIRECTORIES: &str = "[plugins.search-documents.grants]\ndirectories = [\"~/notes\"]\n";

fn backends(agent: &str, search: Option<&str>) -> ToolBackends {
    ToolBackends {
        agent: Some(agent.to_owned()),
        search: search.map(str::to_owned),
        ..ToolBackends::default()
    }
}

fn gemini() -> ToolBackends {
    backends("agent-gemini-cli", None)
}

fn documents() -> ToolBackends {
    backends("agent-extractive", Some("search-documents"))
}

fn research() -> ToolBackends {
    ToolBackends { research: Some("research-gemini".to_owned()), ..ToolBackends::default() }
}

/// Those that an agent serves.
const AGENT_TOOLS: &[&str] = &["search", "deep_search", "deep_research", "research"];

fn explained(
    loaded: &LoadedConfig,
    key: &str,
) -> (serde_json::Value, String, Option<&'static str>) {
    let values = explain(loaded);
    let value = values.into_iter().find(|value| value.key == key).unwrap();
    (value.json, value.origin.to_string(), value.via)
}

#[test]
fn without_documents_the_agent_searches_by_itself() {
    for world in [World::new(), World::new().variable("BATHYSPHERE_DOCS", "")] {
        let loaded = world.loaded();
        for tool in AGENT_TOOLS {
            assert_eq!(loaded.config.tools[*tool], gemini(), "{tool}");
        }
        assert_eq!(loaded.config.tools["start_deep_research"], research());
        let (value, origin, via) = explained(&loaded, "tools.search.agent");
        assert_eq!((value, origin.as_str(), via), ("agent-gemini-cli".into(), "built-in", None));
    }
}

#[test]
fn documents_take_the_place_of_the_defaults_whoever_names_them() {
    for (world, origin) in [
        (World::new().docs(&["docs"]), "--docs"),
        (World::new().variable("BATHYSPHERE_DOCS", "docs"), "BATHYSPHERE_DOCS"),
        (World::new().file("here/named.toml", DIRECTORIES).flag("named.toml"), "named.toml:2"),
        (World::new().here(&DIRECTORIES.replace("~/notes", "docs")), "plugins.toml:2"),
        (World::new().own(DIRECTORIES).docs(&["docs"]), "--docs"),
    ] {
        let loaded = world.loaded();
        for tool in AGENT_TOOLS {
            assert_eq!(loaded.config.tools[*tool], documents(), "{tool}");
        }
        // A research backend searches by itself, and stays.
        assert_eq!(loaded.config.tools["start_deep_research"], research());
        let shown = explained(&loaded, "tools.start_deep_research.research");
        assert_eq!(shown, ("research-gemini".into(), "built-in".to_owned(), None));
        for (key, value) in [("agent", "agent-extractive"), ("search", "search-documents")] {
            let shown = explained(&loaded, &format!("tools.deep_search.{key}"));
            assert_eq!(shown, (value.into(), origin.to_owned(), Some("documents")));
        }
        assert_eq!(explained(&loaded, "documents.agent").1, "built-in");
    }
}

#[test]
fn a_tool_that_a_file_of_the_users_names_keeps_its_backends() {
    let own = "[tools.search]\nagent = \"agent-gemini-cli\"\n\n[tools.deep_search]\npages = \"p\"\n\n\
               [tools.research]\n\n[plugins.p]\nsource = \"p.wasm\"\n";
    for world in [World::new().own(own), World::new().file("here/named", own).flag("named")] {
        let loaded = world.docs(&["docs"]).loaded();
        let tools = &loaded.config.tools;
        assert_eq!(tools["search"], gemini());
        let with_pages = ToolBackends { pages: Some("p".to_owned()), ..gemini() };
        assert_eq!(tools["deep_search"], with_pages);
        // An empty table names nothing.
        assert_eq!(tools["research"], documents());
        assert_eq!(tools["deep_research"], documents());
        assert_eq!(explained(&loaded, "tools.search.agent").2, None);
    }
}

#[test]
fn the_users_own_backends_can_serve_documents() {
    let own = "[documents]\nagent = \"mine\"\nsearch = \"finder\"\n\n\
               [plugins.mine]\nsource = \"mine.wasm\"\n\n[plugins.finder]\nsource = \"f.wasm\"\n";
    let world = World::new().own(own).docs(&["docs"]);
    let loaded = world.loaded();
    assert_eq!(loaded.config.tools["search"], backends("mine", Some("finder")));
    // Which is then given the documents of this run, whatever it is made of.
    assert_eq!(directories(&loaded, "finder"), [(world.path("here/docs"), "docs/".to_owned())]);
    assert!(directories(&loaded, "mine").is_empty());

    // Directories of another backend are no documents for this one.
    let loaded = World::new().own(&format!("{own}{DIRECTORIES}")).loaded();
    assert_eq!(loaded.config.tools["search"], gemini());
    let loaded = World::new()
        .own(&format!("{own}[plugins.finder.grants]\ndirectories = [\"~/notes\"]\n"))
        .loaded();
    assert_eq!(loaded.config.tools["search"], backends("mine", Some("finder")));
}

#[test]
fn limits_of_research_are_laid_over_each_other() {
    let own = "[research]\nmax_iterations = 50\nmax_wait_seconds = 1.5\npoll_seconds = 0.5\n";
    let loaded = World::new().own(own).here("[research]\ncycles = 1\nwait_seconds = 0\n").loaded();
    let expected = ResearchConfig {
        max_iterations: 50,
        max_wait: Some(std::time::Duration::from_millis(1500)),
        cycles: 1,
        poll: std::time::Duration::from_millis(500),
        handoff: std::time::Duration::ZERO,
    };
    assert_eq!(loaded.config.research, expected);
    assert_eq!(explained(&loaded, "research.cycles").1, "plugins.toml:2");
    assert_eq!(explained(&loaded, "research.max_wait_seconds").0, 1.5);
}
