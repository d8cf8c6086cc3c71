//! Calls the host for ever; each call is cheap and allowed.

use std::hint::black_box;

use hostile::sdk::log::{Level, write};

fn chatter() -> String {
    while black_box(true) {
        write(Level::Trace, "again");
    }
    String::new()
}

hostile::strategy!(chatter);
