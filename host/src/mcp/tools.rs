//! The tools as clients see them: names, titles, descriptions, schemas. What they
//! say of their sources is what is configured.

use rmcp::model::{Tool, ToolAnnotations};

use super::arguments::{DeepResearch, DeepSearch, Search};
use super::background::{
    CancelResearch, CheckResearchStatus, EstimateResearchCost, GetResearchResults, ListResearch,
    SaveResearchToMarkdown, StartDeepResearch,
};
use super::schema;
use crate::config::{Config, ToolBackends};
use crate::report::{Answer, SavedReport};
use crate::tasks::Estimate;
use crate::tasks::views::{
    Cancelled, ResearchList, ResearchResults, ResearchStatus, Started, Told,
};

pub use crate::tasks::{DEEP_SEARCH, START_DEEP_RESEARCH};

pub const SEARCH: &str = "search";
pub const DEEP_RESEARCH: &str = "deep_research";
pub const CHECK_RESEARCH_STATUS: &str = "check_research_status";
pub const GET_RESEARCH_RESULTS: &str = "get_research_results";
pub const CANCEL_RESEARCH: &str = "cancel_research";
pub const ESTIMATE_RESEARCH_COST: &str = "estimate_research_cost";
pub const SAVE_RESEARCH_TO_MARKDOWN: &str = "save_research_to_markdown";
pub const LIST_RESEARCH: &str = "list_research";

pub const NAMES: [&str; 10] = [
    SEARCH,
    DEEP_SEARCH,
    DEEP_RESEARCH,
    START_DEEP_RESEARCH,
    CHECK_RESEARCH_STATUS,
    GET_RESEARCH_RESULTS,
    CANCEL_RESEARCH,
    ESTIMATE_RESEARCH_COST,
    SAVE_RESEARCH_TO_MARKDOWN,
    LIST_RESEARCH,
];

/// Told to the client at the start.
pub const INSTRUCTIONS: &str = "Bathysphere researches questions and returns cited reports. Use \
    `search` for one quick look, and `deep_search` when the answer has several parts or must be \
    right: it checks and mends its answer in further rounds. A result names the files and lines, \
    or the pages, it rests on: cite those. `verified` false, or a `note`, means that something was \
    not confirmed: say so. When the sources hold no answer the report says that too; do not fill \
    the gap from memory. A result whose `status` is \"running\" is only a handle: call \
    `deep_search` with `resume` set to its `task_id` to get the rest. For a long report on a broad \
    question, `start_deep_research` lets a vendor work on it for up to an hour, for money; \
    `running_async` is a handle, too: tell the user, and call `check_research_status` later. \
    `list_research` finds what was researched before.";

const RETURNS: &str = "Returns: `result`, a report in Markdown that cites its sources; `verified`; \
    `metadata` with the sources visited, the queries used and what each round came to; `task_id`. \
    `success` false comes with `error` (code, message, hint) and with what had been found by then.";

pub fn all(config: &Config) -> Vec<Tool> {
    NAMES.into_iter().map(|name| make(name, config)).collect()
}

pub fn named(name: &str, config: &Config) -> Option<Tool> {
    NAMES.into_iter().find(|known| *known == name).map(|known| make(known, config))
}

fn make(name: &'static str, config: &Config) -> Tool {
    let world = reaches_out(config, name);
    let (title, description) = match name {
        SEARCH => ("Search", search(world)),
        DEEP_SEARCH => ("Deep search", deep_search(world)),
        DEEP_RESEARCH => ("Deep research", deep_research(world)),
        other => in_the_background(other),
    };
    let (input, output) = match name {
        SEARCH => (schema::of::<Search>(), schema::of::<Answer>()),
        DEEP_SEARCH => (schema::of::<DeepSearch>(), schema::of::<Answer>()),
        DEEP_RESEARCH => (schema::of::<DeepResearch>(), schema::of::<Answer>()),
        START_DEEP_RESEARCH => (schema::of::<StartDeepResearch>(), schema::of::<Started>()),
        CHECK_RESEARCH_STATUS => {
            (schema::of::<CheckResearchStatus>(), schema::of::<Told<ResearchStatus>>())
        }
        GET_RESEARCH_RESULTS => {
            (schema::of::<GetResearchResults>(), schema::of::<ResearchResults>())
        }
        CANCEL_RESEARCH => (schema::of::<CancelResearch>(), schema::of::<Cancelled>()),
        ESTIMATE_RESEARCH_COST => {
            (schema::of::<EstimateResearchCost>(), schema::of::<Told<Estimate>>())
        }
        SAVE_RESEARCH_TO_MARKDOWN => {
            (schema::of::<SaveResearchToMarkdown>(), schema::of::<SavedReport>())
        }
        _ => (schema::of::<ListResearch>(), schema::of::<Told<ResearchList>>()),
    };
    let hints = ToolAnnotations::with_title(title).open_world(world).destructive(false);
    let hints = match name {
        // Each start is paid for, and each file is another.
        START_DEEP_RESEARCH | SAVE_RESEARCH_TO_MARKDOWN => hints.read_only(false).idempotent(false),
        // What is cancelled stays so.
        CANCEL_RESEARCH => hints.read_only(false).idempotent(true).destructive(true),
        // Nothing of the user's is changed.
        _ => hints.read_only(true).idempotent(true),
    };
    Tool::new(name, description, input)
        .with_title(title)
        .with_raw_output_schema(output)
        .with_annotations(hints)
}

