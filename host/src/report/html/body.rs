//! Markdown to HTML, event by event. What is HTML in the Markdown becomes text; a
//! link that is none to the web or a mailbox loses its target; a footnote's mark
//! leads to its source, and the source back to every mark.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

#[derive(Debug)]
pub struct Heading {
    pub level: usize,
    pub anchor: String,
    pub text: String,
}

/// What is counted over all parts of a page.
#[derive(Debug, Default)]
pub struct Page {
    footnotes: usize,
    uses: BTreeMap<usize, usize>,
    headings: Vec<Heading>,
}

impl Page {
    /// With footnotes up to this number.
    pub fn new(footnotes: Option<usize>) -> Self {
        Self { footnotes: footnotes.unwrap_or(0), ..Self::default() }
    }

    /// How often a footnote's mark stands on the page, up to now.
    pub fn uses(&self, number: usize) -> usize {
        self.uses.get(&number).copied().unwrap_or(0)
    }

    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    /// The level of the highest heading. One that stands alone at the top is the
    /// report's own title.
    pub fn highest(&self) -> usize {
        let level = self.headings.iter().map(|heading| heading.level).min().unwrap_or(0);
        let alone = self.headings.iter().filter(|heading| heading.level == level).count() == 1;
        if alone && self.headings.len() > 1 { level + 1 } else { level }
    }

    /// Paragraphs, lists, tables.
    pub fn block(&mut self, markdown: &str) -> String {
        let mut text = markdown.to_owned();
        // A mark is one only where there is something that it leads to.
        for number in 1..=self.footnotes {
            let _ = write!(text, "\n\n[^{number}]: {number}");
        }
        self.convert(&text)
    }

    fn convert(&mut self, markdown: &str) -> String {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS;
        let mut events: Vec<Event<'_>> = Vec::new();
        let mut links: Vec<bool> = Vec::new();
        let mut heading: Option<String> = None;
        let mut in_definition = false;
        for event in Parser::new_ext(markdown, options) {
            match &event {
                Event::Start(Tag::FootnoteDefinition(_)) => in_definition = true,
                Event::End(TagEnd::FootnoteDefinition) => {
                    in_definition = false;
                    continue;
                }
                Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(text);
                    }
                }
                _ => {}
            }
            if in_definition {
                continue;
            }
            match event {
                Event::Html(html) | Event::InlineHtml(html) => events.push(Event::Text(html)),
                Event::Start(Tag::HtmlBlock) => events.push(Event::Start(Tag::Paragraph)),
                Event::End(TagEnd::HtmlBlock) => events.push(Event::End(TagEnd::Paragraph)),
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let target = allowed(&dest_url);
                    links.push(target.is_some());
                    if let Some(target) = target {
                        let target = escaped(target);
                        events.push(html(format!(
                            "<a href=\"{target}\" rel=\"noopener noreferrer\">"
                        )));
                    }
                }
                Event::End(TagEnd::Link | TagEnd::Image) => {
                    if links.pop() == Some(true) {
                        events.push(html("</a>".to_owned()));
                    }
                }
                Event::Start(Tag::Heading { level, .. }) => {
                    heading = Some(String::new());
                    let anchor = format!("part-{}", self.headings.len() + 1);
                    events.push(html(format!("<{level} id=\"{anchor}\">")));
                }
                Event::End(TagEnd::Heading(level)) => {
                    events.push(html(format!("</{level}>\n")));
                    let text = heading.take().unwrap_or_default();
                    self.add_heading(level, &text);
                }
                Event::FootnoteReference(name) => events.push(self.reference(&name)),
                Event::Start(Tag::Table(_)) => {
                    events.push(html("<div class=\"table\" tabindex=\"0\">".to_owned()));
                    events.push(event);
                }
                Event::End(TagEnd::Table) => {
                    events.push(event);
                    events.push(html("</div>\n".to_owned()));
                }
                other => events.push(other),
            }
        }
        let mut output = String::with_capacity(markdown.len() * 3 / 2);
        pulldown_cmark::html::push_html(&mut output, events.into_iter());
        output
    }

    fn add_heading(&mut self, level: HeadingLevel, text: &str) {
        let anchor = format!("part-{}", self.headings.len() + 1);
        self.headings.push(Heading { level: level as usize, anchor, text: text.to_owned() });
    }

    fn reference(&mut self, name: &str) -> Event<'static> {
        let Ok(number) = name.parse::<usize>() else {
            return Event::Text(CowStr::from(format!("[^{name}]")));
        };
        let uses = self.uses.entry(number).or_default();
        *uses += 1;
        html(format!(
            "<sup class=\"cite\"><a id=\"cite-{number}-{uses}\" href=\"#source-{number}\">{number}</a></sup>"
        ))
    }
}

