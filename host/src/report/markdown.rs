//! Foreign text inside our Markdown. What was found on a page or in a file, or
//! was written by a model, may hold headings, fences, HTML, images or link
//! definitions; here it is made to stay inside the place the report gives it.
//! Code blocks are kept whole.

use super::words::{clean, one_line};

/// A piece of a finding's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    Paragraph(String),
    Item(String),
    Table(Vec<String>),
    Code { language: String, text: String },
}

/// Splits text into blocks, each safe to be laid out by the caller.
pub fn blocks(text: &str) -> Vec<Block> {
    let text = clean(text);
    let mut blocks = Vec::new();
    let mut prose: Vec<&str> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = Fence::opening(line) else {
            prose.push(line);
            continue;
        };
        add_prose(&mut blocks, &prose);
        prose.clear();
        let code: Vec<&str> = lines.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
        if code.iter().any(|line| !line.trim().is_empty()) {
            blocks.push(Block::Code { language: fence.language, text: dedented(&code) });
        }
    }
    add_prose(&mut blocks, &prose);
    blocks
}

fn add_prose(blocks: &mut Vec<Block>, lines: &[&str]) {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for line in lines {
        let content = line.trim();
        if content.is_empty() {
            open = false;
        } else if content.starts_with('|') && content.ends_with('|') && content.len() > 1 {
            open = false;
            match found.last_mut() {
                Some(Block::Table(rows)) => rows.push(escaped(content)),
                _ => found.push(Block::Table(vec![escaped(content)])),
            }
        } else if let Some(item) = without_list_marker(content) {
            found.push(Block::Item(item.to_owned()));
            open = true;
        } else {
            match found.last_mut() {
                Some(Block::Paragraph(text) | Block::Item(text)) if open => {
                    text.push(' ');
                    text.push_str(content);
                }
                _ => found.push(Block::Paragraph(content.to_owned())),
            }
            open = true;
        }
    }
    blocks.extend(found.into_iter().map(|block| match block {
        Block::Paragraph(text) => Block::Paragraph(inline(&text)),
        Block::Item(text) => Block::Item(inline(&text)),
        other => other,
    }));
}

fn without_list_marker(line: &str) -> Option<&str> {
    ["- ", "* ", "+ ", "• "]
        .iter()
        .find_map(|marker| line.strip_prefix(marker))
        .map(str::trim_start)
}

/// One paragraph of foreign text as one line: whatever it begins with, it is no
/// heading, list, quotation or fence; inline code, emphasis and links stay.
pub fn inline(text: &str) -> String {
    let text = one_line(text);
    let mut rest = text.as_str();
    // A heading or quotation that was quoted: its words, not its marks.
    loop {
        let stripped = rest.trim_start_matches('#').trim_start_matches('>');
        let marked = stripped.len() < rest.len() && stripped.starts_with(' ');
        match without_list_marker(rest) {
            Some(item) => rest = item,
            None if marked => rest = stripped.trim_start(),
            None => break,
        }
    }
    guard_start(&escaped(rest))
}

/// Escapes the first character where it would begin a block.
fn guard_start(line: &str) -> String {
    let mut characters = line.chars();
    let Some(first) = characters.next() else {
        return String::new();
    };
    let second = characters.next();
    let only_rule = line.chars().all(|character| matches!(character, '-' | '*' | '_' | '=' | ' '));
    let begins_block = match first {
        '#' | '>' | '|' | '=' | '~' => true,
        '-' | '+' | '*' | '_' => only_rule || matches!(second, None | Some(' ')),
        '[' => is_definition(line),
        _ => false,
    };
    if begins_block {
        return format!("\\{line}");
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && line[digits..].starts_with(['.', ')']) {
        return format!("{}\\{}", &line[..digits], &line[digits..]);
    }
    line.to_owned()
}

/// `[label]: target`, which would give every `[label]` of the report a target.
fn is_definition(line: &str) -> bool {
    line.starts_with('[') && line.find("]:").is_some_and(|end| !line[1..end].contains('['))
}

/// Escapes HTML, images, links that are no web links, and backticks that open
/// nothing. Code spans are left as they are.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    let mut rest = text;
    // From one mark to the next: most of a text has none.
    while let Some(plain) = rest.find(['\\', '`', '<', '!', ']']) {
        safe.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let character = rest.as_bytes()[0];
        match character {
            b'\\' => {
                let pair = match rest[1..].chars().next() {
                    Some(next) if next.is_ascii_punctuation() => 1 + next.len_utf8(),
                    _ => 1,
                };
                safe.push_str(&rest[..pair]);
                rest = &rest[pair..];
                continue;
            }
            b'`' => {
                let run = rest.bytes().take_while(|byte| *byte == b'`').count();
                let length = code_span_length(rest, run);
                if length > 0 {
                    safe.push_str(&rest[..length]);
                    rest = &rest[length..];
                } else {
                    safe.push_str(&"\\`".repeat(run));
                    rest = &rest[run..];
                }
                continue;
            }
            b'<' => {
                let length = web_link_length(rest);
                if length > 0 {
                    safe.push_str(&rest[..length]);
                    rest = &rest[length..];
                    continue;
                }
                safe.push_str("\\<");
            }
            b'!' if rest[1..].starts_with('[') => safe.push_str("\\!"),
            b']' if rest[1..].starts_with('(') && !is_plain_target(&rest[2..]) => {
                safe.push_str("\\]");
            }
            _ => safe.push(character.into()),
        }
        rest = &rest[1..];
    }
    safe.push_str(rest);
    safe
}

