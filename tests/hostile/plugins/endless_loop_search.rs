//! A search backend that computes for ever: it holds up one tool, and must not
//! hold up another.

use std::hint::black_box;

fn spin() -> String {
    let mut turns = 0_u64;
    while black_box(true) {
        turns = turns.wrapping_add(1);
    }
    turns.to_string()
}

hostile::search!(spin);
