//! The templates of reports that are kept: built in, and each replaced by a file of
//! the same name in `templates/` of the user's configuration directory. They are
//! read when a report is made, and a mistake in one is told with its line; a report
//! never comes out half filled.
//!
//! What a template is given has been made safe before: Markdown that stays in its
//! place, and text that is escaped where the page is HTML.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};

use crate::config::layer::{Layer, Layers, Place};
use crate::config::suggest::suggestion;
use crate::config::{ConfigError, Origin, Problem};
use crate::prompts::tags::{find_name, tags};
use crate::prompts::{read_file, text_of};

/// In the configuration directory.
const DIRECTORY: &str = "templates";

/// Far more steps than a report of thousands of sources takes.
const FUEL: u64 = 2_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file of the library.
    Markdown,
    /// A page.
    Html,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Markdown, Self::Html];

    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Markdown => "research_report.md",
            Self::Html => "report.html",
        }
    }

    const fn built_in(self) -> &'static str {
        match self {
            Self::Markdown => include_str!("../../../templates/research_report.md"),
            Self::Html => include_str!("../../../templates/report.html"),
        }
    }

    /// What the template may say.
    const fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Markdown => &[
                "front_matter",
                "task",
                "title",
                "question",
                "notices",
                "answer",
                "findings",
                "looked_through",
                "advice",
                "sources",
                "visited",
                "visited_heading",
                "also_read",
                "course",
                "footnotes",
            ],
            Self::Html => &[
                "task",
                "facts",
                "tiles",
                "charts",
                "contents",
                "name",
                "title",
                "question",
                "notices",
                "answer",
                "findings",
                "looked_through",
                "advice",
                "sources",
                "sources_heading",
                "visited",
                "visited_heading",
                "also_read",
                "course",
            ],
        }
    }
}

/// The templates in use.
#[derive(Debug, Clone)]
pub struct Templates([Template; Kind::ALL.len()]);

impl Templates {
    /// The built-in ones alone.
    pub fn built_in() -> Self {
        Self(Kind::ALL.map(Template::built_in))
    }

    /// The user's own, where there are any, and the built-in ones for the rest.
    pub fn load(config_directory: &Path) -> Result<Self, ConfigError> {
        let mut templates = Self::built_in();
        let mut problems = Vec::new();
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            let path = config_directory.join(DIRECTORY).join(kind.file_name());
            match Template::read(kind, &path) {
                Ok(Some(template)) => templates.0[place] = template,
                Ok(None) => {}
                Err(error) => problems.extend(error.problems),
            }
        }
        if problems.is_empty() { Ok(templates) } else { Err(ConfigError { problems }) }
    }

    pub fn render(&self, kind: Kind, values: Value) -> Result<String, ConfigError> {
        self.0[kind as usize].render(values)
    }
}

#[derive(Debug, Clone)]
struct Template {
    kind: Kind,
    /// As shown.
    place: String,
    text: String,
}

impl Template {
    fn built_in(kind: Kind) -> Self {
        Self { kind, place: kind.file_name().to_owned(), text: kind.built_in().to_owned() }
    }

