//! The tools as clients see them: names, titles, descriptions, schemas.

use rmcp::model::{Tool, ToolAnnotations};

use super::answer::Answer;
use super::arguments::{DeepSearch, Search};
use super::schema;

pub const SEARCH: &str = "search";
pub const DEEP_SEARCH: &str = "deep_search";

/// Told to the client at the start.
pub const INSTRUCTIONS: &str = "Bathysphere researches questions and returns cited reports. Use \
    `search` for one quick look and `deep_search` when a single look may not be enough. Every \
    finding names the file and lines, or the page, it rests on: cite those. When the sources hold \
    no answer the report says so; do not fill the gap from memory.";

pub fn all() -> Vec<Tool> {
    vec![
        tool(
            SEARCH,
            "Search",
            "Answers a question from the configured sources (by default the user's own documents) \
             in one round, usually within a second.\n\n\
             Use it for: a fact, a definition, where something is described, how something is done \
             here.\n\
             Do not use it for: questions with several parts or that need comparing sources \
             (use deep_search), or for what is already in this conversation.\n\n\
             Returns: a short Markdown report of findings, each quoting its source with file and \
             line, and the list of sources looked at, best first. Says so when the sources hold \
             no answer.",
            schema::of::<Search>(),
        ),
        tool(
            DEEP_SEARCH,
            "Deep search",
            "Researches a question in several rounds over the configured sources (by default the \
             user's own documents): searches, reads, judges what is still missing, searches for \
             that, and stops when more effort stops helping.\n\n\
             Use it for: questions with several parts, explanations, comparisons, anything where \
             one search may miss half of the answer.\n\
             Do not use it for: a single fact (search is quicker).\n\n\
             Returns: a Markdown report of findings, each quoting its source with file and line, \
             what was searched in each round, and why the research ended. Sends progress while it \
             runs; can be cancelled, and keeps what it has found.",
            schema::of::<DeepSearch>(),
        ),
    ]
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    input: std::sync::Arc<rmcp::model::JsonObject>,
) -> Tool {
    Tool::new(name, description, input)
        .with_title(title)
        .with_raw_output_schema(schema::of::<Answer>())
        .with_annotations(
            // Nothing of the user's is changed, and nothing is reached beyond
            // what is configured.
            ToolAnnotations::with_title(title)
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        )
}