/// Whether a backend of the tool reaches a host or runs a program, and so more
/// than the user's own documents.
fn reaches_out(config: &Config, tool: &str) -> bool {
    let Some(ToolBackends { agent, search, pages, research }) = config.tools.get(tool) else {
        return false;
    };
    let mut backends = [agent, search, pages, research].into_iter().flatten();
    backends.any(|name| config.plugins.get(name).is_some_and(|plugin| plugin.grants.reach_out()))
}

fn sources(world: bool) -> &'static str {
    if world { "the web" } else { "the user's own documents" }
}

fn search(world: bool) -> String {
    let takes = if world { "usually within a minute" } else { "usually within a second" };
    format!(
        "Answers a question from {} in one round, {takes}.\n\n\
         Use it for: a fact, a definition, a current value, where something is described, how \
         something is done.\n\
         Do not use it for: questions with several parts, comparisons, or answers that must be \
         checked (use deep_search), or for what is already in this conversation.\n\n\
         {RETURNS}",
        sources(world)
    )
}

fn deep_search(world: bool) -> String {
    let does = if world {
        "the first round searches from several sides and writes a report; each further round \
         checks that report against new searches and mends it, until it is verified or the limit \
         is reached. Takes minutes"
    } else {
        "searches, reads, judges what is still missing, searches for that, and stops when more \
         effort stops helping. Takes seconds"
    };
    format!(
        "Researches a question from {} in several rounds: {does}.\n\n\
         Use it for: questions with several parts, explanations, comparisons, anything where one \
         search may miss half of the answer, or where being wrong is costly.\n\
         Do not use it for: a single fact (search is quicker).\n\n\
         Give `query`, or `resume` with the task_id of an earlier call (of any of these tools) to \
         wait for it or to go on where it stopped; not both. Sends progress while it runs; can be \
         cancelled, and keeps every round that was done.\n\n\
         {RETURNS}",
        sources(world)
    )
}

fn deep_research(world: bool) -> String {
    format!(
        "Researches a question from {} in one long turn: an agent is asked once, and decides by \
         itself how often to search, read and check before it writes its report.\n\n\
         Use it for: a long report on an open question, where the agent's own judgement of when \
         it has read enough will do.\n\
         Do not use it for: quick facts (use search), or where the answer must be verified in \
         rounds of its own (use deep_search).\n\n\
         {RETURNS}",
        sources(world)
    )
}

