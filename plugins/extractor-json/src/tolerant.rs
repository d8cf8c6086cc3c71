//! Reads an object or array from broken JSON, as a reader would who knows what
//! was meant: comments, lost commas and quotes, single quotes, bare words,
//! brackets that do not match, an end that is cut off. It takes what is there.
//!
//! A name without a value is left out, never filled, wherever the schema names
//! fields: an empty value must not pass for an answer. Where it names none there
//! is nothing to pass for, and the name itself is all that is left to hand on, so
//! that it is kept with an empty value, as libraries that repair JSON do.

use std::borrow::Cow;

use crate::budget::Budget;
use crate::escapes;
use crate::node::{Fields, Node};
use crate::quotes::{self, Role, is_quote, looks_like_name, starts_value, trim_start};
use crate::strict::DEEPEST;

/// Fields that an object is given room for before they are read.
const MOST_RESERVED: usize = 16;

/// What was read.
#[derive(Debug)]
pub struct Parsed<'a> {
    pub node: Node<'a>,
    pub end: usize,
    /// The text ended before the value did.
    pub truncated: bool,
    /// It ends with its own bracket.
    pub closed: bool,
    /// Some of its names stand in quotation marks.
    pub quoted: bool,
    /// Some do not.
    pub bare: bool,
    /// Long phrases stand in it without quotation marks.
    pub phrases: bool,
    /// A number was larger than readers of JSON can hold, in the node or in what
    /// a later value took the place of.
    pub out_of_range: bool,
    /// Brackets or fences inside a string kept its quotation marks.
    pub nested: bool,
    /// Not all of those brackets and fences were closed where the string was.
    pub unbalanced: bool,
    /// A field stands there twice, and the marks of its text leave a doubt where
    /// that ends: so the text may be what holds the other one.
    pub ambiguous: bool,
    /// The text ended in the middle of a string, which was left out.
    pub half: bool,
    /// The field of the outermost object whose text was left out for that.
    pub cut: Option<Cow<'a, str>>,
    /// What was repaired.
    pub notes: Vec<&'static str>,
}

/// How to read.
#[derive(Debug, Clone, Copy)]
pub struct Manner<'a> {
    /// The names that the schema knows, at any depth; empty when it names none.
    pub names: &'a [String],
    /// Whether brackets and fences that open inside a string keep the quotation
    /// marks between them.
    pub nesting: bool,
}

/// Reads the object or array that starts at `start`. An error when what stands
/// there is not meant as JSON, with the place from where to look on.
pub fn parse<'a>(
    text: &'a str,
    start: usize,
    manner: Manner,
    budget: &mut Budget,
) -> Result<Parsed<'a>, usize> {
    let mut parser = Parser {
        text,
        at: start,
        budget,
        names: manner.names,
        nesting: manner.nesting,
        nested: false,
        unbalanced: false,
        doubtful: false,
        repeated: false,
        joins: false,
        half: false,
        cut: None,
        quoted: false,
        bare: false,
        phrases: false,
        objects: 0,
        arrays: 0,
        fields: 1,
        failed: false,
        too_deep: None,
        truncated: false,
        out_of_range: false,
        notes: Vec::new(),
    };
    let object = text[start..].starts_with('{');
    let node = if object { parser.object() } else { parser.array() };
    if parser.failed {
        return Err(parser.too_deep.unwrap_or(start + 1).max(start + 1));
    }
    Ok(Parsed {
        node,
        end: parser.at,
        closed: text[..parser.at].ends_with(if object { '}' } else { ']' }),
        bare: parser.bare,
        phrases: parser.phrases,
        quoted: parser.quoted,
        truncated: parser.truncated,
        out_of_range: parser.out_of_range,
        nested: parser.nested,
        unbalanced: parser.unbalanced,
        ambiguous: parser.repeated && parser.doubtful,
        half: parser.half && !parser.names.is_empty(),
        cut: parser.cut,
        notes: parser.notes,
    })
}

pub(crate) struct Parser<'a, 'b> {
    pub text: &'a str,
    pub at: usize,
    pub budget: &'b mut Budget,
    /// See `Manner`.
    pub names: &'b [String],
    pub nesting: bool,
    /// Nesting made a difference.
    pub nested: bool,
    pub unbalanced: bool,
    /// Marks were taken for text, or found missing.
    pub doubtful: bool,
    /// A field that was asked for by name stands there twice.
    repeated: bool,
    /// The string that was just read goes on after a `+`.
    pub joins: bool,
    /// The text ended in the middle of the string that was just read.
    pub half: bool,
    cut: Option<Cow<'a, str>>,
    quoted: bool,
    bare: bool,
    pub phrases: bool,
    /// Containers that are open.
    pub objects: usize,
    pub arrays: usize,
    /// How many the last object had: the objects of a list are alike.
    fields: usize,
    pub failed: bool,
    too_deep: Option<usize>,
    truncated: bool,
    pub out_of_range: bool,
    notes: Vec<&'static str>,
}

