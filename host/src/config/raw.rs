//! What one file says, each value with its place; and laying one file over
//! another: tables key by key, everything else replaced.

use std::collections::BTreeMap;

use super::layer::{Located, Place};
use super::resolved::{DirectoryGrant, HostGrant, PluginSource};

pub type Value<T> = Option<Located<T>>;
pub type List<T> = Option<Located<Vec<Located<T>>>>;
/// Limits by name, within their ranges.
pub type Numbers = BTreeMap<&'static str, Located<f64>>;

/// What is in a list; nothing, if there is none.
pub fn items<T>(list: Option<&Located<Vec<Located<T>>>>) -> &[Located<T>] {
    list.map_or(&[], |list| &list.value)
}

#[derive(Debug, Clone, Default)]
pub struct RawConfig {
    pub choice: RawUse,
    pub tools: BTreeMap<String, RawBackends>,
    pub documents: RawBackends,
    pub research: Numbers,
    pub budget: Numbers,
    pub notify: RawNotify,
    pub plugins: BTreeMap<String, RawPlugin>,
}

/// `[notify]`
#[derive(Debug, Clone, Default)]
pub struct RawNotify {
    pub desktop: Value<bool>,
    /// The program, and then its arguments.
    pub command: List<String>,
}

/// `[use]`
#[derive(Debug, Clone, Default)]
pub struct RawUse {
    pub strategy: Value<String>,
    pub extractor: Value<String>,
    pub estimator: Value<String>,
}

/// `[tools.NAME]`, and `[documents]`, which can take its place.
#[derive(Debug, Clone, Default)]
pub struct RawBackends {
    pub agent: Value<String>,
    pub search: Value<String>,
    pub pages: Value<String>,
    pub research: Value<String>,
}

/// `[plugins.NAME]`
#[derive(Debug, Clone)]
pub struct RawPlugin {
    pub place: Place,
    /// A mistake was found in it, so that what is missing may be there after all.
    pub broken: bool,
    pub source: Value<PluginSource>,
    pub sha256: Value<String>,
    pub settings: Value<Setting>,
    pub grants: RawGrants,
    pub limits: Numbers,
}

/// A setting is the plugin's own affair: any value that JSON has.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    Table(BTreeMap<String, Located<Setting>>),
    Array(Vec<Located<Setting>>),
    Leaf(serde_json::Value),
}

#[derive(Debug, Clone, Default)]
pub struct RawGrants {
    pub hosts: List<HostGrant>,
    pub commands: List<String>,
    pub environment: List<String>,
    pub directories: List<DirectoryGrant>,
    pub secrets: BTreeMap<String, RawSecret>,
    pub imports: List<String>,
}

#[derive(Debug, Clone)]
pub struct RawSecret {
    pub place: Place,
    pub host: Value<HostGrant>,
    pub header: Value<String>,
    pub prefix: Value<String>,
}

impl RawPlugin {
    pub fn new(place: Place) -> Self {
        Self {
            place,
            broken: false,
            source: None,
            sha256: None,
            settings: None,
            grants: RawGrants::default(),
            limits: BTreeMap::new(),
        }
    }
}

impl RawConfig {
    /// Lays `top` over this.
    pub fn overlay(&mut self, top: Self) {
        replace(&mut self.choice.strategy, top.choice.strategy);
        replace(&mut self.choice.extractor, top.choice.extractor);
        replace(&mut self.choice.estimator, top.choice.estimator);
        merge(&mut self.tools, top.tools, RawBackends::overlay);
        self.documents.overlay(top.documents);
        self.research.extend(top.research);
        self.budget.extend(top.budget);
        replace(&mut self.notify.desktop, top.notify.desktop);
        replace(&mut self.notify.command, top.notify.command);
        merge(&mut self.plugins, top.plugins, RawPlugin::overlay);
    }
}

impl RawBackends {
    /// Each with the key it stands under.
    pub fn entries(&self) -> [(&'static str, Option<&Located<String>>); 4] {
        [
            ("agent", self.agent.as_ref()),
            ("search", self.search.as_ref()),
            ("pages", self.pages.as_ref()),
            ("research", self.research.as_ref()),
        ]
    }

    /// Those that are named.
    pub fn named(&self) -> impl Iterator<Item = &Located<String>> {
        self.entries().into_iter().filter_map(|(_, name)| name)
    }

    fn overlay(&mut self, top: Self) {
        replace(&mut self.agent, top.agent);
        replace(&mut self.search, top.search);
        replace(&mut self.pages, top.pages);
        replace(&mut self.research, top.research);
    }
}

impl RawPlugin {
    fn overlay(&mut self, top: Self) {
        self.place = top.place;
        self.broken |= top.broken;
        // A digest belongs to the source beside it, not to one that comes later.
        if let (Some(old), Some(new)) = (&self.source, &top.source)
            && old.value != new.value
        {
            self.sha256 = None;
        }
        replace(&mut self.source, top.source);
        replace(&mut self.sha256, top.sha256);
        match (&mut self.settings, top.settings) {
            (Some(below), Some(above)) => Setting::overlay(below, above),
            (settings, above) => replace(settings, above),
        }
        let (below, above) = (&mut self.grants, top.grants);
        replace(&mut below.hosts, above.hosts);
        replace(&mut below.commands, above.commands);
        replace(&mut below.environment, above.environment);
        replace(&mut below.directories, above.directories);
        replace(&mut below.imports, above.imports);
        merge(&mut below.secrets, above.secrets, |below, above| {
            below.place = above.place;
            replace(&mut below.host, above.host);
            replace(&mut below.header, above.header);
            replace(&mut below.prefix, above.prefix);
        });
        self.limits.extend(top.limits);
    }
}

impl Setting {
    pub fn overlay(below: &mut Located<Self>, above: Located<Self>) {
        match (&mut below.value, above.value) {
            (Self::Table(below_table), Self::Table(above_table)) => {
                below.place = above.place;
                merge(below_table, above_table, Self::overlay);
            }
            (_, value) => *below = Located { value, place: above.place },
        }
    }

    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Table(table) => table
                .iter()
                .map(|(key, setting)| (key.clone(), setting.value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Self::Array(array) => array.iter().map(|setting| setting.value.to_json()).collect(),
            Self::Leaf(value) => value.clone(),
        }
    }
}

fn replace<T>(below: &mut Option<T>, above: Option<T>) {
    if above.is_some() {
        *below = above;
    }
}

fn merge<T>(
    below: &mut BTreeMap<String, T>,
    above: BTreeMap<String, T>,
    mut overlay: impl FnMut(&mut T, T),
) {
    for (key, value) in above {
        match below.get_mut(&key) {
            Some(old) => overlay(old, value),
            None => {
                below.insert(key, value);
            }
        }
    }
}