/// The tools for research that outlives the call.
fn in_the_background(name: &str) -> (&'static str, String) {
    let (title, description) = match name {
        START_DEEP_RESEARCH => (
            "Start deep research",
            "Hands a question to a deep-research agent of a vendor, which plans, searches and \
             reads by itself for minutes up to an hour, and writes a long cited report. Returns the \
             report if it is ready within about 25 seconds, and else a task_id: the research then \
             goes on by itself, even when this client is closed, and the user is notified of its \
             end.\n\n\
             Use it for: a report on an open, broad question that deserves dozens of sources: \
             market overviews, literature reviews, comparisons of many things.\n\
             Do not use it for: facts and short answers (search), answers that must be verified in \
             rounds and soon (deep_search), or a question that is being researched already \
             (list_research finds it). Each start costs money, about 1 to 7 US dollars: \
             estimate_research_cost tells more, and max_cost_usd sets a limit.\n\n\
             Returns: success, task_id, status (`completed` or `running_async`), mode, results \
             (report, sources, metadata) when it is ready, cost_usd, and what to call next.",
        ),
        CHECK_RESEARCH_STATUS => (
            "Check research status",
            "Tells how it stands with a research task: status, what has been done so far (searches \
             made, pages read, the latest thought), elapsed time, tokens and cost. Costs nothing, \
             and answers at once.\n\n\
             Use it for: a task that start_deep_research left running; once a minute is often \
             enough.\n\
             Do not use it for: the report itself (get_research_results), or tasks whose id you do \
             not know (list_research).",
        ),
        GET_RESEARCH_RESULTS => (
            "Get research results",
            "Returns the report of a research task, with its sources and what it took; of one that \
             has not come to its end, what there is so far. Works for tasks of every tool, also \
             those of other clients and of earlier days. Costs nothing.\n\n\
             Use it for: a task whose status is completed. A long report can be read in parts: give \
             `limit`, and `offset` = page.next_offset of the call before.\n\
             Do not use it for: waiting (check_research_status).",
        ),
        CANCEL_RESEARCH => (
            "Cancel research",
            "Cancels a research task for good, at the vendor too, and tells what it has cost. What \
             has been found so far is kept, unless save_partial is false.\n\n\
             Use it for: research that is not wanted any more.\n\
             Do not use it for: a task that has come to its end.",
        ),
        ESTIMATE_RESEARCH_COST => (
            "Estimate research cost",
            "Tells what start_deep_research would take for a question, before anything is sent: \
             how complex it is (simple, medium or complex), how long it would take and what it \
             would cost in US dollars, each as a range, and whether the start would return before \
             the result is there. Rests on the user's own past runs once there are some, and says \
             on how many. Costs nothing, and asks no model.\n\n\
             Use it for: deciding with the user whether research is worth its price.\n\
             Do not use it for: what research that runs already has cost (check_research_status).",
        ),
        SAVE_RESEARCH_TO_MARKDOWN => (
            "Save research to Markdown",
            "Saves the report of a completed research task as a Markdown file that is kept for \
             good: {output_dir}/{YYYY-MM}/{prefix}_{task_id}_{timestamp}.md, with citations as \
             footnotes, numbered sources, and what it took as front matter. Never writes over a \
             file that is there. Costs nothing, and asks no model. Works for tasks of every \
             tool.\n\n\
             Use it for: a report that the user wants to keep, share or put under version \
             control.\n\
             Do not use it for: reading a report (get_research_results), or research that is not \
             completed (check_research_status).\n\n\
             Returns: success, file_path, filename, file_size_kb, created_at.",
        ),
        _ => (
            "List research",
            "Lists the research tasks of all tools and clients, newest first; with `query`, those \
             whose question or report has the words, best first. Costs nothing.\n\n\
             Use it for: finding earlier research before starting anew, or a task whose id is not \
             known.\n\
             Do not use it for: searching the web or documents (search).",
        ),
    };
    (title, description.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::config::resolved::{BudgetConfig, NotifyConfig, ResearchConfig};
    use crate::config::{Grants, Limits, PluginConfig, PluginSource};

    fn config(commands: &[&str]) -> Config {
        let plugin = PluginConfig {
            name: "agent".to_owned(),
            source: PluginSource::Builtin("agent".to_owned()),
            sha256: None,
            settings: serde_json::Map::new(),
            grants: Grants {
                commands: commands.iter().map(|command| (*command).to_owned()).collect(),
                ..Grants::default()
            },
            limits: Limits::default(),
            origins: BTreeMap::new(),
        };
        let backends = ToolBackends { agent: Some("agent".to_owned()), ..ToolBackends::default() };
        Config {
            strategy: "strategy".to_owned(),
            extractor: "extractor".to_owned(),
            estimator: None,
            tools: BTreeMap::from([(SEARCH.to_owned(), backends)]),
            plugins: BTreeMap::from([("agent".to_owned(), plugin)]),
            research: ResearchConfig::default(),
            budget: BudgetConfig::default(),
            notify: NotifyConfig::default(),
        }
    }

    #[test]
    fn a_tool_says_whether_it_reaches_the_world() {
        let annotated = |config: &Config, name: &str| {
            let tool = named(name, config).unwrap();
            (
                tool.annotations.unwrap().open_world_hint.unwrap(),
                tool.description.unwrap().contains("from the web"),
            )
        };
        assert_eq!(annotated(&config(&["gemini"]), SEARCH), (true, true));
        assert_eq!(annotated(&config(&[]), SEARCH), (false, false));
        assert_eq!(annotated(&config(&["gemini"]), DEEP_SEARCH), (false, false));
        assert!(named("levitate", &config(&[])).is_none());
    }

    #[test]
    fn the_input_of_deep_search_is_a_plain_object() {
        let schema = serde_json::to_value(&*schema::of::<DeepSearch>()).unwrap();
        for word in ["oneOf", "anyOf", "allOf", "required"] {
            assert!(schema.get(word).is_none(), "{word}: {schema:#}");
        }
        assert_eq!(schema["properties"]["max_iterations"]["minimum"], 2);
        assert_eq!(schema["properties"]["resume"]["type"], "string");
        assert_eq!(schema["properties"]["max_wait_seconds"]["maximum"], 86_400);
        let required = serde_json::to_value(&*schema::of::<Search>()).unwrap();
        assert_eq!(required["required"], Value::from(vec!["query"]));
    }
}
