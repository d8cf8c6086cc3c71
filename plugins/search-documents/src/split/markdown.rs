//! Markdown: headings by `#` or underline, fenced code kept whole, front matter.

use super::pack::Packer;
use super::{Headings, Line, Split, lines};

pub fn split(text: &str) -> Split {
    let mut reader = Reader {
        packer: Packer::new(text),
        headings: Headings::default(),
        title: String::new(),
        block: None,
        pending: None,
    };
    let mut fence: Option<(u8, usize)> = None;
    let mut rest = lines(text).peekable();
    let mut front_title = String::new();
    if text.starts_with("---\n") || text.starts_with("---\r\n") {
        front_title = reader.front_matter(text, &mut rest);
    }
    for line in rest {
        let start = line.text.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + line.text.len();
        if let Some((mark, length)) = fence {
            reader.extend(start, end, line.number);
            if closes(line.text, mark, length) {
                fence = None;
                reader.end_block();
            }
            continue;
        }
        // Most lines begin with a letter, and are part of a paragraph.
        let first = line.text.bytes().find(|byte| *byte != b' ');
        match first {
            None => reader.end_block(),
            Some(b'#') if let Some((level, heading)) = atx(line.text) => {
                reader.end_block();
                reader.enter(level, heading, start, end, line.number);
            }
            Some(b'`' | b'~') if let Some(opened) = opens(line.text) => {
                reader.end_block();
                fence = Some(opened);
                reader.extend(start, end, line.number);
            }
            Some(b'=' | b'-') if let Some(level) = underline(line.text) => {
                if !reader.underlined(text, level, line.number) {
                    reader.end_block();
                }
            }
            _ if line.is_blank() => reader.end_block(),
            _ => reader.extend(start, end, line.number),
        }
    }
    reader.end_block();
    reader.flush_pending();
    let title = if front_title.is_empty() { reader.title } else { front_title };
    Split { title, passages: reader.packer.finish() }
}

struct Reader<'a> {
    packer: Packer<'a>,
    headings: Headings,
    title: String,
    /// The paragraph being read: bytes and lines.
    block: Option<(usize, usize, u32, u32)>,
    /// A heading with nothing under it yet: level, bytes and line.
    pending: Option<(u8, usize, usize, u32)>,
}

impl<'a> Reader<'a> {
    fn extend(&mut self, start: usize, end: usize, number: u32) {
        match &mut self.block {
            Some(block) => (block.1, block.3) = (end, number),
            None => self.block = Some((start, end, number, number)),
        }
    }

    fn end_block(&mut self) {
        if let Some((start, end, first, last)) = self.block.take() {
            self.pending = None;
            self.packer.block(start, end, first, last);
        }
    }

    fn enter(&mut self, level: u8, heading: String, start: usize, end: usize, number: u32) {
        // A heading with nothing under it would be lost, unless it is part of
        // the path of the next.
        if self.pending.is_some_and(|(before, ..)| before >= level) {
            self.flush_pending();
        }
        if self.title.is_empty()
            || (level == 1
                && self.headings.open.iter().all(|(outer, _)| *outer > 1)
                && !self.packer.is_open())
        {
            self.title.clone_from(&heading);
        }
        self.headings.enter(level, heading);
        self.packer.section(self.headings.path());
        self.pending = Some((level, start, end, number));
    }

    fn flush_pending(&mut self) {
        if let Some((_, start, end, number)) = self.pending.take() {
            self.packer.block(start, end, number, number);
        }
    }

    /// A line of `===` or `---`: makes the single line above it a heading.
    fn underlined(&mut self, text: &str, level: u8, number: u32) -> bool {
        let Some((start, end, first, last)) = self.block else {
            return false;
        };
        let above = text[start..end].trim();
        if first != last || last + 1 != number || above.starts_with(['|', '-', '*', '>', '+']) {
            return false;
        }
        self.block = None;
        self.enter(level, plain(above), start, end, first);
        true
    }

    /// Reads the front matter, and takes the title from it.
    fn front_matter(
        &mut self,
        text: &'a str,
        rest: &mut std::iter::Peekable<impl Iterator<Item = Line<'a>> + Clone>,
    ) -> String {
        let mut ahead = rest.clone();
        ahead.next();
        let mut title = String::new();
        for line in ahead.by_ref().take(200) {
            if matches!(line.text.trim_end(), "---" | "...") {
                *rest = ahead;
                self.end_block();
                return title;
            }
            if let Some(value) = line.text.strip_prefix("title:") {
                value.trim().trim_matches(['"', '\'']).clone_into(&mut title);
            } else {
                let start = line.text.as_ptr() as usize - text.as_ptr() as usize;
                if !line.is_blank() {
                    self.extend(start, start + line.text.len(), line.number);
                }
            }
        }
        // Not closed: the first line was a rule.
        self.block = None;
        String::new()
    }
}

