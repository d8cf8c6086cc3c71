//! From text to `raw`: shapes, types and ranges, with every mistake at its place.
//! It looks at one file alone, and touches nothing that the file names.

mod notify;
mod numbers;
mod plugin;
mod settings;
mod values;

pub use values::{expand_home, tidy, with_slash};

use std::path::Path;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::TOOLS;
use super::budget::BUDGET;
use super::layer::{Layers, Located, Mistakes, Place};
use super::raw::{List, RawBackends, RawConfig, RawUse, Value};
use super::research::RESEARCH;
use super::suggest::suggestion;

/// A value that does not do, and what would.
pub struct Wrong {
    pub message: String,
    pub hint: String,
}

impl Wrong {
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// What the meaning of a file depends on beside its text.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub working_directory: &'a Path,
    pub home: Option<&'a Path>,
    pub builtins: &'a [&'a str],
}

type Item<'t> = Spanned<DeValue<'t>>;
type Key<'t> = Spanned<DeString<'t>>;

/// Reads one layer. None if it is not TOML at all; what is wrong goes to
/// `mistakes`.
pub fn read(
    layers: &Layers,
    layer: usize,
    surroundings: Surroundings<'_>,
    mistakes: &mut Mistakes,
) -> Option<RawConfig> {
    let text = layers.get(layer).text.as_str();
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        syntax_mistakes(text, layer, &errors, mistakes);
        return None;
    }
    let mut reader =
        Reader { directory: &layers.get(layer).directory, layer, surroundings, mistakes };
    Some(reader.document(document.get_ref()))
}

fn syntax_mistakes(text: &str, layer: usize, errors: &[toml::de::Error], mistakes: &mut Mistakes) {
    let mut last_line = None;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let place = Place { layer, start: span.start, end: span.end };
        // One slip makes several errors; the first in a line is the true one.
        let line = text.get(..span.start).map(|before| before.matches('\n').count());
        if last_line == Some(line) {
            continue;
        }
        last_line = Some(line);
        match error.message() {
            "duplicate key" => mistakes.add(
                place,
                format!("`{}` is given twice", text.get(span).unwrap_or_default().trim()),
                "leave one of the two out",
            ),
            message => {
                let found = text.get(span).unwrap_or_default();
                let message = format!("this is not valid TOML: {message}");
                match syntax_hint(&message, found) {
                    Some(hint) => mistakes.add(place, message, hint),
                    None => mistakes.add_plain(place, message),
                }
            }
        }
    }
}

/// The parser knows what it wanted; people more often need to know what to type.
fn syntax_hint(message: &str, found: &str) -> Option<String> {
    if message.contains("string values must be quoted") {
        Some(format!("put it in quotes: \"{found}\""))
    } else if message.contains("string") {
        Some("close the string with the mark that opened it, on the same line".to_owned())
    } else if message.contains("unclosed table") {
        Some("close the table's name with `]`".to_owned())
    } else if message.contains("unclosed array") {
        Some("close the array with `]`".to_owned())
    } else if message.contains("unclosed inline table") {
        Some("close the table with `}`".to_owned())
    } else {
        None
    }
}

struct Reader<'a> {
    directory: &'a Path,
    layer: usize,
    surroundings: Surroundings<'a>,
    mistakes: &'a mut Mistakes,
}

