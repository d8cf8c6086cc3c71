//! Cuts a passage's text into blocks: paragraphs, list items, table rows,
//! headings, code. One pass over the lines; nothing here weighs what a block
//! says.

use std::ops::Range;

use crate::code;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Paragraph,
    Item,
    /// A row of a table.
    Row,
    /// A heading, or the head of a table: context, never an answer.
    Heading,
    /// Code, fenced or indented.
    Code,
    /// A declaration in a source file.
    Signature,
    /// A line of a configuration file.
    Entry,
}

/// A block, as ranges of the passage's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub kind: Kind,
    /// Each line's words, without marks such as `- `, `> ` or `///`.
    pub lines: Vec<Range<usize>>,
    /// All of it, marks and fences included.
    pub whole: Range<usize>,
    /// The fence's language, as far as it was given.
    pub language: Option<Range<usize>>,
    /// Stands in a comment of a source file.
    pub comment: bool,
    /// Code that prose shows, not the code of a source file.
    pub shown: bool,
}

/// Cuts up a passage of the file or page that `url` names.
pub fn split(text: &str, url: &str) -> Vec<Block> {
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        lines.push(start..end);
        start += line.len();
    }
    let mut blocks = Vec::new();
    match code::style(url) {
        None => prose(text, &lines, false, &mut blocks),
        Some(style) => code::split(text, &lines, style, &mut blocks),
    }
    blocks
}

/// Reads lines of Markdown, reStructuredText or plain prose.
pub fn prose(text: &str, lines: &[Range<usize>], comment: bool, out: &mut Vec<Block>) {
    let mut reader = Reader { text, comment, open: None, out };
    let mut at = skip_front_matter(text, lines).max(skip_rest_of_fence(text, lines));
    let mut after_blank = true;
    while at < lines.len() {
        let line = &lines[at];
        let content = &text[line.clone()];
        let trimmed = content.trim();
        if trimmed.is_empty() {
            reader.close();
            after_blank = true;
            at += 1;
            continue;
        }
        if let Some(fence) = fence(trimmed) {
            reader.close();
            at = reader.fenced(lines, at, fence);
            after_blank = true;
            continue;
        }
        let indent = content.len() - content.trim_start().len();
        let in_list = matches!(reader.out.last(), Some(block) if block.kind == Kind::Item);
        if after_blank && (indent >= 4 || content.starts_with('\t')) && !in_list {
            reader.close();
            at = reader.indented(lines, at);
            continue;
        }
        reader.line(line.clone(), trimmed);
        after_blank = false;
        at += 1;
    }
    reader.close();
}

struct Reader<'a> {
    text: &'a str,
    comment: bool,
    open: Option<Block>,
    out: &'a mut Vec<Block>,
}

