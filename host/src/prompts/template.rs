//! One template: read, checked before anything depends on it, and filled. It has
//! the variables of its prompt, conditions and loops, and nothing else: no files,
//! no other templates, no filters that could take a fence apart, and no way to run
//! without end. Values are never read as templates.

use std::ops::Range;
use std::path::PathBuf;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, ErrorKind, UndefinedBehavior};

use super::Prompt;
use super::tags::{find_name, tags};
use super::values::{Filled, Values, Variable};
use crate::config::layer::{Layer, Layers, Place};
use crate::config::suggest::{quoted, suggestion};
use crate::config::{ConfigError, Origin, Problem};

/// Far more steps than an honest prompt takes.
const FUEL: u64 = 100_000;

/// The tags that a prompt may have.
const TAGS: &[&str] = &["if", "elif", "else", "for", "set", "with", "raw"];

#[derive(Debug, Clone)]
pub struct Template {
    prompt: Prompt,
    /// As shown.
    place: String,
    text: String,
}

impl Template {
    pub fn built_in(prompt: Prompt) -> Self {
        Self { prompt, place: prompt.file_name().to_owned(), text: prompt.built_in().to_owned() }
    }

    /// Checks all that can be known beforehand.
    pub fn new(prompt: Prompt, place: String, text: String) -> Result<Self, ConfigError> {
        let template = Self { prompt, place, text };
        let problems = template.problems();
        if problems.is_empty() { Ok(template) } else { Err(ConfigError { problems }) }
    }

    pub fn render(&self, values: &Values<'_>) -> Result<String, ConfigError> {
        self.fill(&Filled::new(self.prompt, &self.text, values))
    }

    /// What is allowed, and yet hardly meant.
    pub fn warning(&self) -> Option<Problem> {
        let tells = |form: &str| self.text.contains(form);
        let shown = find_name(&self.text, Variable::Example.name()).is_some();
        (!shown && !tells("\"report\"")).then(|| {
            Problem::new("this prompt does not tell the model in which form to answer")
                .at(Origin::of(&self.place))
                .with_hint("write `{{ example }}` in a fenced json block, and ask for exactly that")
        })
    }

    fn fill(&self, filled: &Filled) -> Result<String, ConfigError> {
        let environment = environment();
        let rendered = environment
            .template_from_named_str(&self.place, &self.text)
            .and_then(|template| template.render(filled.context()))
            .map_err(|error| self.problem(&error))?;
        Ok(filled.fence().on_own_lines(&rendered).map_err(|_| {
            Problem::new("this prompt takes a value apart")
                .at(Origin::of(&self.place))
                .with_hint("write a value as it is, such as `{{ query }}`")
        })?)
    }

    fn problems(&self) -> Vec<Problem> {
        let forbidden = self.forbidden_tags();
        if !forbidden.is_empty() {
            return forbidden;
        }
        let environment = environment();
        let said = match environment.template_from_named_str(&self.place, &self.text) {
            Ok(template) => template.undeclared_variables(false),
            Err(error) => return vec![self.problem(&error)],
        };
        let names = || self.prompt.variables().iter().map(|variable| variable.name());
        let mut unknown: Vec<(Option<Range<usize>>, &String)> = said
            .iter()
            .filter(|name| !names().any(|known| known == *name))
            .map(|name| (find_name(&self.text, name), name))
            .collect();
        unknown.sort_by_key(|(range, name)| (range.as_ref().map(|range| range.start), *name));
        if !unknown.is_empty() {
            let hint = |name: &str| suggestion(name, names(), "variables of this prompt");
            return unknown
                .into_iter()
                .map(|(range, name)| {
                    Problem::new(format!("unknown variable `{name}`"))
                        .at(self.origin(range))
                        .with_hint(hint(name))
                })
                .collect();
        }
        let missing: Vec<Problem> = self
            .prompt
            .required()
            .iter()
            .map(|variable| variable.name())
            .filter(|name| find_name(&self.text, name).is_none())
            .map(|name| {
                Problem::new(format!("this prompt does not say `{{{{ {name} }}}}`"))
                    .at(Origin::of(&self.place))
                    .with_hint(format!("write `{{{{ {name} }}}}` where it belongs"))
            })
            .collect();
        if missing.is_empty() { self.trial() } else { missing }
    }

