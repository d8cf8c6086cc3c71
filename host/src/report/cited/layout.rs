//! Where in a Markdown text a number may be put: behind words, and behind a link or
//! a piece of code, but never inside them, nor between the lines of a block.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

#[derive(Debug, Clone)]
pub struct Link {
    pub range: Range<usize>,
    pub target: String,
    /// Where its words end, and its target begins.
    words_end: usize,
}

/// Everything in the order in which it stands.
#[derive(Debug, Default)]
pub struct Layout {
    /// Words that may be followed by a number.
    slots: Vec<Range<usize>>,
    links: Vec<Link>,
    code_spans: Vec<Range<usize>>,
    code_blocks: Vec<Range<usize>>,
}

impl Layout {
    pub fn of(text: &str) -> Self {
        let mut layout = Self::default();
        let mut open: Option<Link> = None;
        let mut in_code = false;
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            if let Some(link) = &mut open
                && !matches!(event, Event::End(TagEnd::Link | TagEnd::Image))
            {
                link.words_end = link.words_end.max(range.end.min(link.range.end));
            }
            match event {
                Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                    in_code = true;
                    layout.code_blocks.push(range);
                }
                Event::End(TagEnd::CodeBlock | TagEnd::HtmlBlock) => in_code = false,
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                    if open.is_none() =>
                {
                    let words_end = range.start;
                    open = Some(Link { range, target: dest_url.into_string(), words_end });
                }
                // An image in a link ends within it.
                Event::End(TagEnd::Link | TagEnd::Image) => {
                    if let Some(link) = open.take_if(|link| link.range.end <= range.end) {
                        layout.slots.push(link.range.end..link.range.end);
                        layout.links.push(link);
                    }
                }
                Event::Code(_) => {
                    if open.is_none() {
                        layout.slots.push(range.end..range.end);
                    }
                    layout.code_spans.push(range);
                }
                Event::Text(_) if !in_code && open.is_none() => layout.slots.push(range),
                _ => {}
            }
        }
        layout
    }

    pub fn is_code(&self, position: usize) -> bool {
        [&self.code_spans, &self.code_blocks]
            .into_iter()
            .any(|ranges| around(ranges, position).is_some())
    }

    /// Whether a range stands where a link leads to, not in its words.
    pub fn is_target(&self, range: &Range<usize>) -> bool {
        self.link_at(range.start)
            .is_some_and(|link| range.start >= link.words_end && range.start > link.range.start)
    }

    pub fn link_beginning_at(&self, position: usize) -> Option<&Link> {
        let link = self.link_at(position)?;
        (link.range.start == position).then_some(link)
    }

    /// The link that a range stands in the words of.
    pub fn link_around(&self, range: &Range<usize>) -> Option<&Range<usize>> {
        let link = self.link_at(range.start)?;
        (link.range.start < range.start).then_some(&link.range)
    }

    fn link_at(&self, position: usize) -> Option<&Link> {
        let next = self.links.partition_point(|link| link.range.start <= position);
        self.links[..next].last().filter(|link| position < link.range.end)
    }

    /// Where the number goes that a vendor wants behind `position`; none where no
    /// word stands before it.
    pub fn place(&self, text: &str, position: usize) -> Option<usize> {
        let mut position = text.floor_char_boundary(position.min(text.len()));
        if let Some(link) = self.link_at(position).filter(|link| position > link.range.start) {
            return Some(link.range.end);
        }
        if let Some(code) = around(&self.code_spans, position) {
            return Some(code.end);
        }
        // Not into a word.
        let word = |character: char| character.is_alphanumeric();
        if text[..position].ends_with(word) {
            let rest = &text[position..];
            position += rest.find(|character| !word(character)).unwrap_or(rest.len());
        }
        let next = self.slots.partition_point(|slot| slot.start < position);
        let slot = self.slots[..next].last()?;
        let position = position.min(slot.end);
        // Behind the word, not behind the space or the line's end after it.
        let before = text[slot.start..position].trim_end().len();
        if before > 0 || slot.is_empty() {
            return Some(slot.start + before);
        }
        Some(slot.start)
    }
}

fn around(ranges: &[Range<usize>], position: usize) -> Option<&Range<usize>> {
    let next = ranges.partition_point(|range| range.start <= position);
    ranges[..next].last().filter(|range| position < range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_behind_words_and_nowhere_else() {
        let text = "The tide [comes in](https://a.example/x) at `noon` today.\n\n```sh\ntide\n```\n\n| a | b |\n|---|---|\n| one | two |\n";
        let layout = Layout::of(text);
        let put = |wanted: usize| {
            let position = layout.place(text, wanted).unwrap();
            format!("{}¹", &text[..position])
        };
        assert!(put(5).ends_with("The tide¹"), "not into a word");
        assert!(put(9).ends_with("The tide¹"), "not behind a space");
        assert!(put(text.find("mes").unwrap()).ends_with("/x)¹"), "not into a link's words");
        assert!(put(text.find("a.example").unwrap()).ends_with("/x)¹"), "not into its target");
        assert!(put(text.find("oon").unwrap()).ends_with("`noon`¹"));
        assert!(put(text.find("today.").unwrap() + 6).ends_with("today.¹"));
        assert!(put(text.find("ide\n").unwrap()).ends_with("today.¹"), "not into a code block");
        assert!(put(text.find("|---").unwrap() + 2).ends_with("b¹"), "not into a table's rule");
        assert!(put(text.find("one").unwrap() + 3).ends_with("one¹"));
        assert!(put(text.len() + 99).ends_with("two¹"));
        assert_eq!(Layout::of("```\nx\n```").place("```\nx\n```", 5), None);
    }

    #[test]
    fn links_are_told_from_their_targets() {
        let text = "[see [cite: 1]](https://a.example/[cite:2]) and [cite: 3](https://b.example)";
        let layout = Layout::of(text);
        let at = |needle: &str| {
            let start = text.find(needle).unwrap();
            start..start + needle.len()
        };
        assert!(!layout.is_target(&at("[cite: 1]")) && layout.is_target(&at("[cite:2]")));
        assert!(layout.link_around(&at("[cite: 1]")).is_some());
        let link = layout.link_beginning_at(at("[cite: 3]").start).unwrap();
        assert_eq!(link.target, "https://b.example");
    }
}