/// The length of `<https://…>`; 0 for any other thing in angle brackets.
fn web_link_length(text: &str) -> usize {
    let inside = &text[1..];
    if !["http://", "https://"].iter().any(|scheme| inside.starts_with(scheme)) {
        return 0;
    }
    let ends = |character: char| {
        character.is_whitespace() || character.is_control() || "<>`|\"\\".contains(character)
    };
    match inside.find(ends) {
        Some(end) if inside[end..].starts_with('>') => 1 + end + 1,
        _ => 0,
    }
}

/// The length of the code span that begins with `run` backticks; 0 where none
/// closes it.
fn code_span_length(text: &str, run: usize) -> usize {
    let bytes = text.as_bytes();
    let mut position = run;
    while position < bytes.len() {
        if bytes[position] != b'`' {
            position += 1;
            continue;
        }
        let closing = bytes[position..].iter().take_while(|byte| **byte == b'`').count();
        position += closing;
        if closing == run {
            return if survives_a_table(&text[run..position - run]) { position } else { 0 };
        }
    }
    0
}

/// A table cuts its row at every `|` first, and what was code is so no more.
fn survives_a_table(code: &str) -> bool {
    !code.contains('|') || !(code.contains('<') || code.contains("![") || code.contains("]("))
}

/// A link may lead to the web, a mailbox, or a place beside the report.
fn is_plain_target(target: &str) -> bool {
    let target = target.trim_start().trim_start_matches('<');
    let begins = |scheme: &&str| {
        let start = target.as_bytes().get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    if ["http://", "https://", "mailto:"].iter().any(begins) {
        return true;
    }
    // What ends the first step of a path, or shows that it is none. A step without
    // end is not looked through: there may be as many as there are characters.
    let told = target.chars().take(LONGEST_STEP).find(|character| "/)#? :&\\".contains(*character));
    match told {
        Some(character) => !":&\\".contains(character),
        None => target.len() < LONGEST_STEP,
    }
}

/// Characters of the first step of a path that a link may lead to.
const LONGEST_STEP: usize = 500;

/// A whole Markdown text, made to stand below a heading of the report: its own
/// headings go below `level`, its fences are closed.
pub fn contained(text: &str, level: usize) -> String {
    let text = clean(text);
    let mut output: Vec<String> = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    let shift = level.saturating_sub(highest_heading(&text) - 1);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = Fence::opening(line) {
            flush(&mut output, &mut paragraph, shift);
            let code: Vec<&str> =
                lines.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
            output.push(fence_lines(
                &fence.language,
                &fence.unindented(&code),
                &" ".repeat(fence.indent.min(3)),
            ));
        } else if line.trim().is_empty() {
            flush(&mut output, &mut paragraph, shift);
            output.push(String::new());
        } else {
            paragraph.push(line);
        }
    }
    flush(&mut output, &mut paragraph, shift);
    output.join("\n").trim_matches('\n').to_owned()
}

fn highest_heading(text: &str) -> usize {
    let level = |line: &str| heading_level(&line[container_length(line)..]);
    text.lines().filter_map(level).min().unwrap_or(1)
}

