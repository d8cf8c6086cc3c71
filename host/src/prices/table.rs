//! What a price file says: read, checked, and laid over another. A mistake is told
//! with the line it stands in and what would be right.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

use crate::config::layer::{Layer, Layers, Place};
use crate::config::suggest::suggestion;
use crate::config::{ConfigError, Origin, Problem};

const BUILT_IN: &str = include_str!("prices.toml");

/// More is no price list; a wrong name should not fill the memory.
const MAXIMUM_BYTES: u64 = 256 * 1024;

/// No model costs as much for a million tokens: more is a slip of the pen.
const HIGHEST_PRICE: f64 = 100_000.0;

/// `like` may point to an entry that says `like`, so far.
const LONGEST_CHAIN: usize = 8;

const KEYS: &[&str] = &["input", "cached_input", "output", "searches", "like", "typical"];

#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Such as `2026-10-31`.
    pub date: String,
    /// By name.
    pub models: BTreeMap<String, Entry>,
}

/// What a file says of one model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entry {
    pub input: Option<f64>,
    pub cached_input: Option<f64>,
    pub output: Option<f64>,
    pub searches: Option<f64>,
    pub like: Option<String>,
    pub typical: Option<Typical>,
}

/// What a run of a research agent takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typical {
    pub input_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub searches: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    date: Option<Datetime>,
    #[serde(default)]
    models: BTreeMap<Spanned<String>, RawEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    input: Option<Spanned<f64>>,
    cached_input: Option<Spanned<f64>>,
    output: Option<Spanned<f64>>,
    searches: Option<Spanned<f64>>,
    like: Option<Spanned<String>>,
    typical: Option<Typical>,
}

impl Table {
    pub fn built_in() -> Self {
        let text = PriceText { place: "built-in prices".to_owned(), text: BUILT_IN.to_owned() };
        text.table(&Self::default()).expect("the built-in prices are sound")
    }