    fn read(kind: Kind, path: &Path) -> Result<Option<Self>, ConfigError> {
        let place = path.display().to_string();
        let bytes = match read_file(path) {
            Ok(bytes) => bytes,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(None);
            }
            Err(error) => {
                return Err(Problem::new(format!("the template {place} cannot be read: {error}"))
                    .with_hint("mend it, or remove it to have the built-in one")
                    .into());
            }
        };
        let text = text_of(&place, bytes)?;
        if text.trim().is_empty() {
            return Err(Problem::new("this template is empty")
                .at(Origin::of(place))
                .with_hint("write the template, or remove the file to have the built-in one")
                .into());
        }
        let template = Self { kind, place, text };
        let problems = template.problems();
        if problems.is_empty() { Ok(Some(template)) } else { Err(ConfigError { problems }) }
    }

    fn problems(&self) -> Vec<Problem> {
        let words = tags(&self.text).into_iter().filter_map(|tag| tag.word);
        let other_files: Vec<Problem> = words
            .filter(|(word, _)| ["include", "import", "from", "extends"].contains(word))
            .map(|(word, range)| {
                Problem::new(format!("a template cannot use other files: `{word}`"))
                    .at(self.origin(Some(range)))
                    .with_hint("write all of its text into this one file")
            })
            .collect();
        if !other_files.is_empty() {
            return other_files;
        }
        let environment = self.environment();
        let said = match environment.template_from_named_str(self.kind.file_name(), &self.text) {
            Ok(template) => template.undeclared_variables(false),
            Err(error) => return vec![self.problem(&error)],
        };
        let known = self.kind.variables();
        let mut unknown: Vec<(Option<Range<usize>>, &String)> = said
            .iter()
            .filter(|name| !known.contains(&name.as_str()))
            // What a template may call stands among the names too.
            .filter(|name| !environment.globals().any(|(global, _)| global == name.as_str()))
            .map(|name| (find_name(&self.text, name), name))
            .collect();
        unknown.sort_by_key(|(range, name)| (range.as_ref().map(|range| range.start), *name));
        unknown
            .into_iter()
            .map(|(range, name)| {
                Problem::new(format!("unknown variable `{name}`")).at(self.origin(range)).with_hint(
                    suggestion(name, known.iter().copied(), "variables of this template"),
                )
            })
            .collect()
    }

    fn render(&self, values: Value) -> Result<String, ConfigError> {
        let environment = self.environment();
        let rendered = environment
            .template_from_named_str(self.kind.file_name(), &self.text)
            .and_then(|template| template.render(values));
        Ok(rendered.map_err(|error| self.problem(&error))?)
    }

    fn environment(&self) -> Environment<'static> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        // Without it an error does not tell where.
        environment.set_debug(true);
        let kind = self.kind;
        environment.set_auto_escape_callback(move |_| match kind {
            Kind::Markdown => AutoEscape::None,
            Kind::Html => AutoEscape::Html,
        });
        // A line that holds nothing but a tag leaves no empty line behind.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.expect("the usual marks are no surprise"));
        environment
    }

    fn problem(&self, error: &minijinja::Error) -> Problem {
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let (message, hint) = match error.kind() {
            ErrorKind::SyntaxError | ErrorKind::BadEscape => (
                format!("the template cannot be read: {detail}"),
                "braces that are meant as text stand between `{% raw %}` and `{% endraw %}`",
            ),
            ErrorKind::OutOfFuel => {
                ("the template does not come to an end".to_owned(), "take out the loop")
            }
            ErrorKind::UndefinedError => (
                format!("the template cannot be filled: {detail}"),
                "write a value as it is, such as `{{ answer }}` or `{{ task.model }}`",
            ),
            _ => (
                format!("the template cannot be filled: {detail}"),
                "mend it, or remove the file to have the built-in one",
            ),
        };
        Problem::new(message).at(self.origin(self.range(error))).with_hint(hint)
    }

    fn range(&self, error: &minijinja::Error) -> Option<Range<usize>> {
        let of_line = |line: usize| {
            let start: usize =
                self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn loaded(kind: Kind, text: &str) -> Result<Templates, ConfigError> {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join(DIRECTORY)).unwrap();
        std::fs::write(home.path().join(DIRECTORY).join(kind.file_name()), text).unwrap();
        Templates::load(home.path()).map_err(|mut error| {
            for origin in error.problems.iter_mut().filter_map(|problem| problem.origin.as_mut()) {
                origin.place = kind.file_name().to_owned();
            }
            error
        })
    }

    #[test]
    fn a_file_of_the_users_takes_the_place_of_ours() {
        let templates = loaded(Kind::Markdown, "\u{feff}{{ title|upper }}!").unwrap();
        let values = || minijinja::context! { title => "tides" };
        assert_eq!(templates.render(Kind::Markdown, values()).unwrap(), "TIDES!");
        let home = tempfile::tempdir().unwrap();
        assert!(Templates::load(home.path()).is_ok(), "no directory, no matter");
        assert!(Templates::load(&home.path().join("none")).is_ok());
    }

    #[test]
    fn our_own_templates_are_sound() {
        for kind in Kind::ALL {
            assert_eq!(Template::built_in(kind).problems(), []);
        }
    }

    #[test]
    fn values_are_escaped_on_a_page_alone() {
        let values = || minijinja::context! { title => "<b>" };
        let page = loaded(Kind::Html, "{{ title }}").unwrap();
        assert_eq!(page.render(Kind::Html, values()).unwrap(), "&lt;b&gt;");
        let markdown = loaded(Kind::Markdown, "{{ title }}").unwrap();
        assert_eq!(markdown.render(Kind::Markdown, values()).unwrap(), "<b>");
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        let mut shown = String::new();
        for text in [
            "# {{ title }}\n\n{% for source in sources %}\n",
            "# {{ titel }}\n{{ anser }}",
            "{{ title }}\n{% include 'other.md' %}",
            "\n\n{{ title|shout }}",
            "{% for a in range(50000) %}{% for b in range(50000) %}{% endfor %}{% endfor %}",
            "  \n",
        ] {
            let values = minijinja::context! { title => "tides" };
            let error = match loaded(Kind::Markdown, text) {
                Err(error) => error,
                Ok(templates) => {
                    let mut error = templates.render(Kind::Markdown, values).unwrap_err();
                    error.problems[0].origin.as_mut().unwrap().place =
                        "research_report.md".to_owned();
                    error
                }
            };
            let _ = writeln!(shown, "{error}\n");
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("templates/report.html")).unwrap();
        let error = Templates::load(home.path()).unwrap_err().to_string();
        assert!(
            error.contains("report.html cannot be read") && error.contains("hint: "),
            "{error}"
        );
        let error = loaded(Kind::Markdown, "x").map(|_| ());
        assert!(error.is_ok());
    }
}
