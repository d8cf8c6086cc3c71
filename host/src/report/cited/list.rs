//! The list of sources that a report itself ends with. Its numbers are what the
//! marks in the text mean; it gives way to ours, which has everything that stands
//! in it.

use super::super::words::one_line;
use crate::plugins::contract::Source;

/// What such a list is headed with.
const HEADINGS: &[&str] =
    &["sources", "references", "works cited", "citations", "bibliography", "cited sources"];

/// The text before the list, and the list. A list that holds anything but web
/// addresses stays where it is.
pub fn split(text: &str) -> (&str, Vec<(u32, Source)>) {
    let mut from = text.len();
    let mut entries: Vec<(Option<u32>, Source)> = Vec::new();
    for line in text.split_inclusive('\n').rev() {
        let start = from - line.len();
        let content = line.trim();
        if is_heading(content) {
            entries.reverse();
            let listed = entries
                .into_iter()
                .enumerate()
                .map(|(place, (number, source))| (number.unwrap_or(place as u32 + 1), source));
            let listed: Vec<(u32, Source)> = listed.collect();
            if listed.is_empty() {
                return (text, Vec::new());
            }
            return (text[..start].trim_end(), listed);
        }
        if !content.is_empty() {
            let Some(entry) = entry(content) else { break };
            entries.push(entry);
        }
        from = start;
    }
    (text, Vec::new())
}

fn is_heading(line: &str) -> bool {
    let name = line.trim_matches(['#', '*', '_', ':', ' ']).to_lowercase();
    let is_marked = line.starts_with(['#', '*', '_']) || line.ends_with(':');
    is_marked && HEADINGS.contains(&name.as_str())
}

/// `1. [title](https://…)`, `[1] title https://…`, `- https://…`.
fn entry(line: &str) -> Option<(Option<u32>, Source)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = if let Some(inside) = line.strip_prefix('[')
        && let length @ 1.. = digits(inside)
        && inside[length..].starts_with(']')
        && !inside[length + 1..].starts_with('(')
    {
        (inside[..length].parse().ok(), inside[length + 1..].trim_start_matches([':', ' ']))
    } else if let length @ 1.. = digits(line)
        && line[length..].starts_with(['.', ')'])
    {
        (line[..length].parse().ok(), &line[length + 1..])
    } else {
        (None, line.strip_prefix(['-', '*', '+'])?)
    };
    Some((number, source(rest.trim())?))
}

fn source(text: &str) -> Option<Source> {
    let link = text.strip_prefix('[').and_then(|inside| inside.split_once("]("));
    let (title, url) = if let Some((title, target)) = link {
        let (url, after) = target.rsplit_once(')')?;
        // More than the link would be lost.
        if !after.trim_matches([' ', '.', ',']).is_empty() {
            return None;
        }
        (title, url.trim_start_matches('<').trim_end_matches('>'))
    } else {
        let start = text.find("http://").or_else(|| text.find("https://"))?;
        let rest = &text[start..];
        let end = rest.find([' ', '>', ')']).unwrap_or(rest.len());
        if !rest[end..].trim_matches([' ', '>', ')', '.', ',']).is_empty() {
            return None;
        }
        (text[..start].trim_end_matches([' ', '<', '(', ':', '-', '–', ',']), &rest[..end])
    };
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    is_web.then(|| Source {
        url: one_line(url),
        title: one_line(title).trim_matches(['*', '_']).replace('\\', ""),
        location: None,
        published: None,
        extra: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> (String, Vec<(u32, String, String)>) {
        let (body, list) = split(text);
        let list = list.into_iter().map(|(number, source)| (number, source.title, source.url));
        (body.to_owned(), list.collect())
    }

    #[test]
    fn a_list_of_web_addresses_is_taken_off() {
        let text = "Tides.\n\n**Sources:**\n1. [Tides](https://a.example/x_(y))\n2. https://b.example\n\n- <https://c.example/z>\n";
        let (body, list) = listed(text);
        assert_eq!(body, "Tides.");
        assert_eq!(
            list,
            [
                (1, "Tides".to_owned(), "https://a.example/x_(y)".to_owned()),
                (2, String::new(), "https://b.example".to_owned()),
                (3, String::new(), "https://c.example/z".to_owned()),
            ]
        );
        let (_, list) = listed("x\n## Works cited\n[4] The moon: https://d.example\n");
        assert_eq!(list, [(4, "The moon".to_owned(), "https://d.example".to_owned())]);
    }

    #[test]
    fn what_is_more_than_a_list_stays() {
        for text in [
            "Tides.",
            "## Sources\n",
            "## Sources\n\n1. A book by Doodson\n2. https://a.example",
            "## Sources\n\n1. [a](https://a.example) says otherwise, see below",
            "## Sources\n\n1. https://a.example\n\nAnd so it goes.",
            "Sources of tides\n1. https://a.example",
            "1. https://a.example",
        ] {
            assert_eq!(listed(text), (text.to_owned(), Vec::new()), "{text:?}");
        }
    }
}
