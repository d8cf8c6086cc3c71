//! What was read and cited, each address once.

use std::collections::HashMap;

use bathysphere_sdk::types::Source;

use crate::value::line;

const LONGEST_URL: usize = 8192;
const LONGEST_TITLE: usize = 300;
/// More than any report has; an answer that lies could hold a million.
const MOST: usize = 5000;

/// Sources in the order they came. A title is taken from whoever knows it first.
#[derive(Default)]
pub struct Sources {
    found: Vec<Source>,
    places: HashMap<String, usize>,
}

impl Sources {
    /// Whether the address is one at all.
    pub fn add(&mut self, url: &str, title: Option<&str>) -> bool {
        let Some(url) = checked(url) else { return false };
        let title = line(title.unwrap_or_default(), LONGEST_TITLE);
        if let Some(place) = self.places.get(url) {
            let known = &mut self.found[*place];
            if known.title.is_empty() {
                known.title = title;
            }
        } else if self.found.len() < MOST {
            self.places.insert(url.to_owned(), self.found.len());
            self.found.push(source(url, title));
        }
        true
    }

    pub fn get(&self, url: &str) -> Option<&Source> {
        self.places.get(checked(url)?).map(|place| &self.found[*place])
    }

    /// These, then those of `after` that are new. Whoever has no title is called by
    /// its host.
    pub fn followed_by(mut self, after: Self) -> Self {
        for source in after.found {
            self.add(&source.url, Some(&source.title));
        }
        for source in &mut self.found {
            if source.title.is_empty() {
                source.title = host(&source.url).to_owned();
            }
        }
        self
    }

    pub fn into_vec(self) -> Vec<Source> {
        self.found
    }
}

fn source(url: &str, title: String) -> Source {
    Source { url: url.to_owned(), title, location: None, published: None, extra: Vec::new() }
}

/// An address that a reader can follow; nothing else is one, whatever it claims.
pub fn checked(url: &str) -> Option<&str> {
    let url = url.trim();
    let (scheme, rest) = url.split_once("://")?;
    let web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let plain = !url.contains(|c: char| c.is_whitespace() || c.is_control());
    (web && plain && !rest.is_empty() && url.len() <= LONGEST_URL).then_some(url)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_there_once_with_the_first_title() {
        let mut cited = Sources::default();
        assert!(cited.add("https://a.example/x", None));
        assert!(cited.add(" https://a.example/x ", Some("A\npage")));
        assert!(cited.add("https://a.example/x", Some("Another")));
        let mut read = Sources::default();
        read.add("https://b.example/y?z", None);
        read.add("https://a.example/x", Some("Third"));
        let all: Vec<(String, String)> = cited
            .followed_by(read)
            .into_vec()
            .into_iter()
            .map(|source| (source.url, source.title))
            .collect();
        let expected = [("https://a.example/x", "A page"), ("https://b.example/y?z", "b.example")];
        assert_eq!(all, expected.map(|(url, title)| (url.to_owned(), title.to_owned())));
    }

    #[test]
    fn what_is_no_address_is_no_source() {
        let mut sources = Sources::default();
        let long = format!("https://a.example/{}", "x".repeat(LONGEST_URL));
        for url in ["", "a.example", "javascript:alert(1)", "file:///etc/passwd", "https://", &long]
        {
            assert!(!sources.add(url, Some("x")), "{url}");
        }
        assert!(!sources.add("https://a.example/ b", None));
        assert!(!sources.add("https://a.example/\u{1b}[31m", None));
        assert!(sources.into_vec().is_empty());
    }

    #[test]
    fn a_flood_is_bounded() {
        let mut sources = Sources::default();
        for number in 0..2 * MOST {
            sources.add(&format!("https://a.example/{number}"), None);
        }
        assert_eq!(sources.into_vec().len(), MOST);
    }
}
