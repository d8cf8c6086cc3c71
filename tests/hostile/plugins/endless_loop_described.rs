//! Computes for ever when it is asked what it is, before any question is.

use std::hint::black_box;

use hostile::sdk::meta::Description;

fn describe(kind: &str) -> Description {
    while black_box(true) {}
    hostile::description(kind)
}

fn honest() -> String {
    "an honest plan".to_owned()
}

hostile::strategy!(honest, describe);