fn atx(line: &str) -> Option<(u8, String)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let line = &line[indent..];
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = &line[level..];
    if indent > 3 || level > 6 || !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let text = text.trim();
    let text = match text.trim_end_matches('#') {
        shorter if shorter.is_empty() || shorter.ends_with(' ') => shorter.trim_end(),
        _ => text,
    };
    Some((level as u8, plain(text)))
}

fn opens(line: &str) -> Option<(u8, usize)> {
    let line = line.trim_start();
    let mark = *line.as_bytes().first()?;
    let length = line.bytes().take_while(|byte| *byte == mark).count();
    (length >= 3 && !(mark == b'`' && line[length..].contains('`'))).then_some((mark, length))
}

fn closes(line: &str, mark: u8, length: usize) -> bool {
    let line = line.trim();
    line.len() >= length && line.bytes().all(|byte| byte == mark)
}

fn underline(line: &str) -> Option<u8> {
    let line = line.trim();
    let mark = *line.as_bytes().first()?;
    (line.bytes().all(|byte| byte == mark)).then_some(if mark == b'=' { 1 } else { 2 })
}

/// A heading's text without its markup.
fn plain(text: &str) -> String {
    // `{#id}` at the end names the heading for links.
    let text =
        text.rsplit_once(" {#").filter(|(_, id)| id.ends_with('}')).map_or(text, |(text, _)| text);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['[', '`', '*']) {
        plain.push_str(&rest[..open]);
        let mark = rest.as_bytes()[open];
        rest = &rest[open + 1..];
        if mark == b'['
            && let Some(middle) = rest.find("](")
            && let Some(close) = rest[middle..].find(')')
        {
            plain.push_str(&rest[..middle]);
            rest = &rest[middle + close + 1..];
        } else if mark == b'[' {
            plain.push('[');
        }
    }
    plain.push_str(rest);
    plain.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Vec<(String, u32, u32, String)> {
        split(text)
            .passages
            .into_iter()
            .map(|one| (one.heading, one.start_line, one.end_line, one.text))
            .collect()
    }

    #[test]
    fn headings_lead_to_their_sections() {
        let text = "# Guide\n\nIntro.\n\n## Install ##\nRun it.\n\nThen wait.\n\nUsage\n-----\n\nGo.\n\n# Other\nEnd.\n";
        assert_eq!(split(text).title, "Guide");
        assert_eq!(
            outline(text),
            [
                ("Guide".into(), 3, 3, "Intro.".into()),
                ("Guide › Install".into(), 6, 8, "Run it.\n\nThen wait.".into()),
                ("Guide › Usage".into(), 13, 13, "Go.".into()),
                ("Other".into(), 16, 16, "End.".into()),
            ] as [(String, u32, u32, String); 4]
        );
    }

    #[test]
    fn code_is_kept_whole_and_its_comments_are_no_headings() {
        let text = "## A\n```sh\n# not a heading\n\nls\n```\nafter\n";
        assert_eq!(
            outline(text),
            [("A".to_owned(), 2, 7, "```sh\n# not a heading\n\nls\n```\nafter".to_owned())]
        );
    }

    #[test]
    fn front_matter_gives_the_title() {
        let split = split("---\ntitle: \"The Title\"\ntags: one, two\n---\n# Another\ntext\n");
        assert_eq!(split.title, "The Title");
        assert_eq!(split.passages[0].text, "tags: one, two");
        assert_eq!((split.passages[1].start_line, split.passages[1].text.as_str()), (6, "text"));
    }

    #[test]
    fn a_heading_with_nothing_under_it_is_still_found() {
        let found = outline("# A\n## B\n## C\n### D\ntext\n");
        let texts: Vec<_> = found.iter().map(|one| one.3.as_str()).collect();
        assert_eq!(texts, ["## B", "text"]);
        assert_eq!(found[1].0, "A › C › D");
    }

    #[test]
    fn markup_in_headings_is_taken_off() {
        assert_eq!(
            atx("## The `run` [tool](http://x) **now** {#run}"),
            Some((2, "The run tool now".into()))
        );
        assert_eq!(atx("#hashtag"), None);
        assert_eq!(atx("####### seven"), None);
    }
}