/// One line, without the paragraph around it.
pub fn inline(markdown: &str) -> String {
    let html = Page::default().convert(markdown);
    let html = html.trim();
    let inner = html.strip_prefix("<p>").and_then(|rest| rest.strip_suffix("</p>"));
    inner.filter(|inner| !inner.contains("<p>")).unwrap_or(html).to_owned()
}

fn html(text: String) -> Event<'static> {
    Event::InlineHtml(CowStr::from(text))
}

/// A target that a page may lead to.
fn allowed(target: &str) -> Option<&str> {
    let scheme = target.split_once(':')?.0.to_ascii_lowercase();
    let is_allowed = match scheme.as_str() {
        "http" | "https" => target[scheme.len()..].starts_with("://"),
        "mailto" => true,
        _ => false,
    };
    is_allowed.then_some(target)
}

pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_shown_and_not_obeyed() {
        assert_eq!(inline("a <script>x</script> b"), "a &lt;script&gt;x&lt;/script&gt; b");
        let block = Page::default().block("<div onclick=x>\nhi\n</div>\n\n<!-- c -->");
        assert!(!block.contains("<div") && !block.contains("<!--"), "{block}");
    }

    #[test]
    fn only_links_to_the_web_and_mailboxes_are_links() {
        let cases = [
            ("[a](https://a.example/?b=1&c=%22)", true),
            ("[a](HTTP://a.example)", true),
            ("[a](mailto:a@b.example)", true),
            ("<https://a.example>", true),
            ("[a](javascript:alert(1))", false),
            ("[a](JaVaScRiPt:alert(1))", false),
            ("[a](data:text/html,x)", false),
            ("[a](http:a)", false),
            ("[a](file:///etc/passwd)", false),
            ("[a](//a.example)", false),
            ("[a](other.md)", false),
            ("[a](#top)", false),
            ("![a](https://a.example/p.png)", true),
        ];
        for (markdown, is_link) in cases {
            let html = inline(markdown);
            assert_eq!(html.contains("<a href="), is_link, "{markdown}: {html}");
            assert!(!html.contains("<img"), "{html}");
            assert!(html.contains('a'), "its words stay");
        }
        let html = inline("[a](<https://a.example/\"onmouseover=x>)");
        assert!(html.contains("&quot;") && !html.contains("\"onmouseover"), "{html}");
    }

    #[test]
    fn footnotes_lead_there_and_back() {
        let mut page = Page::new(Some(2));
        let html = page.block("One[^1][^2] and[^1] three[^3].");
        assert!(html.contains("id=\"cite-1-1\" href=\"#source-1\">1</a>"), "{html}");
        assert!(html.contains("id=\"cite-1-2\""));
        assert!(html.contains("three[^3]."), "what leads nowhere is text: {html}");
        assert_eq!((page.uses(1), page.uses(2), page.uses(3)), (2, 1, 0));
        assert!(!html.contains("footnote-definition"));
    }

    #[test]
    fn headings_can_be_led_to() {
        let mut page = Page::default();
        let html = page.block("### A `b` <c>\n\n#### D");
        assert!(html.contains("<h3 id=\"part-1\">A <code>b</code> &lt;c&gt;</h3>"), "{html}");
        let shown: Vec<(usize, &str)> =
            page.headings().iter().map(|heading| (heading.level, heading.text.as_str())).collect();
        assert_eq!(shown, [(3, "A b <c>"), (4, "D")]);
        assert_eq!(page.highest(), 4, "the first is the title of it all");
    }
}
