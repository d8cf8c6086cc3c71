//! How much work a text may cost. A value that was read is paid for by the text
//! it takes up; what bounds the rest is here: each attempt may look only so far
//! ahead, and all failed attempts together only so often, so that the whole stays
//! linear in the length of the text, whatever it holds. An attempt that looks far
//! and takes little counts as failed for the rest.

/// Steps that are left.
#[derive(Debug)]
pub struct Budget {
    left: usize,
    given: usize,
}

/// Steps for each byte in one attempt: a look at it and a few looks ahead.
const ONE_ATTEMPT: usize = 14;
/// Steps for each byte in all attempts that fail.
const ALL_FAILURES: usize = 2;
const AT_LEAST: usize = 200_000;

impl Budget {
    pub fn for_attempt(length: usize) -> Self {
        Self::new(length.saturating_mul(ONE_ATTEMPT))
    }

    pub fn for_failures(length: usize) -> Self {
        Self::new(length.saturating_mul(ALL_FAILURES))
    }

    fn new(steps: usize) -> Self {
        let given = steps.saturating_add(AT_LEAST);
        Self { left: given, given }
    }

    pub fn spend(&mut self, steps: usize) {
        self.left = self.left.saturating_sub(steps);
    }

    pub fn spent(&self) -> usize {
        self.given - self.left
    }

    /// Steps beyond those that a value of this length may cost.
    pub fn spent_beyond(&self, length: usize) -> usize {
        self.spent().saturating_sub(length.saturating_mul(ONE_ATTEMPT))
    }

    pub fn is_spent(&self) -> bool {
        self.left == 0
    }
}
