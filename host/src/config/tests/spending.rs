//! What a file that was merely found may make cheaper, but not dearer.

use super::*;

/// The user's own: a backend that costs something, and what serves without it.
const DEAR: &str = "\
[plugins.dear]
source = \"dear.wasm\"
[plugins.dear.grants]
commands = [\"dear\"]
[plugins.dear.limits]
concurrency = 4
[plugins.online]
source = \"online.wasm\"
[plugins.online.grants]
hosts = [\"api.example.com\"]
[plugins.agent-gemini-cli.grants]
commands = [\"gemini\"]
";

const FOUND: &str = "a file that was found in the working directory, and not named by you, may not";

fn world(own: &str, here: &str) -> World {
    World::new().own(&format!("{DEAR}{own}")).here(here)
}

/// With these words, in this line, and nothing else.
#[track_caller]
fn assert_refused(world: &World, said: &str, line: usize) {
    let error = world.error();
    assert!(error.starts_with(&format!("{FOUND} {said}\n")), "{error}");
    assert!(error.contains(&format!("--> plugins.toml:{line}:")), "{error}");
    assert!(error.contains("--config ./plugins.toml"), "{error}");
    assert_eq!(error.matches("-->").count(), 1, "{error}");
}

#[test]
fn fewer_rounds_and_attempts_are_free_and_more_are_not() {
    let less = "[research]\nmax_iterations = 2\ncycles = 1\nmax_wait_seconds = 9\n";
    assert_eq!(world("", less).loaded().config.research.max_iterations, 2);
    world("", "[research]\nmax_iterations = 5\ncycles = 3\n").loaded();
    let more = "[research]\nmax_iterations = 8\n";
    world(more, more).loaded();
    assert_refused(&world("", more), "raise `research.max_iterations` above 5", 2);
    assert_refused(
        &world(more, "[research]\n\nmax_iterations = 9\n"),
        "raise `research.max_iterations` above 8",
        3,
    );
    assert_refused(&world("", "[research]\ncycles = 4\n"), "raise `research.cycles` above 3", 2);
}

#[test]
fn a_budget_may_be_lowered_and_never_raised_or_removed() {
    let budget = |day: &str| format!("[budget]\nusd_per_day = {day}\n");
    let resolved = |own: &str, here: &str| world(own, here).loaded().config.budget.usd_per_day;
    assert_eq!(resolved("", ""), None);
    assert_eq!(resolved("", &budget("3.5")), Some(3.5));
    assert_eq!(resolved(&budget("5"), &budget("0")), Some(0.0));
    // What is left out stays.
    assert_eq!(resolved(&budget("5"), "[budget]\nusd_per_task = 1\n"), Some(5.0));
    assert_refused(&world(&budget("5"), &budget("5.5")), "raise `budget.usd_per_day` above 5", 2);
    assert_refused(
        &world("[budget]\nusd_per_task = 0.5\n", "[budget]\n\nusd_per_task = 100\n"),
        "raise `budget.usd_per_task` above 0.5",
        3,
    );
}

#[test]
fn a_file_that_the_user_named_may_do_all_of_it() {
    let named = DEAR.replace("concurrency = 4", "concurrency = 100");
    let more = "[research]\nmax_iterations = 9\ncycles = 10\n\
                [tools.search]\nagent = \"dear\"\n[documents]\nagent = \"dear\"\n";
    let loaded = World::new().here(&format!("{named}{more}")).flag("plugins.toml").loaded();
    assert_eq!(loaded.config.research.cycles, 10);
    assert_eq!(loaded.config.tools["search"].agent.as_deref(), Some("dear"));
    assert_eq!(loaded.config.plugins["dear"].limits.concurrency, 100);
}

#[test]
fn a_command_may_not_run_more_often_or_longer() {
    let limits = |name: &str, text: &str| format!("[plugins.{name}.limits]\n{text}\n");
    world("", &limits("dear", "concurrency = 4\ntimeout_seconds = 60\nmemory_mb = 512")).loaded();
    world("", &limits("dear", "concurrency = 1\ntimeout_seconds = 0.5")).loaded();
    // Who runs no command may: it costs this machine alone.
    world("", &limits("online", "concurrency = 99\ntimeout_seconds = 600")).loaded();
    let dear = "for `dear`, which may run commands";
    assert_refused(
        &world("", &limits("dear", "concurrency = 5")),
        &format!("raise `limits.concurrency` above 4 {dear}"),
        2,
    );
    assert_refused(
        &world("", &limits("dear", "timeout_seconds = 60.5")),
        &format!("raise `limits.timeout_seconds` above 60 {dear}"),
        2,
    );
}

#[test]
fn a_tool_may_not_be_routed_to_what_may_cost_something() {
    for (key, name) in [("agent", "dear"), ("search", "online"), ("research", "online")] {
        assert_refused(
            &world("", &format!("[tools.deep_search]\n{key} = \"{name}\"\n")),
            &format!("route `deep_search` to `{name}`, which may cost something"),
            2,
        );
    }
    // One tool does not speak for another.
    let own = "[tools.search]\nagent = \"dear\"\n";
    assert_refused(
        &world(own, "[tools.research]\nagent = \"dear\"\n"),
        "route `research` to `dear`, which may cost something",
        2,
    );
    world(own, own).loaded();
    world(own, "[tools.search]\nagent = \"agent-extractive\"\n").loaded();
    world("", "[tools.search]\nsearch = \"search-documents\"\n").loaded();
    world("", "[tools.search]\nagent = \"agent-gemini-cli\"\n").loaded();
}

#[test]
fn documents_may_not_be_routed_there_either() {
    let here = "[documents]\nagent = \"dear\"\n";
    let said = "route documents to `dear`, which may cost something";
    assert_refused(&world("", here), said, 2);
    assert_refused(&world("", here).docs(&["docs"]), said, 2);
    assert_refused(
        &world("", "[documents]\nsearch = \"online\"\n").docs(&["docs"]),
        "route documents to `online`, which may cost something",
        2,
    );
    world(here, here).docs(&["docs"]).loaded();
    world(here, "[documents]\nagent = \"agent-extractive\"\n").docs(&["docs"]).loaded();
}

#[test]
fn questions_about_documents_may_not_be_turned_to_what_is_behind_them() {
    let docs = "[plugins.search-documents.grants]\ndirectories = [\"~/notes\"]\n";
    let gemini =
        |tools: &str| format!("route {tools} to `agent-gemini-cli`, which may cost something");
    // By naming the default, or only half of what serves.
    for here in [
        "[tools.search]\nagent = \"agent-gemini-cli\"\n",
        "[tools.search]\nsearch = \"search-documents\"\n",
    ] {
        world("", here).loaded();
        assert_refused(&world("", here).docs(&["docs"]), &gemini("`search`"), 2);
        assert_refused(&world(docs, here), &gemini("`search`"), 2);
    }
    // By taking the documents away, from all tools at once.
    let all = "`deep_research`, `deep_search`, `research` and `search`";
    let nothing = "[plugins.search-documents.grants]\n\ndirectories = []\n";
    assert_refused(&world(docs, nothing), &gemini(all), 3);
    world(docs, nothing).docs(&["docs"]).loaded();
    let elsewhere = "[documents]\nsearch = \"empty\"\n\
                     [plugins.empty]\nsource = \"builtin:search-documents\"\n";
    assert_refused(&world(docs, elsewhere), &gemini(all), 2);
    // And what the user serves documents with is not brought in by bringing some.
    let own = "[documents]\nagent = \"dear\"\n";
    let here = "[plugins.search-documents.grants]\ndirectories = [\"docs\"]\n";
    assert_refused(
        &world(own, here),
        &format!("route {all} to `dear`, which may cost something"),
        2,
    );
    world("", here).loaded();
}

#[test]
fn what_is_granted_below_may_be_said_again_beside_documents() {
    let own = "[plugins.search-documents.grants]\ndirectories = [\"~/notes\"]\n";
    world(own, own).docs(&["docs"]).loaded();
}
