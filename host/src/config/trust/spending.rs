//! What a file that was merely found may not make dearer: a larger budget, more
//! rounds, more attempts, more or longer runs of a command, or a backend that may cost
//! something where none such served before. Less of each is free.
//!
//! A backend may cost something if it may reach hosts or run commands. What
//! counts is what serves a tool in the end: a file that turns documents off sends
//! the questions to whatever is behind them.

use std::collections::BTreeMap;

use super::super::budget::BUDGET;
use super::super::layer::{Mistakes, Place};
use super::super::limits::{self, LIMITS, Limit};
use super::super::raw::{Numbers, RawBackends, RawConfig, RawPlugin, items};
use super::super::research::{CYCLES, MAX_ITERATIONS, RESEARCH};
use super::super::routes::{Route, routes};
use super::super::suggest::quoted;
use super::{Found, refuse, runs_commands};

/// The limits of a plugin that multiply what its commands spend.
const DEAR_LIMITS: &[&str] = &["concurrency", "timeout_seconds"];

pub fn check(found: &Found<'_>, mistakes: &mut Mistakes) {
    for name in [MAX_ITERATIONS, CYCLES] {
        if let Some((place, least)) =
            raised(RESEARCH, name, &found.says.research, &found.below.research)
        {
            refuse(mistakes, place, &format!("raise `research.{name}` above {least}"));
        }
    }
    for limit in BUDGET {
        let raised = raised(BUDGET, limit.name, &found.says.budget, &found.below.budget);
        if let Some((place, least)) = raised {
            refuse(mistakes, place, &format!("raise `budget.{}` above {least}", limit.name));
        }
    }
    for (name, plugin) in &found.says.plugins {
        let Some(below) = found.below.plugins.get(name).filter(|below| runs_commands(below)) else {
            continue;
        };
        for limit in DEAR_LIMITS {
            if let Some((place, least)) = raised(LIMITS, limit, &plugin.limits, &below.limits) {
                let deed = format!(
                    "raise `limits.{limit}` above {least} for `{name}`, which may run commands"
                );
                refuse(mistakes, place, &deed);
            }
        }
    }
    check_routes(found, mistakes);
}

/// Where it is raised, and above what.
fn raised<T: Default>(
    table: &'static [Limit<T>],
    name: &str,
    found: &Numbers,
    below: &Numbers,
) -> Option<(Place, f64)> {
    let limit = limits::find(table, name)?;
    let least = (limit.get)(&limits::resolve(table, below));
    let found = found.get(name)?;
    (found.value > least).then_some((found.place, least))
}

fn check_routes(found: &Found<'_>, mistakes: &mut Mistakes) {
    let Found { below, before, after, .. } = found;
    let mut refused = Vec::new();
    for name in newly_dear(&after.documents, &below.documents, below) {
        if let Some(place) = place_of(&found.says.documents, name) {
            refused.push((place, name));
            refuse(mistakes, place, &format!("route documents to `{name}`, {MAY_COST}"));
        }
    }
    // One line can turn several tools: it is refused once.
    let mut turned: BTreeMap<(usize, &str), (Place, Vec<&str>)> = BTreeMap::new();
    let before = routes(before);
    let nothing = RawBackends::default();
    for (tool, route) in routes(after) {
        let served = before.get(tool).map_or(&nothing, |route| route.backends);
        for name in newly_dear(route.backends, served, below) {
            let Some(place) = cause(found, tool, &route, name) else { continue };
            if !refused.contains(&(place, name)) {
                turned.entry((place.start, name)).or_insert((place, Vec::new())).1.push(tool);
            }
        }
    }
    for ((_, name), (place, tools)) in turned {
        let tools = quoted(tools);
        refuse(mistakes, place, &format!("route {tools} to `{name}`, {MAY_COST}"));
    }
}

const MAY_COST: &str = "which may cost something";

/// The plugins that may cost something, and did not serve before.
fn newly_dear<'a>(
    now: &'a RawBackends,
    before: &'a RawBackends,
    below: &'a RawConfig,
) -> impl Iterator<Item = &'a str> {
    now.named()
        .map(|name| name.value.as_str())
        .filter(|name| below.plugins.get(*name).is_some_and(may_cost))
        .filter(|name| !before.named().any(|served| served.value == **name))
}

/// What it may reach is what the layers below grant: more is refused by itself.
fn may_cost(plugin: &RawPlugin) -> bool {
    runs_commands(plugin) || !items(plugin.grants.hosts.as_ref()).is_empty()
}

fn place_of(backends: &RawBackends, name: &str) -> Option<Place> {
    backends.named().find(|named| named.value == name).map(|named| named.place)
}

/// What in the file makes `name` serve the tool: its line, or else one that turns
/// the tool, or the documents, away from what served before.
fn cause(found: &Found<'_>, tool: &str, route: &Route<'_>, name: &str) -> Option<Place> {
    let says = found.says;
    let own = says.tools.get(tool).filter(|_| route.documents.is_none());
    let any = |backends: &RawBackends| backends.named().next().map(|named| named.place);
    let directories = || {
        let search = found.after.documents.search.as_ref()?;
        let plugin = says.plugins.get(&search.value)?;
        plugin.grants.directories.as_ref().map(|directories| directories.place)
    };
    own.and_then(|own| place_of(own, name).or_else(|| any(own)))
        .or_else(|| place_of(&says.documents, name))
        .or_else(|| says.documents.search.as_ref().map(|search| search.place))
        .or_else(directories)
}