impl Reader<'_> {
    fn close(&mut self) {
        if let Some(block) = self.open.take() {
            self.out.push(block);
        }
    }

    fn start(&mut self, kind: Kind, line: &Range<usize>, mark: usize) {
        self.close();
        let content = trim(self.text, line.start + mark..line.end);
        self.open = Some(Block {
            kind,
            whole: trim(self.text, line.clone()),
            lines: vec![content],
            language: None,
            comment: self.comment,
            shown: true,
        });
    }

    fn alone(&mut self, kind: Kind, line: &Range<usize>, mark: usize) {
        self.start(kind, line, mark);
        self.close();
    }

    fn line(&mut self, line: Range<usize>, trimmed: &str) {
        let content = &self.text[line.clone()];
        let indent = content.len() - content.trim_start().len();
        if let Some(level) = heading_mark(trimmed) {
            return self.alone(Kind::Heading, &line, indent + level);
        }
        if is_rule(trimmed) {
            // An underline makes the line above it a heading.
            if let Some(open) = &mut self.open
                && open.kind == Kind::Paragraph
                && open.lines.len() == 1
                && open.lines[0].len() < 120
            {
                open.kind = Kind::Heading;
            } else if trimmed.starts_with('|')
                && let Some(last) = self.out.last_mut()
                && last.kind == Kind::Row
            {
                last.kind = Kind::Heading;
            }
            return self.close();
        }
        if trimmed.starts_with('|') && trimmed.len() > 1 {
            return self.alone(Kind::Row, &line, indent);
        }
        if is_noise(trimmed) {
            return self.close();
        }
        if let Some(mark) = quote_mark(trimmed) {
            let inner = trimmed[mark..].trim_start();
            if inner.is_empty() {
                return self.close();
            }
            let skip = content.len() - content.trim_start().len() + mark;
            if let Some(length) = item_mark(inner) {
                let skip = skip + (trimmed.len() - mark - inner.len()) + length;
                return self.start(Kind::Item, &line, skip.min(content.len()));
            }
            return self.continue_with(&line, skip);
        }
        if let Some(length) = item_mark(trimmed) {
            return self.start(Kind::Item, &line, indent + length);
        }
        if let Some(length) = directive_mark(trimmed) {
            if trimmed.len() > length {
                self.start(Kind::Paragraph, &line, indent + length);
            } else {
                self.close();
            }
            return;
        }
        self.continue_with(&line, 0);
    }

    fn continue_with(&mut self, line: &Range<usize>, mark: usize) {
        let content = trim(self.text, line.start + mark..line.end);
        match &mut self.open {
            Some(open) => {
                open.whole.end = content.end;
                open.lines.push(content);
            }
            None => self.start(Kind::Paragraph, line, mark),
        }
    }

    /// Takes a fenced block; returns the line after it. A fence that is never
    /// closed reaches to the end.
    fn fenced(&mut self, lines: &[Range<usize>], open: usize, fence: Fence) -> usize {
        let opening = &lines[open];
        let trimmed = self.text[opening.clone()].trim();
        let mut inner = Vec::new();
        let mut at = open + 1;
        let mut end = opening.end;
        while at < lines.len() {
            let content = self.text[lines[at].clone()].trim();
            end = lines[at].end;
            at += 1;
            if fence.is_closed_by(content) {
                break;
            }
            inner.push(lines[at - 1].clone());
        }
        let name = trimmed[fence.length..].split([' ', ',', '{']).next().unwrap_or("");
        let language = (!name.is_empty()).then(|| {
            let start = opening.end - self.text[opening.clone()].trim_start().len() + fence.length;
            start..start + name.len()
        });
        if inner.iter().any(|line| !self.text[line.clone()].trim().is_empty()) {
            self.out.push(Block {
                kind: Kind::Code,
                lines: inner,
                whole: trim(self.text, opening.start..end),
                language,
                comment: self.comment,
                shown: true,
            });
        }
        at
    }

    /// Takes an indented block; returns the line after it.
    fn indented(&mut self, lines: &[Range<usize>], open: usize) -> usize {
        let mut at = open;
        let mut inner = Vec::new();
        while at < lines.len() {
            let content = &self.text[lines[at].clone()];
            if !content.trim().is_empty()
                && !content.starts_with("    ")
                && !content.starts_with('\t')
            {
                break;
            }
            inner.push(lines[at].clone());
            at += 1;
        }
        while inner.last().is_some_and(|line| self.text[line.clone()].trim().is_empty()) {
            inner.pop();
            at -= 1;
        }
        if let (Some(first), Some(last)) = (inner.first(), inner.last()) {
            self.out.push(Block {
                kind: Kind::Code,
                whole: trim(self.text, first.start..last.end),
                lines: inner,
                language: None,
                comment: self.comment,
                shown: true,
            });
        }
        at.max(open + 1)
    }
}

/// The range without the white space at its ends.
pub fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let content = &text[range.clone()];
    let start = range.start + (content.len() - content.trim_start().len());
    start..(start + content.trim().len())
}

#[derive(Clone, Copy)]
struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    fn is_closed_by(self, trimmed: &str) -> bool {
        trimmed.len() >= self.length && trimmed.bytes().all(|byte| byte == self.mark)
    }
}

fn fence(trimmed: &str) -> Option<Fence> {
    let mark = *trimmed.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let length = trimmed.bytes().take_while(|byte| *byte == mark).count();
    // "```like this```" on one line is inline code.
    let opens = length >= 3 && !trimmed[length..].contains('`');
    opens.then_some(Fence { mark, length })
}

fn skip_front_matter(text: &str, lines: &[Range<usize>]) -> usize {
    if lines.first().is_none_or(|line| text[line.clone()].trim_end() != "---") {
        return 0;
    }
    let close =
        lines.iter().skip(1).take(60).position(|line| text[line.clone()].trim_end() == "---");
    close.map_or(0, |at| at + 2)
}

/// A passage may begin inside a code block. Then its first fence closes one: what
/// stands before it is the rest of that code.
fn skip_rest_of_fence(text: &str, lines: &[Range<usize>]) -> usize {
    let is_fence = |line: &Range<usize>| fence(text[line.clone()].trim()).is_some();
    if lines.iter().filter(|line| is_fence(line)).count() % 2 == 0 {
        return 0;
    }
    let first = lines.iter().position(is_fence).unwrap_or(0);
    let bare = text[lines[first].clone()].trim().bytes().all(|byte| byte == b'`' || byte == b'~');
    let before: Vec<&str> = lines[..first]
        .iter()
        .map(|line| text[line.clone()].trim())
        .filter(|line| !line.is_empty())
        .collect();
    let code = before
        .iter()
        .filter(|line| {
            line.ends_with([';', '{', '}', '(', ')', ',', '\\'])
                || line.starts_with(['#', '$', '}', ')', '<'])
                || line.contains(" = ")
                || line.contains("::")
        })
        .count();
    if bare && !before.is_empty() && code * 2 > before.len() { first + 1 } else { 0 }
}

fn heading_mark(trimmed: &str) -> Option<usize> {
    let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && trimmed[level..].starts_with([' ', '\t'])).then_some(level)
}