impl Reader<'_> {
    fn document(&mut self, table: &DeTable<'_>) -> RawConfig {
        let mut config = RawConfig::default();
        for (key, item) in table {
            match key.get_ref().as_ref() {
                "use" => config.choice = self.choice(key, item),
                "tools" => {
                    for (name, item) in self.entries("tools", key, item) {
                        let tool = self.tool(name, item);
                        config.tools.extend(tool.map(|tool| (name.get_ref().to_string(), tool)));
                    }
                }
                "documents" => config.documents = self.backends("documents", key, item),
                "research" => config.research = self.numbers("research", key, item, RESEARCH),
                "budget" => config.budget = self.numbers("budget", key, item, BUDGET),
                "notify" => config.notify = self.notify(key, item),
                "plugins" => {
                    for (name, item) in self.entries("plugins", key, item) {
                        let plugin = self.plugin(name, item);
                        config.plugins.insert(name.get_ref().to_string(), plugin);
                    }
                }
                _ => self.unknown(
                    key,
                    "at the top of the file",
                    &["use", "tools", "documents", "research", "budget", "notify", "plugins"],
                ),
            }
        }
        config
    }

    fn choice(&mut self, key: &Key<'_>, item: &Item<'_>) -> RawUse {
        let mut choice = RawUse::default();
        for (key, item) in self.entries("use", key, item) {
            match key.get_ref().as_ref() {
                "strategy" => choice.strategy = self.string("use.strategy", item),
                "extractor" => choice.extractor = self.string("use.extractor", item),
                "estimator" => choice.estimator = self.string("use.estimator", item),
                _ => self.unknown(key, "in [use]", &["strategy", "extractor", "estimator"]),
            }
        }
        choice
    }

    fn tool(&mut self, name: &Key<'_>, item: &Item<'_>) -> Option<RawBackends> {
        let tool_name = name.get_ref().as_ref();
        if !TOOLS.contains(&tool_name) {
            let hint = suggestion(tool_name, TOOLS.iter().copied(), "tools");
            self.mistakes.add(
                self.key_place(name),
                format!("there is no tool `{tool_name}`"),
                hint,
            );
            return None;
        }
        Some(self.backends(&format!("tools.{tool_name}"), name, item))
    }

    fn backends(&mut self, path: &str, key: &Key<'_>, item: &Item<'_>) -> RawBackends {
        let mut backends = RawBackends::default();
        for (key, item) in self.entries(path, key, item) {
            let key_name = key.get_ref().as_ref();
            let backend = match key_name {
                "agent" => &mut backends.agent,
                "search" => &mut backends.search,
                "pages" => &mut backends.pages,
                "research" => &mut backends.research,
                _ => {
                    let known = ["agent", "search", "pages", "research"];
                    self.unknown(key, &format!("in [{path}]"), &known);
                    continue;
                }
            };
            *backend = self.string(&format!("{path}.{key_name}"), item);
        }
        backends
    }

    fn place(&self, item: &Item<'_>) -> Place {
        let span = item.span();
        Place { layer: self.layer, start: span.start, end: span.end }
    }

    fn key_place(&self, key: &Key<'_>) -> Place {
        let span = key.span();
        Place { layer: self.layer, start: span.start, end: span.end }
    }

    fn located<T>(&self, item: &Item<'_>, value: T) -> Located<T> {
        Located { value, place: self.place(item) }
    }

    fn unknown(&mut self, key: &Key<'_>, whereabouts: &str, known: &[&str]) {
        let name = key.get_ref();
        let hint = suggestion(name, known.iter().copied(), "keys here");
        let place = self.key_place(key);
        self.mistakes.add(place, format!("unknown key `{name}` {whereabouts}"), hint);
    }

    fn wrong_type(&mut self, path: &str, expected: &str, item: &Item<'_>, hint: &str) {
        let found = match item.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        let place = self.place(item);
        self.mistakes.add(place, format!("`{path}` must be {expected}, not {found}"), hint);
    }

    /// The entries of a table; none, and a mistake, if it is something else.
    fn entries<'t, 'i>(
        &mut self,
        path: &str,
        key: &Key<'_>,
        item: &'t Item<'i>,
    ) -> Vec<(&'t Key<'i>, &'t Item<'i>)> {
        if let DeValue::Table(table) = item.get_ref() {
            return table.iter().collect();
        }
        let hint = match item.get_ref() {
            DeValue::Array(_) => format!("write [{path}] with single brackets"),
            _ => format!("write a table: [{path}], and the keys of `{}` below it", key.get_ref()),
        };
        self.wrong_type(path, "a table", item, &hint);
        Vec::new()
    }

    fn string(&mut self, path: &str, item: &Item<'_>) -> Value<String> {
        self.parsed(path, item, |_, text| Ok(text.to_owned()))
    }

    /// A string that means something.
    fn parsed<T>(
        &mut self,
        path: &str,
        item: &Item<'_>,
        parse: impl Fn(&Self, &str) -> Result<T, Wrong>,
    ) -> Value<T> {
        let DeValue::String(text) = item.get_ref() else {
            let hint = match item.get_ref() {
                DeValue::Table(_) | DeValue::Array(_) => "write one string, in quotes".to_owned(),
                _ => format!("put it in quotes: \"{}\"", shown(item)),
            };
            self.wrong_type(path, "a string", item, &hint);
            return None;
        };
        match parse(self, text) {
            Ok(value) => Some(self.located(item, value)),
            Err(wrong) => {
                self.mistakes.add(
                    self.place(item),
                    format!("`{path}`: {}", wrong.message),
                    wrong.hint,
                );
                None
            }
        }
    }

    /// An array of strings that mean something; all wrong ones are reported.
    fn list<T>(
        &mut self,
        path: &str,
        item: &Item<'_>,
        parse: impl Fn(&Self, &str) -> Result<T, Wrong>,
    ) -> List<T> {
        let DeValue::Array(array) = item.get_ref() else {
            let hint = match item.get_ref() {
                DeValue::String(text) => format!("put it in brackets: [\"{text}\"]"),
                _ => "write an array of strings, such as [\"one\", \"two\"]".to_owned(),
            };
            self.wrong_type(path, "an array of strings", item, &hint);
            return None;
        };
        let mut values = Vec::with_capacity(array.len());
        let mut complete = true;
        for (index, element) in array.iter().enumerate() {
            match self.parsed(&format!("{path}[{index}]"), element, &parse) {
                Some(value) => values.push(value),
                None => complete = false,
            }
        }
        complete.then(|| self.located(item, values))
    }
}

/// A scalar as it was written.
fn shown(item: &Item<'_>) -> String {
    match item.get_ref() {
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(boolean) => boolean.to_string(),
        DeValue::Datetime(datetime) => datetime.to_string(),
        other => other.type_str().to_owned(),
    }
}
