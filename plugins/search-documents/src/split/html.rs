//! HTML: the text without its tags, with headings, and with the lines it stands
//! on in the file.

use super::pack::Packer;
use super::{Headings, Split};
use crate::source::Passage;

/// Elements whose content is not text for readers.
const SKIPPED: &[&str] = &["script", "style", "noscript", "template", "svg", "nav", "iframe"];

/// Elements that begin or end a paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "html",
    "li",
    "main",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

pub fn split(text: &str) -> Split {
    let mut reader = Reader {
        out: Vec::new(),
        current: String::new(),
        first: 0,
        last: 0,
        level: 0,
        title: String::new(),
        preformatted: false,
    };
    reader.read(text);
    let Reader { out, mut title, .. } = reader;
    let mut passages = Vec::new();
    let mut headings = Headings::default();
    let mut section: Vec<&Block> = Vec::new();
    for block in &out {
        if block.level == 0 {
            section.push(block);
            continue;
        }
        pack(&mut passages, &headings.path(), &section);
        section.clear();
        if title.is_empty() {
            title.clone_from(&block.text);
        }
        headings.enter(block.level, block.text.clone());
    }
    pack(&mut passages, &headings.path(), &section);
    Split { title, passages }
}

/// Lines without text between two paragraphs that still belong together; a
/// script, or a page of markup, parts them.
const GAP: u32 = 20;

/// Packs a section. Paragraphs are joined by as many line ends as lie between them
/// in the file, so that a place in a passage can be counted back to its line.
fn pack(passages: &mut Vec<Passage>, heading: &str, section: &[&Block]) {
    for near in section.chunk_by(|one, next| next.first.saturating_sub(one.last) <= GAP) {
        let mut text = String::new();
        let mut blocks = Vec::new();
        let mut line = near.first().map_or(0, |block| block.first);
        for block in near {
            if !text.is_empty() {
                push_lines(&mut text, block.first.saturating_sub(line));
            }
            let start = text.len();
            text.push_str(&block.text);
            blocks.push((start, text.len(), block.first, block.last));
            line = block.last;
        }
        let mut packer = Packer::new(&text);
        packer.section(heading.to_owned());
        for (start, end, first, last) in blocks {
            packer.block(start, end, first, last);
        }
        passages.extend(packer.finish());
    }
}

/// So many line ends, or a space where there are none.
fn push_lines(text: &mut String, lines: u32) {
    if lines == 0 {
        text.push(' ');
    }
    for _ in 0..lines {
        text.push('\n');
    }
}

/// A paragraph, or a heading of a level above 0, with its lines in the file.
#[derive(Debug)]
struct Block {
    level: u8,
    first: u32,
    last: u32,
    text: String,
}

struct Reader {
    out: Vec<Block>,
    /// The paragraph so far, with the line ends it has in the file.
    current: String,
    /// The lines of its first and its last word.
    first: u32,
    last: u32,
    level: u8,
    title: String,
    preformatted: bool,
}

impl Reader {
    fn read(&mut self, text: &str) {
        let mut at = 0;
        let mut line = 1;
        while at < text.len() {
            let rest = &text[at..];
            let next = rest.find('<').unwrap_or(rest.len());
            self.text(&rest[..next], line);
            line += newlines(&rest[..next]);
            at += next;
            let rest = &text[at..];
            if rest.is_empty() {
                break;
            }
            let length = self.markup(rest, line);
            line += newlines(&rest[..length]);
            at += length;
        }
        self.end();
    }

    /// What begins with `<`: tells how long it is.
    fn markup(&mut self, rest: &str, line: u32) -> usize {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.find("-->").map_or(rest.len(), |end| end + 7);
        }
        let after = rest.as_bytes().get(1).copied().unwrap_or(b' ');
        if !(after.is_ascii_alphabetic() || matches!(after, b'/' | b'!' | b'?')) {
            self.text("<", line);
            return 1;
        }
        let length = tag_length(rest);
        let closing = after == b'/';
        let name: String = rest[1 + usize::from(closing)..length]
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .map(|character| character.to_ascii_lowercase())
            .collect();
        if name == "title" && !closing {
            let end = find_end(rest, length, "title");
            if self.title.is_empty() {
                self.title = collapse(&decode(&rest[length..end]));
            }
            return end;
        }
        if SKIPPED.contains(&name.as_str()) && !closing {
            return if rest[..length].ends_with("/>") {
                length
            } else {
                find_end(rest, length, &name)
            };
        }
        if name == "br" {
            self.space();
        } else if BLOCKS.contains(&name.as_str()) {
            self.end();
            let level = name
                .strip_prefix('h')
                .and_then(|digit| digit.parse().ok())
                .filter(|level| (1..=6).contains(level));
            self.level = if closing { 0 } else { level.unwrap_or(0) };
            if name == "pre" {
                self.preformatted = !closing;
            }
        }
        length
    }

    fn text(&mut self, raw: &str, line: u32) {
        for (number, raw) in raw.split('\n').enumerate() {
            self.line_of_text(raw, line + number as u32);
        }
    }

    fn line_of_text(&mut self, raw: &str, line: u32) {
        let decoded = decode(raw);
        let decoded = decoded.trim_end_matches('\r');
        if decoded.trim().is_empty() {
            if !decoded.is_empty() && line == self.last {
                self.space();
            }
            return;
        }
        if self.current.is_empty() {
            self.first = line;
        } else if line > self.last {
            self.current.truncate(self.current.trim_end_matches(' ').len());
            push_lines(&mut self.current, line - self.last);
        } else if decoded.starts_with(char::is_whitespace) {
            self.space();
        }
        self.last = line;
        if self.preformatted {
            self.current.push_str(decoded);
            return;
        }
        for (number, word) in decoded.split_whitespace().enumerate() {
            if number > 0 {
                self.current.push(' ');
            }
            self.current.push_str(word);
        }
        if decoded.ends_with(char::is_whitespace) {
            self.space();
        }
    }

    fn space(&mut self) {
        if !self.current.is_empty() && !self.current.ends_with([' ', '\n']) {
            self.current.push(' ');
        }
    }

    fn end(&mut self) {
        let text = self.current.trim_end();
        if !text.trim().is_empty() {
            let text = if self.level > 0 { collapse(text) } else { text.to_owned() };
            self.out.push(Block {
                level: self.level,
                first: self.first,
                last: self.last.max(self.first),
                text,
            });
        }
        self.current.clear();
        self.level = 0;
    }
}