    fn forbidden_tags(&self) -> Vec<Problem> {
        let words = tags(&self.text).into_iter().filter_map(|tag| tag.word);
        words
            // An end without its beginning is found when the template is read.
            .filter(|(word, _)| !word.is_empty() && !TAGS.contains(word))
            .filter(|(word, _)| !word.starts_with("end"))
            .map(|(word, range)| {
                let problem = match word {
                    "include" | "import" | "from" | "extends" => {
                        Problem::new(format!("a prompt cannot use other files: `{word}`"))
                            .with_hint("write all of its text into this one file")
                    }
                    _ => Problem::new(format!("unknown tag `{word}`"))
                        .with_hint(format!("a prompt may have {}", quoted(TAGS.iter().copied()))),
                };
                problem.at(self.origin(Some(range)))
            })
            .collect()
    }

    /// Fills it as the rounds will, with everything that may be missing there and
    /// missing; the first mistake ends it.
    fn trial(&self) -> Vec<Problem> {
        let sources = ["https://example.com/".to_owned()];
        let full = Values {
            query: "What is asked?",
            context: Some("What is known."),
            result: "# Report\n",
            sources: &sources,
            round: 1,
            max_rounds: 5,
            date: "2026-01-01",
            example: None,
            file: "/directory/temp-invalid-output-1.txt",
            problem: "there is no JSON in the text",
        };
        let bare = Values { context: None, sources: &[], date: "", problem: "", ..full };
        let (late, last) = (Values { round: 2, ..bare }, Values { round: 5, ..full });
        for values in [full, bare, late, last] {
            let filled = Filled::new(self.prompt, &self.text, &values);
            let rendered = match self.fill(&filled) {
                Ok(rendered) => rendered,
                Err(error) => return error.problems,
            };
            let shows = |variable: Variable| rendered.contains(&filled.sign(variable));
            if let Some(absent) = self.prompt.required().iter().find(|known| !shows(**known)) {
                let name = absent.name();
                let problem = Problem::new(format!("this prompt does not always show `{name}`"))
                    .at(self.origin(find_name(&self.text, name)))
                    .with_hint(format!(
                        "write `{{{{ {name} }}}}` as it is, and outside of conditions"
                    ));
                return vec![problem];
            }
        }
        Vec::new()
    }

    fn problem(&self, error: &minijinja::Error) -> Problem {
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let (message, hint) = match error.kind() {
            ErrorKind::SyntaxError | ErrorKind::BadEscape => (
                format!("the template cannot be read: {detail}"),
                "braces that are meant as text stand between `{% raw %}` and `{% endraw %}`",
            ),
            ErrorKind::UnknownFilter => (detail, "a prompt has no filters: write `{{ query }}`"),
            ErrorKind::UnknownTest => {
                (detail, "ask whether a value is there with `{% if context %}`")
            }
            ErrorKind::UnknownFunction | ErrorKind::UnknownMethod => {
                (detail, "a prompt has variables, but no functions")
            }
            ErrorKind::OutOfFuel => {
                ("the template does not come to an end".to_owned(), "take out the loop")
            }
            kind => (
                format!(
                    "the template cannot be filled: {kind}{}",
                    error.detail().map_or_else(String::new, |detail| format!(": {detail}"))
                ),
                "write a value as it is, such as `{{ query }}`",
            ),
        };
        Problem::new(message).at(self.origin(self.range(error))).with_hint(hint)
    }

    fn range(&self, error: &minijinja::Error) -> Option<Range<usize>> {
        let of_line = |line: usize| {
            let start: usize = self.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
            let length = self.text[start..].lines().next().unwrap_or_default().len();
            start..start + length
        };
        error.range().or_else(|| error.line().map(of_line))
    }

    fn origin(&self, range: Option<Range<usize>>) -> Origin {
        let Some(range) = range else { return Origin::of(&self.place) };
        let mut layers = Layers::default();
        let layer = layers.push(Layer {
            place: self.place.clone(),
            text: self.text.clone(),
            directory: PathBuf::new(),
        });
        layers.origin(Place { layer, start: range.start, end: range.end })
    }
}

fn environment() -> Environment<'static> {
    // Empty: no filters, tests, functions, loader or escaping.
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    // Without it an error does not tell where.
    environment.set_debug(true);
    // A line that holds nothing but a tag leaves no empty line behind.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual marks are no surprise"));
    environment
}