fn heading_level(content: &str) -> Option<usize> {
    let level = content.bytes().take_while(|byte| *byte == b'#').count();
    let after = content[level..].chars().next();
    ((1..=6).contains(&level) && matches!(after, None | Some(' ' | '\t'))).then_some(level)
}

fn flush(output: &mut Vec<String>, paragraph: &mut Vec<&str>, shift: usize) {
    // Line by line: a code span over a line's end may be cut by a list or table.
    for line in paragraph.drain(..) {
        let line = escaped(line);
        if is_underline(line.trim()) {
            output.push(format!("\\{}", line.trim()));
            continue;
        }
        let (before, content) = line.split_at(container_length(&line));
        if let Some(level) = heading_level(content) {
            let marks = "#".repeat((level + shift).min(6));
            output.push(format!("{before}{marks}{}", &content[level..]));
        } else if is_definition(content) || is_underline(content) || content.starts_with("~~~") {
            output.push(format!("{before}\\{content}"));
        } else {
            output.push(line);
        }
    }
}

/// Bytes of what may stand before a block: white space, `> `, `- ` and `1. `.
fn container_length(line: &str) -> usize {
    let mut length = 0;
    loop {
        let rest = &line[length..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let marker = match rest[digits..].chars().next() {
            Some(' ' | '\t' | '>') if digits == 0 => 1,
            Some('-' | '+' | '*') if digits == 0 && rest[1..].starts_with([' ', '\t']) => 2,
            Some('.' | ')') if digits > 0 && rest[digits + 1..].starts_with([' ', '\t']) => {
                digits + 2
            }
            _ => return length,
        };
        length += marker;
    }
}

/// `===` or `---`, which would make a heading of the line above.
fn is_underline(line: &str) -> bool {
    let line = line.trim_end();
    !line.is_empty()
        && (line.bytes().all(|byte| byte == b'=') || line.bytes().all(|byte| byte == b'-'))
}

/// A code span that holds any text.
pub fn code_span(text: &str) -> String {
    let text = one_line(text);
    let ticks = "`".repeat(longest_run(&text, '`') + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// A code block that holds any text, each line after `indent`.
pub fn fence_lines(language: &str, text: &str, indent: &str) -> String {
    let ticks = "`".repeat((longest_run(text, '`') + 1).max(3));
    let language: String =
        language.chars().filter(|c| c.is_alphanumeric() || "+-_.#".contains(*c)).collect();
    let mut block = format!("{indent}{ticks}{language}\n");
    for line in text.lines() {
        if !line.is_empty() {
            block.push_str(indent);
            block.push_str(line);
        }
        block.push('\n');
    }
    block.push_str(indent);
    block.push_str(&ticks);
    block
}

/// A link's target: what could end it is percent-encoded.
pub fn link_target(url: &str) -> String {
    let mut target = String::from("<");
    for character in clean(url).chars() {
        match character {
            '<' => target.push_str("%3C"),
            '>' => target.push_str("%3E"),
            ' ' => target.push_str("%20"),
            '\n' | '\t' => {}
            '\\' => target.push_str("%5C"),
            other => target.push(other),
        }
    }
    target.push('>');
    target
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Without the white space that every line begins with.
fn dedented(lines: &[&str]) -> String {
    let common = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or(0);
    let kept: Vec<&str> = lines.iter().map(|line| line.get(common..).unwrap_or("")).collect();
    kept.join("\n").trim_matches('\n').to_owned()
}

struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    language: String,
}

impl Fence {
    fn opening(line: &str) -> Option<Self> {
        let content = line.trim_start_matches(' ');
        let mark = content.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = content.chars().take_while(|character| *character == mark).count();
        let info = content[length..].trim();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default().to_owned();
        Some(Self { mark, length, indent: line.len() - content.len(), language })
    }

    /// The lines as they stand in the block: without the fence's own indent.
    fn unindented(&self, lines: &[&str]) -> String {
        let without = |line: &&str| {
            let spaces = line.bytes().take_while(|byte| *byte == b' ').count();
            line[spaces.min(self.indent)..].to_owned()
        };
        lines.iter().map(without).collect::<Vec<_>>().join("\n")
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|character| character == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_cannot_begin_a_block() {
        let cases = [
            ("# Heading\nand text", "Heading and text"),
            ("> quoted", "quoted"),
            ("- an item", "an item"),
            ("--- ", "\\---"),
            ("===", "\\==="),
            ("12. twelfth", "12\\. twelfth"),
            ("| a | b", "\\| a | b"),
            ("~~~ x", "\\~~~ x"),
            ("[1]: http://evil.example", "\\[1]: http://evil.example"),
            ("**bold** and *soft*", "**bold** and *soft*"),
            ("#hashtag", "\\#hashtag"),
            ("-5 °C", "-5 °C"),
        ];
        for (text, expected) in cases {
            assert_eq!(inline(text), expected, "{text:?}");
        }
    }

    #[test]
    fn html_images_and_odd_links_are_only_text() {
        let cases = [
            ("a <script>alert(1)</script>", "a \\<script>alert(1)\\</script>"),
            ("![pixel](https://evil.example/p.png)", "\\![pixel](https://evil.example/p.png)"),
            ("[x](javascript:alert(1))", "[x\\](javascript:alert(1))"),
            ("[x](java&#115;cript:alert(1))", "[x\\](java&#115;cript:alert(1))"),
            ("[x](https://example.org/a:b)", "[x](https://example.org/a:b)"),
            ("[x](other.md#a)", "[x](other.md#a)"),
            ("already \\<b> escaped", "already \\<b> escaped"),
            ("twice \\\\<b>", "twice \\\\\\<b>"),
        ];
        for (text, expected) in cases {
            assert_eq!(inline(text), expected, "{text:?}");
        }
    }

    #[test]
    fn code_spans_stay_and_lone_backticks_open_nothing() {
        assert_eq!(inline("use `Vec<u8>` here"), "use `Vec<u8>` here");
        assert_eq!(inline("a lone ` and <b>"), "a lone \\` and \\<b>");
        assert_eq!(inline("``a ` b`` and ```"), "``a ` b`` and \\`\\`\\`");
        assert_eq!(inline("escaped \\` then `x<y`"), "escaped \\` then `x<y`");
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`"), "`` ` ``");
    }

    #[test]
    fn code_blocks_are_kept_whole() {
        let text = "Run this:\n\n```sh\n  cargo build\n  # not a heading\n```\nThen wait.";
        assert_eq!(
            blocks(text),
            [
                Block::Paragraph("Run this:".to_owned()),
                Block::Code {
                    language: "sh".to_owned(),
                    text: "cargo build\n# not a heading".to_owned(),
                },
                Block::Paragraph("Then wait.".to_owned()),
            ]
        );
    }

    #[test]
    fn an_open_fence_is_closed_and_a_longer_one_holds_a_shorter() {
        let text = "````\n```\ninner\n```";
        let blocks = blocks(text);
        let [Block::Code { text, .. }] = blocks.as_slice() else {
            panic!("one code block, not {blocks:?}")
        };
        assert_eq!(fence_lines("", text, ""), "````\n```\ninner\n```\n````");
    }

    #[test]
    fn lists_and_tables_stay_lists_and_tables() {
        let text =
            "Levels:\n- low tide,\n  at noon\n- high <tide>\n\n| a | b |\n|---|---|\n| `|` | 2 |";
        assert_eq!(
            blocks(text),
            [
                Block::Paragraph("Levels:".to_owned()),
                Block::Item("low tide, at noon".to_owned()),
                Block::Item("high \\<tide>".to_owned()),
                Block::Table(vec![
                    "| a | b |".to_owned(),
                    "|---|---|".to_owned(),
                    "| `|` | 2 |".to_owned()
                ]),
            ]
        );
    }

    #[test]
    fn an_answer_stays_below_its_heading() {
        let answer = "# Title\n\nText <b>bold</b>\n===\n\n## Part\n[1]: http://evil.example\n\n~~~js\nlet a = '</pre>';\n# no";
        assert_eq!(
            contained(answer, 2),
            "### Title\n\nText \\<b>bold\\</b>\n\\===\n\n#### Part\n\\[1]: http://evil.example\n\n```js\nlet a = '</pre>';\n# no\n```"
        );
        assert_eq!(contained("### Deep\ntext", 2), "### Deep\ntext");
    }

    #[test]
    fn a_link_target_cannot_be_left() {
        assert_eq!(link_target("https://a.example/x y>)<z"), "<https://a.example/x%20y%3E)%3Cz>");
    }
}
