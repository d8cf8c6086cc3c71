//! Computes for ever.

use std::hint::black_box;

fn spin() -> String {
    let mut turns = 0_u64;
    while black_box(true) {
        turns = turns.wrapping_add(1);
    }
    turns.to_string()
}

hostile::strategy!(spin);
