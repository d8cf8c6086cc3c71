//! What a block stands under: the section's heading, the head of its table, the
//! sentence that leads to its list, the tables and keys around a setting.

use std::rc::Rc;

use bathysphere_sdk::types::Passage;

use crate::blocks::{Block, Kind};
use crate::code::{self, Style};
use crate::sentences::Joined;
use crate::words::{Term, Vocabulary};

/// What is above one block.
#[derive(Debug)]
pub struct Above {
    /// The words of all that it belongs to.
    pub terms: Vec<Term>,
    /// The words of the heading that names its subject.
    pub heading: Rc<[Term]>,
    /// The words of its table's head.
    pub table: Rc<[Term]>,
    /// The heading, or the keys around a setting, as written.
    pub named: Option<Rc<str>>,
    /// The first paragraph under the heading, or of a list or table.
    pub opens: bool,
    /// The keys and tables around a setting.
    pub keys: Vec<Term>,
}

/// More of a heading or a lead than this is not read, in bytes.
const LONGEST: usize = 400;
/// How much of a long lead counts: its end, in bytes.
const LEAD: usize = 200;

/// What stands above each block of a passage.
pub fn context(
    passage: &Passage,
    blocks: &[Block],
    joined: &[Joined],
    vocabulary: &mut Vocabulary,
) -> Vec<Above> {
    let style = code::style(&passage.source.url);
    let keys = if style == Some(Style::Settings) {
        keys(&passage.text, &passage.source.url, blocks, joined)
    } else {
        vec![String::new(); blocks.len()]
    };
    let mut all: Vec<Above> = Vec::with_capacity(blocks.len());
    // A passage begins under a heading that its place tells.
    let mut named: Option<Rc<str>> = if style.is_none() { outer_heading(passage) } else { None };
    let mut section: Rc<[Term]> =
        named.as_deref().map_or(Vec::new(), |text| terms(text, vocabulary)).into();
    let mut inside: Vec<Term> = Vec::new();
    let no_table: Rc<[Term]> = Vec::new().into();
    let mut table = Rc::clone(&no_table);
    let mut lead: Vec<Term> = Vec::new();
    let mut paragraphs = 0;
    for (index, block) in blocks.iter().enumerate() {
        let text = &joined[index].text;
        if block.kind != Kind::Row {
            table = Rc::clone(&no_table);
        }
        let mut own = inside.clone();
        match block.kind {
            Kind::Heading => {
                let words = terms(text, vocabulary);
                if text.trim_start().starts_with('|') {
                    table = words.into();
                } else {
                    inside = words;
                    lead.clear();
                    paragraphs = 0;
                    if style.is_none() {
                        section = inside.clone().into();
                        named = Some(text.as_str().into());
                    }
                }
            }
            Kind::Paragraph => {
                paragraphs += 1;
                lead.clear();
                if text.ends_with(':') {
                    let tail = text.len().saturating_sub(LEAD);
                    let tail =
                        (tail..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                    lead = terms(&text[tail..], vocabulary);
                }
                // A comment speaks of the declaration right below it.
                if block.comment
                    && let Some(next) = blocks.get(index + 1)
                    && matches!(next.kind, Kind::Signature | Kind::Entry)
                {
                    own.extend(terms(&joined[index + 1].text, vocabulary));
                }
            }
            Kind::Item | Kind::Row | Kind::Code => own.extend(lead.iter().chain(table.iter())),
            Kind::Signature | Kind::Entry => {
                if let Some(before) = index.checked_sub(1).filter(|at| blocks[*at].comment) {
                    own.extend(terms(&joined[before].text, vocabulary));
                }
            }
        }
        let around = &keys[index];
        all.push(Above {
            terms: own,
            heading: Rc::clone(&section),
            table: Rc::clone(&table),
            named: if around.is_empty() { named.clone() } else { Some(around.as_str().into()) },
            opens: match block.kind {
                Kind::Paragraph => paragraphs == 1,
                Kind::Item | Kind::Row => paragraphs <= 1 || !lead.is_empty(),
                _ => false,
            },
            keys: terms(around, vocabulary),
        });
    }
    all
}

/// The words of a short text.
pub fn terms(text: &str, vocabulary: &mut Vocabulary) -> Vec<Term> {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    vocabulary.words(&text[..end]).into_iter().filter_map(|word| word.term).collect()
}

/// The innermost heading of the passage's place.
fn outer_heading(passage: &Passage) -> Option<Rc<str>> {
    let heading = passage.source.location.as_ref()?.heading.as_ref()?;
    let last = heading.rsplit(" › ").next().unwrap_or(heading).trim();
    (!last.is_empty()).then(|| last.into())
}

/// For each line of a configuration file, the keys or the table it stands in.
fn keys(text: &str, url: &str, blocks: &[Block], joined: &[Joined]) -> Vec<String> {
    let nested = [".yaml", ".yml", ".json", ".jsonc"].iter().any(|end| url.ends_with(end));
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut out = Vec::with_capacity(blocks.len());
    for (block, joined) in blocks.iter().zip(joined) {
        if block.kind != Kind::Entry {
            out.push(String::new());
            continue;
        }
        let content = joined.text.as_str();
        let line = text[..block.whole.start].rfind('\n').map_or(0, |at| at + 1);
        let indent = block.whole.start - line;
        if !nested {
            if content.starts_with('[') {
                let name = content.split('#').next().unwrap_or(content);
                open = vec![(0, name.trim_matches(['[', ']', ' ']).to_owned())];
                out.push(String::new());
            } else {
                out.push(open.first().map_or(String::new(), |(_, name)| name.clone()));
            }
            continue;
        }
        open.retain(|(outer, _)| *outer < indent);
        // Few levels tell where a setting stands; a hostile file may have many.
        let path: Vec<&str> = open.iter().take(8).map(|(_, name)| name.as_str()).collect();
        out.push(path.join(" › "));
        if let Some((key, _)) = content.split_once(':') {
            let key = key.trim_matches(['-', '"', '\'', ' ', '{']);
            if !key.is_empty() && key.len() <= 80 && open.len() < 64 {
                open.push((indent, key.to_owned()));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use bathysphere_sdk::types::{Location, Source};

    use super::*;
    use crate::blocks;

    fn above(url: &str, heading: &str, text: &str) -> Vec<(String, Above)> {
        let passage = Passage {
            source: Source {
                url: url.into(),
                title: String::new(),
                location: Some(Location {
                    start_line: 1,
                    end_line: 1,
                    heading: Some(heading.into()),
                }),
                published: None,
                extra: Vec::new(),
            },
            text: text.into(),
            score: 1.0,
        };
        let blocks = blocks::split(text, url);
        let joined: Vec<_> = blocks.iter().map(|block| Joined::new(text, block, ' ')).collect();
        let context = context(&passage, &blocks, &joined, &mut Vocabulary::new());
        joined.into_iter().map(|one| one.text).zip(context).collect()
    }

    #[test]
    fn settings_know_the_keys_around_them() {
        let yaml =
            above("a.yaml", "", "server:\n  tls:\n    port: 1\n  host: a\ndatabase:\n  port: 2\n");
        let named: Vec<_> = yaml.iter().map(|(_, one)| one.named.as_deref()).collect();
        assert_eq!(
            named,
            [None, Some("server"), Some("server › tls"), Some("server"), None, Some("database")]
        );
        let toml = above("a.toml", "", "name = 1\n[tool.server] # here\nport = 2\n");
        assert_eq!(toml[0].1.named, None);
        assert_eq!(toml[2].1.named.as_deref(), Some("tool.server"));
        assert_eq!(toml[2].1.keys.len(), 2);
    }

    #[test]
    fn a_section_is_named_by_the_heading_in_it_or_around_it() {
        let all = above("a.md", "Sphere › Hull", "One.\n\nTwo.\n\n## Hatch\n\nThree.\n");
        let seen: Vec<_> = all
            .iter()
            .map(|(text, one)| (text.as_str(), one.named.as_deref(), one.opens))
            .collect();
        assert_eq!(
            seen,
            [
                ("One.", Some("Hull"), true),
                ("Two.", Some("Hull"), false),
                ("Hatch", Some("Hatch"), false),
                ("Three.", Some("Hatch"), true),
            ]
        );
    }
}
