//! Calls itself for ever.

use std::hint::black_box;

#[expect(unconditional_recursion, reason = "it is what this plugin does wrong")]
fn dive(depth: u64) -> u64 {
    // The addition comes after the call, so the call cannot become a jump.
    dive(black_box(depth + 1)) + depth
}

fn descend() -> String {
    dive(black_box(0)).to_string()
}

hostile::strategy!(descend);