/// A line of one repeated mark (a rule or a heading's underline), or the line
/// between a table's head and body.
fn is_rule(trimmed: &str) -> bool {
    let bytes = trimmed.as_bytes();
    if bytes.len() < 3 {
        return false;
    }
    if bytes[0] == b'|' || bytes[0] == b'+' {
        return bytes.iter().all(|byte| b"|-:=+ ".contains(byte));
    }
    b"=-~^\"*_#+".contains(&bytes[0]) && bytes.iter().all(|byte| *byte == bytes[0] || *byte == b' ')
}

/// Lines that hold no words for a reader: markup, definitions of links.
fn is_noise(trimmed: &str) -> bool {
    if let Some(rest) = trimmed.strip_prefix('[')
        && let Some((_, target)) = rest.split_once("]:")
    {
        return !target.trim().contains(' ') || target.contains("://");
    }
    if trimmed.starts_with("[![") || trimmed.starts_with("![") {
        return true;
    }
    if trimmed.starts_with("<!--") || trimmed.starts_with(".. _") || trimmed.starts_with(".. |") {
        return true;
    }
    // An HTML line is noise when hardly anything remains outside its tags.
    if trimmed.starts_with('<') && trimmed.ends_with('>') {
        let mut depth = 0_i32;
        let outside = trimmed
            .chars()
            .filter(|character| {
                match character {
                    '<' => depth += 1,
                    '>' => depth -= 1,
                    _ => return depth == 0 && character.is_alphanumeric(),
                }
                false
            })
            .count();
        return outside < 8;
    }
    false
}

fn quote_mark(trimmed: &str) -> Option<usize> {
    let length = trimmed.bytes().take_while(|byte| *byte == b'>' || *byte == b' ').count();
    trimmed.starts_with('>').then_some(length)
}

fn item_mark(trimmed: &str) -> Option<usize> {
    let bytes = trimmed.as_bytes();
    if let Some(rest) = trimmed.strip_prefix(['-', '*', '+', '•', '–', '‣']) {
        return rest.starts_with([' ', '\t']).then(|| {
            let mark = trimmed.len() - rest.len();
            // A task list's box belongs to the mark.
            let inner = rest.trim_start();
            let boxed = ["[ ] ", "[x] ", "[X] "].iter().any(|b| inner.starts_with(b));
            if boxed { trimmed.len() - inner.len() + 4 } else { mark }
        });
    }
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered = (1..=3).contains(&digits)
        && matches!(bytes.get(digits), Some(b'.' | b')'))
        && matches!(bytes.get(digits + 1), Some(b' ' | b'\t'));
    numbered.then_some(digits + 1)
}

/// `.. note::` and its kin.
fn directive_mark(trimmed: &str) -> Option<usize> {
    let rest = trimmed.strip_prefix(".. ")?;
    let (name, after) = rest.split_once("::")?;
    (!name.contains(' ')).then_some(trimmed.len() - after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str, url: &str) -> Vec<(Kind, String)> {
        split(text, url)
            .into_iter()
            .map(|block| {
                let lines: Vec<_> = block.lines.iter().map(|line| &text[line.clone()]).collect();
                (block.kind, lines.join("/"))
            })
            .collect()
    }

    #[test]
    fn markdown_falls_into_its_blocks() {
        let text = "# Title\nFirst line\r\nsecond line\n\n- one\n  more\n- two\n1. three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls -l\n```\n> quoted\n> text\n";
        assert_eq!(
            shapes(text, "a.md"),
            [
                (Kind::Heading, "Title".into()),
                (Kind::Paragraph, "First line/second line".into()),
                (Kind::Item, "one/more".into()),
                (Kind::Item, "two".into()),
                (Kind::Item, "three".into()),
                (Kind::Heading, "| a | b |".into()),
                (Kind::Row, "| 1 | 2 |".into()),
                (Kind::Code, "ls -l".into()),
                (Kind::Paragraph, "quoted/text".into()),
            ]
        );
    }

    #[test]
    fn underlined_headings_and_directives_are_seen() {
        let text = "Install\n=======\n\n.. note:: Needs root.\n\n.. code-block:: sh\n\n    make install\n\nDone.";
        assert_eq!(
            shapes(text, "a.rst"),
            [
                (Kind::Heading, "Install".into()),
                (Kind::Paragraph, "Needs root.".into()),
                (Kind::Paragraph, "sh".into()),
                (Kind::Code, "    make install".into()),
                (Kind::Paragraph, "Done.".into()),
            ]
        );
    }

    #[test]
    fn badges_links_and_front_matter_are_left_out() {
        let text = "---\ntitle: x\n---\n[![build](b.svg)](ci)\n[home]: https://example.org\n<p align=\"center\">\nWords.\n";
        assert_eq!(shapes(text, "a.md"), [(Kind::Paragraph, "Words.".into())]);
    }

    #[test]
    fn a_passage_that_begins_inside_code_is_seen_through() {
        let text = "let a = 1;\nlet b = 2;\n```\nThen read this.\n";
        assert_eq!(shapes(text, "a.md"), [(Kind::Paragraph, "Then read this.".into())]);
    }

    #[test]
    fn an_unclosed_fence_reaches_to_the_end() {
        let blocks = split("Run:\n```\na\nb", "a.md");
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[1].lines.len(), 2);
    }
}