fn newlines(text: &str) -> u32 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u32
}

/// How long a tag is, with quoted attributes that may hold `>`.
fn tag_length(rest: &str) -> usize {
    let mut quote = None;
    let mut after_equals = false;
    for (place, byte) in rest.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (Some(mark), _) if mark == byte => quote = None,
            (None, b'"' | b'\'') if after_equals => quote = Some(byte),
            (None, b'>') => return place + 1,
            _ => {}
        }
        after_equals = byte == b'=' || (after_equals && byte == b' ');
    }
    rest.len()
}

/// Where `</name` begins, from `from` on; the end when it is missing.
fn find_end(rest: &str, from: usize, name: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = from;
    while let Some(found) = rest[at..].find("</") {
        at += found;
        let end = at + 2 + name.len();
        if bytes.len() >= end && bytes[at + 2..end].eq_ignore_ascii_case(name.as_bytes()) {
            return at;
        }
        at += 2;
    }
    rest.len()
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text with its character references resolved.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find('&') {
        out.push_str(&rest[..place]);
        rest = &rest[place..];
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        if let Some((end, character)) = end.and_then(|end| Some((end, reference(&rest[1..end])?))) {
            out.push(character);
            rest = &rest[end + 1..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|character| *character != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" | "ensp" | "emsp" | "thinsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "hellip" => '…',
        "bull" => '•',
        "middot" => '·',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "deg" => '°',
        "times" => '×',
        "plusmn" => '±',
        "micro" => 'µ',
        "para" => '¶',
        "sect" => '§',
        "euro" => '€',
        "pound" => '£',
        "rarr" => '→',
        "larr" => '←',
        "le" => '≤',
        "ge" => '≥',
        "ne" => '≠',
        "alpha" => 'α',
        "beta" => 'β',
        "gamma" => 'γ',
        "mu" => 'μ',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "ecirc" => 'ê',
        "agrave" => 'à',
        "acirc" => 'â',
        "aacute" => 'á',
        "iacute" => 'í',
        "oacute" => 'ó',
        "uacute" => 'ú',
        "ntilde" => 'ñ',
        "ccedil" => 'ç',
        "aring" => 'å',
        "oslash" => 'ø',
        "aelig" => 'æ',
        "shy" => '\u{ad}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_go_and_text_lines_and_headings_stay() {
        let text = "<html><head><title>Sea &amp; Sky</title>\n<style>p{}</style></head>\n<body>\n<h1>The <em>Sea</em></h1>\n<p>Salt\nwater &lt;deep&gt;.</p>\n<script>var x = '</p>';</script>\n<h2 title=\"a > b\">Fish</h2>\n<p>Cod.</p><p>Eel<br>too.</p>\n</body></html>\n";
        let split = split(text);
        assert_eq!(split.title, "Sea & Sky");
        let found: Vec<_> = split
            .passages
            .iter()
            .map(|one| (one.heading.as_str(), one.start_line, one.end_line, one.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [("The Sea", 5, 6, "Salt\nwater <deep>."), ("The Sea › Fish", 9, 9, "Cod. Eel too.")]
        );
    }

    #[test]
    fn preformatted_text_keeps_its_lines() {
        let split = split("<p>a</p>\n<pre>one\n  two\nthree</pre>\n");
        assert_eq!(split.passages[0].text, "a\none\n  two\nthree");
        assert_eq!((split.passages[0].start_line, split.passages[0].end_line), (1, 4));
    }

    #[test]
    fn broken_markup_loses_nothing_before_it() {
        assert_eq!(split("a < b and <b>c").passages[0].text, "a < b and c");
        assert_eq!(split("text <script> never closed").passages[0].text, "text");
        assert_eq!(
            split("&#0; &#xD800; &unknown; &").passages[0].text,
            "&#0; &#xD800; &unknown; &"
        );
    }
}
