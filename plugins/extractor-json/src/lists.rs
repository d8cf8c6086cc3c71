//! Which values stand in a list, where a schema names no fields to tell them by.

use crate::budget::Budget;
use crate::find::LONGEST_SPACE;
use crate::quotes::{near, trim_start};
use crate::strict;

/// The lists of objects in a text, as far as it was read: what stands in one is
/// an example or an item, seldom the answer.
pub struct Lists<'a> {
    text: &'a str,
    end: usize,
    budget: Budget,
}

impl<'a> Lists<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, end: 0, budget: Budget::for_failures(text.len()) }
    }

    pub fn hold(&self, at: usize) -> bool {
        at < self.end
    }

    /// Looks at the bracket at `at`: whether objects stand in it, up to where it
    /// closes.
    pub fn open(&mut self, at: usize) {
        if at < self.end || self.budget.is_spent() {
            return;
        }
        let inside = &self.text[at + 1..];
        if !trim_start(near(inside, LONGEST_SPACE)).starts_with('{') {
            if let Ok(end) = strict::end_of_value(self.text, at, &mut self.budget) {
                self.end = end;
            }
            return;
        }
        let mut depth = 1_usize;
        for (offset, byte) in inside.bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.budget.spend(offset);
                self.end = at + 1 + offset;
                return;
            }
        }
        self.budget.spend(inside.len());
    }
}
