//! Numbers for sources: what a finding cites gets one, in the order of the
//! findings; an answer that a model wrote may cite any source by its position.

use super::Outcome;
use super::cited::Form;
use super::markdown::{code_span, inline, link_target};
use super::words::one_line;
use crate::plugins::contract::Source;

/// What an agent visited on its own.
#[derive(Default)]
pub struct Visited {
    pub places: Vec<String>,
    /// The report itself names none of them.
    pub is_all: bool,
}

pub struct Citations<'a> {
    numbered: Vec<&'a Source>,
    others: Vec<&'a Source>,
    form: Form,
}

impl<'a> Citations<'a> {
    /// `by_position`: number every source where it stands, because the answer
    /// counts them so.
    pub fn new(outcome: &'a Outcome, by_position: bool, form: Form) -> Self {
        let mut numbered: Vec<&Source> = Vec::new();
        if by_position {
            numbered.extend(&outcome.sources);
        }
        for finding in &outcome.findings {
            if !numbered.iter().any(|source| same_place(source, &finding.source)) {
                numbered.push(&finding.source);
            }
        }
        let mut others: Vec<&Source> = Vec::new();
        for source in &outcome.sources {
            if ![&numbered, &others]
                .iter()
                .any(|list| list.iter().any(|known| same_place(known, source)))
            {
                others.push(source);
            }
        }
        Self { numbered, others, form }
    }

    /// `[3]`.
    pub fn mark(&self, source: &Source) -> String {
        self.number(source).map_or_else(String::new, |number| self.form.mark(number))
    }

    fn number(&self, source: &Source) -> Option<usize> {
        self.numbered.iter().position(|known| same_place(known, source)).map(|index| index + 1)
    }

    /// Number and text of what is cited, each once.
    pub fn footnotes(&self, cited: &[&Source]) -> Vec<(usize, String)> {
        let mut numbers: Vec<usize> =
            cited.iter().filter_map(|source| self.number(source)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into_iter().map(|number| (number, footnote(self.numbered[number - 1]))).collect()
    }

    /// The list of sources, from 1 on.
    pub fn listed(&self) -> Vec<String> {
        self.numbered.iter().map(|source| description(source)).collect()
    }

    /// What was visited and is not named in the report itself, `most` by name.
    pub fn visited(&self, report: &str, most: usize) -> Visited {
        let unnamed: Vec<&&Source> =
            self.others.iter().filter(|source| !report.contains(&source.url)).collect();
        let mut places: Vec<String> =
            unnamed.iter().take(most).map(|source| description(source)).collect();
        if unnamed.len() > most {
            places.push(format!("and {} more", unnamed.len() - most));
        }
        Visited { places, is_all: unnamed.len() == self.others.len() }
    }

    /// What else was looked at, `most` of them by name.
    pub fn also_read(&self, most: usize) -> Option<String> {
        if self.others.is_empty() {
            return None;
        }
        let mut names: Vec<String> =
            self.others.iter().take(most).map(|source| place(source)).collect();
        if self.others.len() > most {
            names.push(format!("and {} more", self.others.len() - most));
        }
        Some(names.join(", "))
    }
}

fn same_place(one: &Source, other: &Source) -> bool {
    let lines = |source: &Source| {
        source.location.as_ref().map(|location| (location.start_line, location.end_line))
    };
    one.url == other.url && lines(one) == lines(other)
}

/// The distinct files or pages, in order.
pub fn files(sources: &[Source]) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for source in sources {
        if !files.contains(&source.url.as_str()) {
            files.push(&source.url);
        }
    }
    files
}

/// Where it stands, to follow a finding: `path:12-14`, or a link by its host.
pub fn place(source: &Source) -> String {
    match web_host(&source.url) {
        Some(host) => format!("[{}]({})", inline(host), link_target(&source.url)),
        None => code_span(&source.reference()),
    }
}

/// A line of the list of sources: the place, and what stands there.
pub fn description(source: &Source) -> String {
    described(source, link_target)
}

/// The same behind a footnote's mark, where an address stands bare if it can.
pub fn footnote(source: &Source) -> String {
    described(source, |url| {
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$'*+,;=%".contains(&byte);
        if url.bytes().all(plain) { url.to_owned() } else { link_target(url) }
    })
}

fn described(source: &Source, target: impl Fn(&str) -> String) -> String {
    let title = one_line(&source.title);
    let heading = source.location.as_ref().and_then(|location| location.heading.as_deref());
    let heading = heading.map(one_line).unwrap_or_default();
    // A heading path often begins with the document's own title.
    let name = match (title.is_empty(), heading.is_empty()) {
        (_, true) => title,
        (true, false) => heading,
        (false, false) if heading.starts_with(&title) => heading,
        (false, false) => format!("{title} › {heading}"),
    };
    let published = source.published.as_ref().map(|date| format!(" ({})", inline(date)));
    let published = published.unwrap_or_default();
    if web_host(&source.url).is_some() {
        if name.is_empty() || name == source.url {
            return format!("{}{published}", link_target(&source.url));
        }
        return format!("[{}]({}){published}", bracketless(&inline(&name)), target(&source.url));
    }
    let name = if name.is_empty() || source.url.ends_with(&name) {
        String::new()
    } else {
        format!(" – {}", inline(&name))
    };
    format!("{}{name}{published}", code_span(&source.reference()))
}

/// A link's text must not end before its end.
fn bracketless(text: &str) -> String {
    text.replace('[', "(").replace(']', ")")
}

pub fn web_host(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    Some(host.rsplit('@').next().unwrap_or(host))
}
