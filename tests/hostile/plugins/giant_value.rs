//! Returns more than any plan needs, yet less than its memory may hold.

fn boast() -> String {
    "deeper ".repeat((24 << 20) / 7)
}

hostile::strategy!(boast);
