//! What usage costs, by the name of the model: list prices with a date, which are
//! built in, and over which the user's own are laid. Knows the contract's `Usage`
//! and no plugin, gate or store; reads one file at start, and nothing later.
//!
//! ```text
//! table  what a price file says: read, checked, laid over another
//! ```

mod table;

use std::path::Path;

use crate::config::ConfigError;
use crate::plugins::contract::Usage;
use table::{Entry, Table};

/// The file's name in the configuration directory.
pub const FILE_NAME: &str = "prices.toml";

/// The names in a usage's `extra` for the input tokens that came from a cache.
const CACHED: &[&str] = &["cached_tokens", "cached_input_tokens"];

const MILLION: f64 = 1e6;
const THOUSAND: f64 = 1e3;

/// All prices, checked.
#[derive(Debug, Clone)]
pub struct Prices {
    table: Table,
}

impl Prices {
    /// The built-in ones alone.
    pub fn built_in() -> Self {
        Self { table: Table::built_in() }
    }

    /// The user's own, where there are any, laid over the built-in ones.
    pub fn load(config_directory: &Path) -> Result<Self, ConfigError> {
        let mut table = Table::built_in();
        if let Some(own) = Table::read(&config_directory.join(FILE_NAME), &table)? {
            table.lay_over(own);
        }
        Ok(Self { table })
    }

    /// What this costs, in US dollars; none where the model's prices are not known,
    /// and where nothing was counted, because nothing is then known either.
    pub fn price(&self, model: &str, usage: &Usage) -> Option<f64> {
        let nothing = usage.input_tokens == 0 && usage.output_tokens == 0 && usage.searches == 0;
        if nothing {
            return None;
        }
        // A billionth of a dollar is exact enough, and reads as money.
        Some((cost(&self.find(model)?, usage) * 1e9).round() / 1e9)
    }

    /// What the vendor says that a run of this research agent takes, in US dollars.
    pub fn typical(&self, model: &str) -> Option<f64> {
        let entry = self.find(model)?;
        let usage = Usage::from(entry.typical.as_ref()?);
        Some(cost(&entry, &usage))
    }

    /// The day of the prices, such as `2026-10-31`.
    pub fn date(&self) -> &str {
        &self.table.date
    }

    /// The entry of this very name, or else the longest that it is a version of.
    fn find(&self, model: &str) -> Option<Entry> {
        // `models/…`, `publishers/google/models/…`
        let name = model.rsplit('/').next().unwrap_or(model).trim().to_ascii_lowercase();
        let mut known = &*name;
        loop {
            if self.table.models.contains_key(known) {
                return self.table.complete(known);
            }
            known = &known[..known.rfind(['-', '@', ':', '_'])?];
        }
    }
}

/// Never less than nothing, whatever is counted.
fn cost(entry: &Entry, usage: &Usage) -> f64 {
    let input_price = entry.input.unwrap_or_default();
    let cached_price = entry.cached_input.unwrap_or(input_price);
    let cached = cached_tokens(usage).min(usage.input_tokens);
    let tokens = (usage.input_tokens - cached) as f64 * input_price
        + cached as f64 * cached_price
        + usage.output_tokens as f64 * entry.output.unwrap_or_default();
    let searches = f64::from(usage.searches) * entry.searches.unwrap_or_default();
    tokens / MILLION + searches / THOUSAND
}

fn cached_tokens(usage: &Usage) -> u64 {
    let named = |wanted: &&str| {
        let (_, count) = usage.extra.iter().find(|(name, _)| name == wanted)?;
        count.trim().parse().ok()
    };
    CACHED.iter().find_map(named).unwrap_or(0)
}

impl From<&table::Typical> for Usage {
    fn from(typical: &table::Typical) -> Self {
        Self {
            input_tokens: typical.input_tokens,
            output_tokens: typical.output_tokens,
            searches: typical.searches,
            extra: vec![(CACHED[0].to_owned(), typical.cached_tokens.to_string())],
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
