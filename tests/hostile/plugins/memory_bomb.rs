//! Takes memory until there is none.

use std::hint::black_box;

fn hoard() -> String {
    let mut blocks = Vec::new();
    while black_box(true) {
        blocks.push(vec![1_u8; 1 << 20]);
    }
    blocks.len().to_string()
}

hostile::strategy!(hoard);
