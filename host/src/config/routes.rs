//! Which backends serve which tool. Where there are documents to search, the
//! defaults give way to `[documents]`; what a file of the user's says of a tool
//! stands, and so does a tool that has a research backend, which searches by itself.
//! Everything after this sees the outcome alone.

use std::collections::BTreeMap;

use super::layer::Place;
use super::raw::{RawBackends, RawConfig};

/// What serves one tool, and why.
pub struct Route<'a> {
    pub backends: &'a RawBackends,
    /// Where the directories are named because of which these are the backends of
    /// `[documents]`, and not the tool's own.
    pub documents: Option<Place>,
}

/// By the tool's name.
pub fn routes(config: &RawConfig) -> BTreeMap<&str, Route<'_>> {
    let documents = documents(config);
    let route = |own| match documents {
        Some(_) if is_left_to_defaults(own) => Route { backends: &config.documents, documents },
        _ => Route { backends: own, documents: None },
    };
    config.tools.iter().map(|(name, own)| (name.as_str(), route(own))).collect()
}

/// Where the documents are named that the backend of `[documents]` may read; none
/// if there are none.
fn documents(config: &RawConfig) -> Option<Place> {
    let plugin = config.plugins.get(&config.documents.search.as_ref()?.value)?;
    let directories = plugin.grants.directories.as_ref()?;
    (!directories.value.is_empty()).then_some(directories.place)
}

fn is_left_to_defaults(tool: &RawBackends) -> bool {
    tool.research.is_none() && tool.named().all(|name| name.place.is_built_in())
}
