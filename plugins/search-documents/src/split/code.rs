//! Source code: blocks between blank lines, parted rather before an item than
//! within it; what stands above an item without a blank line (its comment)
//! belongs to it. The heading is the line that opens the nearest item.

use super::pack::Packer;
use super::{Split, lines, shorten};

/// Words that open an item, in the languages that many use.
const OPENERS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "mod",
    "macro_rules!",
    "union",
    "class",
    "def",
    "interface",
    "namespace",
    "module",
    "function",
    "func",
    "type",
    "object",
    "protocol",
    "extension",
    "contract",
    "record",
    "sub",
    "package",
    "resource",
    "world",
    "template",
    "procedure",
    "theorem",
    "lemma",
    "defmodule",
    "defp",
    "defn",
    "message",
    "service",
];

/// Words that may stand before one.
const QUALIFIERS: &[&str] = &[
    "pub",
    "pub(crate)",
    "pub(super)",
    "async",
    "unsafe",
    "const",
    "extern",
    "export",
    "default",
    "public",
    "private",
    "protected",
    "static",
    "final",
    "abstract",
    "virtual",
    "override",
    "inline",
    "sealed",
    "open",
    "data",
    "internal",
    "partial",
    "declare",
    "typedef",
    "local",
    "\"C\"",
];

pub fn split(text: &str) -> Split {
    let mut packer = Packer::new(text);
    // The items around a place: how far each is indented, and its line.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut block: Option<Block> = None;
    for line in lines(text) {
        let start = line.text.as_ptr() as usize - text.as_ptr() as usize;
        if line.is_blank() {
            if let Some(block) = block.take() {
                end(&mut packer, &mut open, block);
            }
            continue;
        }
        let current = block.get_or_insert(Block {
            start,
            end: start,
            first: line.number,
            last: line.number,
            item: None,
        });
        current.end = start + line.text.len();
        current.last = line.number;
        if current.item.is_none()
            && let Some(item) = item(line.text)
        {
            current.item = Some((line.text.len() - line.text.trim_start().len(), item));
        }
    }
    if let Some(block) = block {
        end(&mut packer, &mut open, block);
    }
    Split { title: String::new(), passages: packer.finish() }
}

struct Block {
    start: usize,
    end: usize,
    first: u32,
    last: u32,
    /// The first item it opens: indentation and line.
    item: Option<(usize, String)>,
}

fn end(packer: &mut Packer<'_>, open: &mut Vec<(usize, String)>, block: Block) {
    if let Some((indent, item)) = block.item {
        open.retain(|(outer, _)| *outer < indent);
        packer.rather_here();
        open.push((indent, item));
    }
    if !packer.is_open() {
        let heading: Vec<&str> = open.iter().map(|(_, item)| item.as_str()).collect();
        packer.section(heading.join(" › "));
    }
    packer.block(block.start, block.end, block.first, block.last);
}

/// The line without what follows its signature, when it opens an item.
fn item(line: &str) -> Option<String> {
    let line = line.trim();
    let mut words = line.split_ascii_whitespace().skip_while(|word| QUALIFIERS.contains(word));
    let first = words.next()?;
    let opener = first.split(['<', '(']).next().unwrap_or(first);
    if !OPENERS.contains(&opener) || line.ends_with(',') {
        return None;
    }
    let starts_name = |character: char| {
        character.is_alphabetic() || matches!(character, '_' | '(' | '"' | '\'' | '*')
    };
    let named = opener.len() < first.len()
        || words.next().is_some_and(|name| name.starts_with(starts_name));
    let signature = line.trim_end_matches(['{', ':', ' ', ';', '(']);
    named.then(|| shorten(signature, 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_keeps_its_comment_and_is_named_in_the_heading() {
        let filler =
            "    let value = compute(one, two, three, four, five, six, seven, eight);\n".repeat(12);
        let text = format!(
            "use a;\n\n/// Adds.\npub fn add(a: u8) -> u8 {{\n{filler}}}\n\n/// Takes.\nfn take() {{\n{filler}}}\n"
        );
        let found = split(&text).passages;
        let short: Vec<_> = found
            .iter()
            .map(|one| (one.heading.as_str(), one.start_line, one.text.lines().next().unwrap()))
            .collect();
        assert_eq!(short, [("", 1, "use a;"), ("fn take()", 19, "/// Takes.")]);
    }

    #[test]
    fn methods_stand_under_their_class() {
        let body =
            "        value = compute(one, two, three, four, five, six, seven, eight)\n".repeat(12);
        let text = format!(
            "class Fish:\n    legs = 0\n\n    def swim(self):\n{body}\n    def dive(self):\n{body}"
        );
        let found = split(&text).passages;
        assert_eq!(found.last().unwrap().heading, "class Fish › def dive(self)");
    }

    #[test]
    fn what_opens_an_item() {
        assert_eq!(
            item("pub(crate) async fn run<T>(x: T) {"),
            Some("pub(crate) async fn run<T>(x: T)".into())
        );
        assert_eq!(
            item("export default function main() {"),
            Some("export default function main()".into())
        );
        assert_eq!(item("impl<T> Trait for Type {"), Some("impl<T> Trait for Type".into()));
        assert_eq!(item("let function = 1;"), None);
        assert_eq!(item("// fn commented()"), None);
        assert_eq!(item("return type"), None);
    }
}
