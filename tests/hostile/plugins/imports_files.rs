//! A strategy that reads a file.

fn peek() -> String {
    std::fs::read_to_string("/etc/hostname").unwrap_or_default()
}

hostile::strategy!(peek);
