//! Panics, with words that the user should see.

fn fall_over() -> String {
    panic!("the depth gauge reads below zero")
}

hostile::strategy!(fall_over);