    /// The user's file; none where there is none. `below` is what it will be laid
    /// over.
    pub fn read(path: &Path, below: &Self) -> Result<Option<Self>, ConfigError> {
        let place = path.display().to_string();
        let bytes = match read_file(path) {
            Ok(bytes) => bytes,
            // No file, or no directory to have one in.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => {
                return Err(Problem::new(format!("{place} cannot be read: {error}"))
                    .with_hint("mend it, or remove it to have the built-in prices")
                    .into());
            }
        };
        let text = String::from_utf8(bytes).map_err(|_| {
            Problem::new("this is not UTF-8 text")
                .at(Origin::of(&place))
                .with_hint("save the file as UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        PriceText { place, text }.table(below).map(Some)
    }

    pub fn lay_over(&mut self, own: Self) {
        if !own.date.is_empty() {
            self.date = own.date;
        }
        for (name, entry) in own.models {
            let below = self.models.remove(&name);
            self.models.insert(name, entry.over(below));
        }
    }

    /// An entry with what it takes from others; none where there is none.
    pub fn complete(&self, name: &str) -> Option<Entry> {
        let mut entry = self.models.get(name)?.clone();
        for _ in 0..LONGEST_CHAIN {
            let Some(like) = entry.like.take() else { break };
            let other = self.models.get(&like)?.clone();
            // What a run takes is the agent's own.
            let typical = entry.typical.take();
            entry = Entry { typical, ..entry.over(Some(other)) };
        }
        Some(entry)
    }
}

impl Entry {
    fn over(self, below: Option<Self>) -> Self {
        let below = below.unwrap_or_default();
        Self {
            input: self.input.or(below.input),
            cached_input: self.cached_input.or(below.cached_input),
            output: self.output.or(below.output),
            searches: self.searches.or(below.searches),
            like: self.like.or(below.like),
            typical: self.typical.or(below.typical),
        }
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = path.metadata()?;
    // A pipe would keep us waiting for ever.
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAXIMUM_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAXIMUM_BYTES {
        return Err(io::Error::other("it is larger than 256 KiB"));
    }
    Ok(bytes)
}

/// A file's text and what it is called.
struct PriceText {
    place: String,
    text: String,
}

impl PriceText {
    fn table(&self, below: &Table) -> Result<Table, ConfigError> {
        let raw: RawTable = toml::from_str(&self.text).map_err(|error| self.unreadable(&error))?;
        let mut table = Table {
            date: raw.date.map(|date| date.to_string()).unwrap_or_default(),
            models: BTreeMap::new(),
        };
        let mut problems = Vec::new();
        let mut wrong = |span: Range<usize>, message: String, hint: String| {
            problems.push(Problem::new(message).at(self.origin(span)).with_hint(hint));
        };
        let mut said = Vec::new();
        for (name, entry) in raw.models {
            let span = name.span();
            let name = name.into_inner().to_ascii_lowercase();
            for (key, price) in [
                ("input", &entry.input),
                ("cached_input", &entry.cached_input),
                ("output", &entry.output),
                ("searches", &entry.searches),
            ] {
                let Some(price) = price else { continue };
                if !(0.0..=HIGHEST_PRICE).contains(price.get_ref()) {
                    wrong(
                        price.span(),
                        format!("the price `{key}` of `{name}` cannot be {}", price.get_ref()),
                        format!("write US dollars, from 0 to {HIGHEST_PRICE}"),
                    );
                }
            }
            let like = entry.like.as_ref().map(|like| (like.span(), like.get_ref().clone()));
            said.push((name.clone(), span, like));
            let value = |price: Option<Spanned<f64>>| price.map(Spanned::into_inner);
            let entry = Entry {
                input: value(entry.input),
                cached_input: value(entry.cached_input),
                output: value(entry.output),
                searches: value(entry.searches),
                like: entry.like.map(|like| like.into_inner().to_ascii_lowercase()),
                typical: entry.typical,
            };
            table.models.insert(name, entry);
        }
        // What is meant depends on what lies below.
        let mut merged = below.clone();
        merged.lay_over(table.clone());
        for (name, span, like) in said {
            if let Some((span, like)) = like
                && !merged.models.contains_key(&like.to_ascii_lowercase())
            {
                let known = merged.models.keys().map(String::as_str);
                wrong(
                    span,
                    format!("there are no prices of `{like}`"),
                    suggestion(&like, known, "models with prices"),
                );
                continue;
            }
            let entry = merged.complete(&name).unwrap_or_default();
            if entry.like.is_some() {
                wrong(
                    span,
                    format!("`{name}` is priced like itself in the end"),
                    "give `input` and `output`, or name a model that has them".to_owned(),
                );
            } else if entry.input.is_none() || entry.output.is_none() {
                wrong(
                    span,
                    format!("the prices of `{name}` are not complete"),
                    "give `input` and `output`, or `like` with the name of another model"
                        .to_owned(),
                );
            }
        }
        if problems.is_empty() { Ok(table) } else { Err(ConfigError { problems }) }
    }

    fn unreadable(&self, error: &toml::de::Error) -> Problem {
        let span = error.span().unwrap_or(0..0);
        let found = self.text.get(span.clone()).unwrap_or_default();
        let message = error.message().lines().next().unwrap_or_default();
        let problem = if message.starts_with("unknown field") {
            let known: &[&str] =
                if message.contains("cached_input") { KEYS } else { &["date", "models"] };
            let known = if message.contains("`input_tokens`") { TYPICAL_KEYS } else { known };
            Problem::new(format!("unknown key `{}`", found.trim())).with_hint(suggestion(
                found.trim(),
                known.iter().copied(),
                "keys here",
            ))
        } else {
            let hint = if message.contains("datetime") {
                "write the day without quotes, such as 2026-10-31"
            } else if message.contains("f64") {
                "write US dollars as a number, such as 2.00"
            } else {
                "write [models.\"NAME\"] with `input` and `output` in US dollars for a million \
                 tokens, such as `input = 2.00`"
            };
            Problem::new(format!("this price file cannot be read: {message}")).with_hint(hint)
        };
        problem.at(self.origin(span))
    }

    fn origin(&self, span: Range<usize>) -> Origin {
        let mut layers = Layers::default();
        let layer = layers.push(Layer {
            place: self.place.clone(),
            text: self.text.clone(),
            directory: PathBuf::new(),
        });
        layers.origin(Place { layer, start: span.start, end: span.end })
    }
}

const TYPICAL_KEYS: &[&str] = &["input_tokens", "cached_tokens", "output_tokens", "searches"];