impl<'a> Parser<'a, '_> {
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn note(&mut self, note: &'static str) {
        // The same note comes again and again, mostly from the same place.
        if !self.notes.iter().any(|known| std::ptr::eq(*known, note) || *known == note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn cut_off(&mut self) {
        self.truncated = true;
        self.note("the text is cut off");
    }

    /// Passes over white space and comments.
    #[inline]
    pub(crate) fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n')) {
            self.at += 1;
        }
        // What begins here is neither: the rule, and worth its own short way.
        if !matches!(bytes.get(self.at), Some(b'!' | b'"' | b'$'..=b'.' | b'0'..0x80)) {
            self.skip_all();
        }
    }

    fn skip_all(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = trim_start(rest);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("/*") {
                self.note("comments were left out");
                let length = trimmed.find("*/").map_or(trimmed.len(), |end| end + 2);
                self.budget.spend(length);
                self.at += length;
            } else if trimmed.starts_with("//") || trimmed.starts_with('#') {
                self.note("comments were left out");
                let line = trimmed.find('\n');
                self.budget.spend(line.unwrap_or(trimmed.len() / 4));
                // On the last line, a comment ends where the container does.
                let end = line.or_else(|| trimmed.find(['}', ']'])).unwrap_or(trimmed.len());
                self.at += end;
            } else {
                return;
            }
        }
    }

    /// True when there is no leave to go on.
    pub(crate) fn stop(&mut self) -> bool {
        self.budget.spend(1);
        if self.budget.is_spent() {
            self.failed = true;
        }
        self.failed
    }

    fn object(&mut self) -> Node<'a> {
        let mut fields = Fields::new();
        let mut garbage = false;
        self.at += 1;
        self.objects += 1;
        while !self.stop() {
            self.skip();
            let Some(next) = self.peek() else {
                self.cut_off();
                break;
            };
            match next {
                '}' => {
                    self.at += 1;
                    break;
                }
                ']' => {
                    self.note("brackets did not match");
                    // The array around the object ends, and the object with it.
                    if self.arrays == 0 {
                        self.at += 1;
                    }
                    break;
                }
                ',' | ';' => {
                    self.at += 1;
                    continue;
                }
                '.' if self.rest().starts_with("...") => {
                    self.at += 3;
                    self.note("an ellipsis was left out");
                    continue;
                }
                '…' => {
                    self.at += next.len_utf8();
                    self.note("an ellipsis was left out");
                    continue;
                }
                '`' if self.rest().starts_with("```") => {
                    garbage = true;
                    self.cut_off();
                    break;
                }
                '{' | '[' => {
                    garbage = true;
                    self.note("brackets did not match");
                    break;
                }
                _ => {}
            }
            let quoted = is_quote(next) || self.is_slashed();
            self.quoted |= quoted;
            self.bare |= !quoted;
            let name = if let Some((name, length)) = quotes::doubled_name(self.rest()) {
                self.note("quotation marks were replaced");
                self.at += length;
                Cow::Borrowed(name)
            } else if quoted {
                let (raw, escaped) = self.string(Role::Name);
                escapes::resolve(raw, escaped)
            } else {
                Cow::Borrowed(self.bare_name())
            };
            self.skip();
            let rest = self.rest();
            if rest.is_empty() {
                self.cut_off();
                self.keep_only_name(&mut fields, name);
                break;
            }
            if let Some(sign) = ["=>", ":", "=", "："].iter().find(|sign| rest.starts_with(**sign))
            {
                self.at += sign.len();
            } else if (quoted && (starts_value(rest) || quotes::is_word_value(rest)))
                || (!name.is_empty() && quotes::is_quoted_value(rest))
            {
                self.note("a colon was missing");
            } else {
                garbage |= !quoted;
                self.note("a name without a value was left out");
                if name.is_empty()
                    && self.at < self.text.len()
                    && !rest.starts_with(['}', ']', ','])
                {
                    self.at += rest.chars().next().map_or(0, char::len_utf8);
                }
                continue;
            }
            let colon = self.at;
            self.skip();
            match self.peek() {
                None => {
                    self.cut_off();
                    self.keep_only_name(&mut fields, name);
                    break;
                }
                Some(',' | '}' | ']') => self.missing(&mut fields, name, colon),
                Some(_) => {
                    let value = self.value(Role::Field);
                    // What has no name, not even a bare one, belongs to nothing.
                    if !quoted && name.is_empty() {
                        self.note("a value without a name was left out");
                    } else if self.is_half(value.as_ref()) {
                        self.leave_out_half(&mut fields, name);
                    } else if let Some(value) = value {
                        if fields.is_empty() {
                            fields.reserve_exact(self.fields);
                        }
                        let known = self.names.binary_search_by(|known| known.as_str().cmp(&name));
                        let replaced = Node::set(&mut fields, name, value);
                        self.repeated |= replaced && known.is_ok();
                    } else {
                        self.note("a name without a value was left out");
                    }
                }
            }
        }
        self.objects -= 1;
        if !fields.is_empty() {
            self.fields = fields.len().min(MOST_RESERVED);
        }
        // Braces around prose are not an object.
        if fields.is_empty() && garbage {
            self.failed = true;
        }
        Node::Object(fields)
    }

    /// Whether a text was read to the end of everything, and not to its own. Where
    /// fields are asked for by name, half a report must not pass for one.
    fn is_half(&self, value: Option<&Node>) -> bool {
        self.half && !self.names.is_empty() && matches!(value, Some(Node::Text { .. }))
    }

    fn leave_out_half(&mut self, fields: &mut Fields<'a>, name: Cow<'a, str>) {
        self.note("a text that was cut off was left out");
        // It was about to take the place of what stood there before.
        fields.retain(|(known, _)| *known != name);
        if self.objects == 1 && self.arrays == 0 {
            self.cut = Some(name);
        }
    }

    /// `\"` where a mark should stand alone.
    fn is_slashed(&self) -> bool {
        self.rest().starts_with("\\\"") || self.rest().starts_with("\\'")
    }

    /// A name whose value is missing. What libraries make of it differs: where
    /// there is nothing at all, null; where there is a blank, an empty text.
    fn missing(&mut self, fields: &mut Fields<'a>, name: Cow<'a, str>, colon: usize) {
        if !self.names.is_empty() || name.is_empty() {
            self.note("a name without a value was left out");
            return;
        }
        self.note("a missing value was taken for an empty one");
        let blank = self.at > colon;
        let value = if blank { Node::Text { raw: "".into(), escaped: false } } else { Node::Null };
        Node::set(fields, name, value);
    }

    /// A name at which the text is cut off. It is left out, but where it is all
    /// that there is.
    fn keep_only_name(&mut self, fields: &mut Fields<'a>, name: Cow<'a, str>) {
        let only = fields.is_empty() && self.objects == 1 && self.arrays == 0;
        let plain = !name.is_empty() && !name.contains(['"', '{', '}', '[', ']', '\n']);
        if only && plain && self.names.is_empty() {
            self.note("a missing value was taken for an empty one");
            Node::set(fields, name, Node::Null);
        } else {
            self.note("a name without a value was left out");
        }
    }

    /// A list that was cut off before its first item says nothing; it must not
    /// pass for an empty one where it was asked for.
    fn unless_cut_empty(&mut self, node: Node<'a>) -> Option<Node<'a>> {
        let empty = match &node {
            Node::Array(items) => items.is_empty(),
            Node::Object(fields) => fields.is_empty(),
            _ => false,
        };
        let cut = empty && self.truncated && !self.names.is_empty();
        (!cut).then_some(node)
    }

    /// Whether a brace that stands where an array should end closes just the
    /// array: the outermost object goes on after it.
    fn closes_array_only(&self) -> bool {
        let after = trim_start(&self.rest()[1..]);
        self.objects == 1
            && after
                .strip_prefix(',')
                .map(trim_start)
                .is_some_and(|next| looks_like_name(next) && quotes::knows(self.names, next))
    }

    fn array(&mut self) -> Node<'a> {
        let mut items = Vec::new();
        self.at += 1;
        self.arrays += 1;
        while !self.stop() {
            self.skip();
            let Some(next) = self.peek() else {
                self.cut_off();
                break;
            };
            match next {
                ']' => {
                    self.at += 1;
                    break;
                }
                '}' => {
                    self.note("brackets did not match");
                    if self.objects > 0 {
                        self.at += usize::from(self.closes_array_only());
                        break;
                    }
                    self.at += 1;
                }
                ',' | ';' => self.at += 1,
                '.' if self.rest().starts_with("...") => {
                    self.at += 3;
                    self.note("an ellipsis was left out");
                }
                '`' if self.rest().starts_with("```") => {
                    self.cut_off();
                    break;
                }
                // A field whose array was never closed.
                _ if self.objects > 0
                    && is_quote(next)
                    && !items.is_empty()
                    && looks_like_name(self.rest()) =>
                {
                    self.note("brackets did not match");
                    break;
                }
                _ => match self.value(Role::Item) {
                    // Half an address leads nowhere.
                    value if self.is_half(value.as_ref()) => {
                        self.note("an item that was cut off was left out");
                    }
                    Some(value) => items.push(value),
                    None => self.at += self.peek().map_or(0, char::len_utf8),
                },
            }
        }
        self.arrays -= 1;
        Node::Array(items)
    }

    fn value(&mut self, role: Role) -> Option<Node<'a>> {
        match self.peek()? {
            '{' | '[' if self.objects + self.arrays >= DEEPEST => {
                self.failed = true;
                self.too_deep = Some(self.at);
                None
            }
            '{' => {
                let object = self.object();
                self.unless_cut_empty(object)
            }
            '[' => {
                let array = self.array();
                self.unless_cut_empty(array)
            }
            character
                if is_quote(character) && !self.rest().starts_with("```") || self.is_slashed() =>
            {
                if character != '"' {
                    self.note("quotation marks were replaced");
                }
                Some(self.text_value(role))
            }
            '`' => self.fenced_value().or_else(|| self.bare_value(role)),
            _ => self.bare_value(role),
        }
    }
}
