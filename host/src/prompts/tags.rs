//! Where a template's tags stand: to point at a name in them, and to find those
//! that a prompt may not have even where no condition ever reaches them.

use std::ops::Range;

/// A `{{ … }}` or `{% … %}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag<'a> {
    /// Bytes of the template, marks included.
    pub range: Range<usize>,
    /// The first word of a `{% … %}`, and where it stands.
    pub word: Option<(&'a str, Range<usize>)>,
}

/// All tags outside of comments and raw text. An unfinished one is the last.
pub fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    let mut raw = false;
    while let Some(found) = text[at..].find('{') {
        let start = at + found;
        let close = match text.as_bytes().get(start + 1) {
            Some(b'{') if !raw => "}}",
            Some(b'#') if !raw => "#}",
            Some(b'%') => "%}",
            _ => {
                at = start + 1;
                continue;
            }
        };
        let inside = start + 2;
        let word = (close == "%}").then(|| first_word(text, inside));
        let name = word.as_ref().map_or("", |(name, _)| name);
        if raw && name != "endraw" {
            at = inside;
            continue;
        }
        let end = text[inside..].find(close).map_or(text.len(), |end| inside + end + 2);
        raw = name == "raw";
        if close != "#}" {
            tags.push(Tag { range: start..end, word });
        }
        at = end;
    }
    tags
}

/// After the marks that trim white space.
fn first_word(text: &str, inside: usize) -> (&str, Range<usize>) {
    let rest = text[inside..].trim_start_matches(['-', '+']).trim_start();
    let start = text.len() - rest.len();
    let length = rest.find(|character| !is_name(character)).unwrap_or(rest.len());
    (&rest[..length], start..start + length)
}

/// Where a variable is first named in a tag: not as an attribute, and not in a
/// string.
pub fn find_name(text: &str, name: &str) -> Option<Range<usize>> {
    tags(text).into_iter().find_map(|tag| {
        let inside = &text[tag.range.clone()];
        let mut quote = None;
        let mut before = ' ';
        for (at, character) in inside.char_indices() {
            match quote {
                Some(mark) if character == mark => quote = None,
                Some(_) => {}
                None if character == '"' || character == '\'' => quote = Some(character),
                None => {
                    let begins = !is_name(before) && before != '.';
                    let rest = &inside[at..];
                    if begins
                        && rest.strip_prefix(name).is_some_and(|rest| !rest.starts_with(is_name))
                    {
                        let start = tag.range.start + at;
                        return Some(start..start + name.len());
                    }
                }
            }
            before = character;
        }
        None
    })
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        tags(text).into_iter().map(|tag| &text[tag.range]).collect()
    }

    #[test]
    fn finds_tags_and_leaves_comments_and_raw_text() {
        let text = "{ {{a}} {# {{ b }} #} {%- if c -%}{% raw %}{{ d }}{% e %}{% endraw %}{{f";
        assert_eq!(shown(text), ["{{a}}", "{%- if c -%}", "{% raw %}", "{% endraw %}", "{{f"]);
        assert_eq!(shown("{"), [""; 0]);
        assert_eq!(shown("{%"), ["{%"]);
    }

    #[test]
    fn knows_the_word_of_a_tag() {
        let text = "{%-   include 'x' %}";
        let (word, range) = tags(text)[0].word.clone().unwrap();
        assert_eq!((word, &text[range]), ("include", "include"));
        assert_eq!(tags("{{ include }}")[0].word, None);
    }

    #[test]
    fn finds_a_name_where_it_means_the_variable() {
        let text = "query {# query #} {{ 'query' ~ x.query ~ queries ~ query }}";
        let found = find_name(text, "query").unwrap();
        assert_eq!(found.start, text.rfind("query").unwrap());
        assert_eq!(find_name("query", "query"), None);
    }
}
