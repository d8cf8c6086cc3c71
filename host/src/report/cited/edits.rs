//! What is taken out of a text and what is put in its place, in one pass from
//! beginning to end. Numbers are given here, because they count by first use.

use std::collections::HashMap;
use std::ops::Range;

use super::Form;

#[derive(Debug)]
pub struct Edit {
    /// What is taken out; empty where something is only put in.
    pub range: Range<usize>,
    /// Put in as they are.
    pub words: Option<String>,
    /// Sources, whose numbers are put in.
    pub cited: Vec<usize>,
}

impl Edit {
    pub fn cite(range: Range<usize>, cited: Vec<usize>) -> Self {
        Self { range, words: None, cited }
    }

    pub fn words(range: Range<usize>, words: &str) -> Self {
        Self { range, words: Some(words.to_owned()), cited: Vec::new() }
    }
}

#[derive(Debug, Default)]
pub struct Edits(Vec<Edit>);

pub struct Applied {
    pub text: String,
    /// The sources in the order of their numbers.
    pub order: Vec<usize>,
    /// Every number that was put in.
    pub used: Vec<usize>,
}

impl Edits {
    pub fn push(&mut self, edit: Edit) {
        self.0.push(edit);
    }

    pub fn apply(mut self, text: &str, form: Form) -> Applied {
        // Stable: what was pushed first at a place stands first there.
        self.0.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut output = Output { form, ..Output::new(text.len()) };
        let mut cursor = 0;
        for edit in &self.0 {
            let start = edit.range.start.max(cursor);
            if start > cursor {
                output.text.push_str(&text[cursor..start]);
                output.standing.clear();
            }
            cursor = edit.range.end.max(start);
            output.put(edit);
        }
        output.text.push_str(&text[cursor..]);
        Applied { text: output.text, order: output.order, used: output.used }
    }
}

struct Output {
    form: Form,
    text: String,
    numbers: HashMap<usize, usize>,
    order: Vec<usize>,
    used: Vec<usize>,
    /// The numbers that were just put in, with nothing after them yet.
    standing: Vec<usize>,
}

impl Output {
    fn new(capacity: usize) -> Self {
        Self {
            form: Form::Brackets,
            text: String::with_capacity(capacity + capacity / 8),
            numbers: HashMap::new(),
            order: Vec::new(),
            used: Vec::new(),
            standing: Vec::new(),
        }
    }

    fn put(&mut self, edit: &Edit) {
        for source in &edit.cited {
            let next = self.order.len() + 1;
            let number = *self.numbers.entry(*source).or_insert(next);
            if number == next {
                self.order.push(*source);
            }
            if self.standing.contains(&number) {
                continue;
            }
            if self.standing.is_empty() {
                self.space();
            }
            self.text.push_str(&self.form.mark(number));
            self.standing.push(number);
            self.used.push(number);
        }
        if let Some(words) = edit.words.as_deref().filter(|words| !words.is_empty()) {
            self.text.push_str(words);
        }
    }

    /// A footnote stands close to its word, a number in brackets a space from it.
    fn space(&mut self) {
        let line = self.text.rfind('\n').map_or(0, |newline| newline + 1);
        let content = self.text[line..].trim_end_matches(' ');
        // At the beginning of a line, or of a list's item, the space is Markdown's.
        let begins =
            content.trim_start().is_empty() || content.ends_with(['-', '*', '+', '|', '>', '#']);
        match self.form {
            Form::Footnotes if !begins => self.text.truncate(line + content.len()),
            Form::Brackets if !begins && !self.text.ends_with([' ', '(', '[', '\t']) => {
                self.text.push(' ');
            }
            _ => {}
        }
    }
}
