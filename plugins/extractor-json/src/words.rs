//! Reads what stands without quotation marks in broken JSON: names, numbers,
//! words, phrases.

use std::borrow::Cow;

use crate::node::Node;
use crate::quotes::{self, Role, is_space, looks_like_name, near, starts_value, trim_start};
use crate::strict::{end_of_number, is_in_range};
use crate::tolerant::Parser;

/// A value without quotation marks that is longer, in bytes, is a phrase.
const LONGEST_PLAIN: usize = 40;

impl<'a> Parser<'a, '_> {
    pub(crate) fn bare_name(&mut self) -> &'a str {
        self.note("names were put in quotation marks");
        let rest = near(self.rest(), 400);
        let end = rest
            .find(|character: char| {
                matches!(character, ':' | ',' | '{' | '}' | '[' | ']' | '\n' | '"' | '=')
            })
            .unwrap_or(rest.len());
        // `name "value"`: only the colon is missing.
        if let Some(word) = rest[..end].find(is_space).filter(|word| *word > 0)
            && quotes::is_quoted_value(trim_start(&rest[word..]))
        {
            self.at += word;
            return &rest[..word];
        }
        self.at += end;
        // A name that has lost its first quotation mark.
        if self.rest().starts_with('"') {
            self.at += 1;
        }
        rest[..end].trim_matches(is_space).trim_end_matches('\'')
    }

    /// A value without quotation marks: a number, a word, a phrase.
    pub(crate) fn bare_value(&mut self, role: Role) -> Option<Node<'a>> {
        let start = self.at;
        if let Some(end) = self.end_of_plain(role) {
            self.budget.spend(end - start);
            self.at = end;
            let word = &self.text[start..end];
            return Some(match word {
                "true" => Node::Bool(true),
                "false" => Node::Bool(false),
                "null" => Node::Null,
                number => self.number(Cow::Borrowed(number)),
            });
        }
        if let Some(node) = self.wrapped() {
            return Some(node);
        }
        let mut end = None;
        while let Some(character) = self.peek() {
            if self.stop() {
                return None;
            }
            // Most characters mean nothing; only these are worth a look ahead.
            if !matches!(character, ',' | ';' | '}' | ']' | '\n' | ' ' | '\t' | '/' | '`' | '"') {
                self.at += character.len_utf8();
                continue;
            }
            let after = near(&self.rest()[1..], 400);
            let next = trim_start(after);
            let ends = match character {
                ',' if role == Role::Item => true,
                ',' => {
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    is_literal(so_far)
                        || quotes::is_cut_name(next)
                        || next.is_empty()
                        || next.starts_with(['}', ']', '.', '/', '{', '[', ','])
                        || looks_like_name(next)
                }
                ';' => {
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    is_literal(so_far) && (next.starts_with(['}', ']']) || looks_like_name(next))
                }
                '}' => self.objects > 0 || role == Role::Field,
                ']' => self.arrays > 0 || role == Role::Field,
                '\n' => {
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    next.is_empty()
                        || role == Role::Item
                        || next.starts_with(['}', ']', '{', '[', '"'])
                        || looks_like_name(next)
                        || is_literal(so_far)
                }
                ' ' | '\t' => {
                    let comment =
                        next.starts_with("/*") || next.starts_with("//") || next.starts_with('#');
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    comment
                        || next.starts_with('"') && (role == Role::Item || looks_like_name(next))
                        || is_literal(so_far)
                            && (role == Role::Item && starts_value(next) || looks_like_name(next))
                }
                '/' => {
                    let address = self.text[start..self.at].ends_with(':');
                    after.starts_with('*') || (after.starts_with('/') && !address)
                }
                '`' => after.starts_with("``"),
                '"' => {
                    let closes = next.is_empty() || next.starts_with([',', '}', ']']);
                    if closes {
                        end = Some(self.at);
                        self.at += 1;
                    }
                    let so_far = self.text[start..self.at].trim_matches(is_space);
                    closes || is_literal(so_far) && looks_like_name(self.rest())
                }
                _ => false,
            };
            if ends {
                break;
            }
            self.at += 1;
        }
        let word = self.text[start..end.unwrap_or(self.at)].trim_matches(is_space);
        let cut = self.at == self.text.len();
        if cut {
            self.cut_off();
        }
        self.word(word, cut)
    }

    /// The end of a number or a literal that needs no second look: what follows
    /// it ends any value.
    fn end_of_plain(&self, role: Role) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let end = match bytes.get(self.at)? {
            b'-' | b'0'..=b'9' => end_of_number(bytes, self.at)?,
            b't' | b'f' | b'n' => {
                let word = ["true", "false", "null"]
                    .into_iter()
                    .find(|word| bytes[self.at..].starts_with(word.as_bytes()))?;
                self.at + word.len()
            }
            _ => return None,
        };
        let ends = match bytes.get(end)? {
            b',' | b'\n' => true,
            b']' => self.arrays > 0 || role == Role::Field,
            b'}' => self.objects > 0 || role == Role::Field,
            _ => false,
        };
        ends.then_some(end)
    }

    fn number(&mut self, text: Cow<'a, str>) -> Node<'a> {
        self.out_of_range |= !is_in_range(&text);
        Node::Number(text)
    }

    fn word(&mut self, word: &'a str, cut: bool) -> Option<Node<'a>> {
        let node = match word {
            "" => return None,
            "true" | "True" | "TRUE" => Node::Bool(true),
            "false" | "False" | "FALSE" => Node::Bool(false),
            "null" | "None" | "NULL" | "Null" | "undefined" => Node::Null,
            _ => {
                if end_of_number(word.as_bytes(), 0) == Some(word.len()) {
                    return Some(self.number(Cow::Borrowed(word)));
                }
                if let Some(number) = mended_number(word) {
                    self.note("a number was completed");
                    return Some(self.number(Cow::Owned(number)));
                }
                let half =
                    match ["true", "false", "null"].iter().find(|whole| whole.starts_with(word)) {
                        Some(whole) if cut => Some(*whole),
                        // A sign of nothing.
                        _ if word == "-" => Some("0"),
                        _ => None,
                    };
                if let Some(whole) = half {
                    return self.half_word(whole);
                }
                self.note("bare words were put in quotation marks");
                self.half |= cut;
                self.phrases |= word.len() > LONGEST_PLAIN && word.contains(' ');
                return Some(Node::Text { raw: Cow::Borrowed(word), escaped: false });
            }
        };
        if !matches!(word, "true" | "false" | "null") {
            self.note("words of another language were translated");
        }
        Some(node)
    }

    /// Half a word, of which only one whole is possible. Where fields are asked
    /// for by name it is left out: what was not said must not satisfy a schema.
    fn half_word(&mut self, whole: &'static str) -> Option<Node<'a>> {
        if !self.names.is_empty() {
            return None;
        }
        self.note("a word was completed");
        Some(match whole {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            "null" => Node::Null,
            number => Node::Number(Cow::Borrowed(number)),
        })
    }

    /// `NumberLong("2")`, `(2)`: a value in the call or the brackets of another
    /// language.
    fn wrapped(&mut self) -> Option<Node<'a>> {
        let rest = near(self.rest(), 400);
        let word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
        let open = rest.find(|character| !word(character))?;
        let inner = rest[open..].strip_prefix('(')?;
        let length = match inner.chars().next()? {
            quote @ ('"' | '\'') => 2 + inner[1..].find(quote)?,
            _ => end_of_number(inner.as_bytes(), 0)?,
        };
        let after = inner[length..].strip_prefix(')')?;
        if !trim_start(after).is_empty() && !trim_start(after).starts_with([',', '}', ']', ';']) {
            return None;
        }
        self.note("values were taken out of calls");
        self.at += open + 1 + length + 1;
        let content = &inner[..length];
        Some(match content.strip_prefix(['"', '\'']) {
            Some(text) => {
                let raw = &text[..text.len() - 1];
                Node::Text { raw: Cow::Borrowed(raw), escaped: raw.contains('\\') }
            }
            None => self.number(Cow::Borrowed(content)),
        })
    }
}

fn is_literal(word: &str) -> bool {
    matches!(word, "true" | "false" | "null" | "True" | "False" | "None")
        || end_of_number(word.as_bytes(), 0) == Some(word.len())
}

/// `.5`, `5.`, `+5`, `2e`.
fn mended_number(word: &str) -> Option<String> {
    let unsigned = word.strip_prefix('+').unwrap_or(word);
    let (sign, digits) = unsigned.strip_prefix('-').map_or(("", unsigned), |digits| ("-", digits));
    let digits = match digits.trim_end_matches(['+', '-']).strip_suffix(['e', 'E']) {
        Some(shorter) => shorter,
        None => digits,
    };
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    let lead = if digits.starts_with('.') { "0" } else { "" };
    let number = format!("{sign}{lead}{digits}");
    (end_of_number(number.as_bytes(), 0) == Some(number.len())).then_some(number)
}
