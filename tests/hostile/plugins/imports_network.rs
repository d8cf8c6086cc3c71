//! A strategy that opens a connection.

use std::io::{Read, Write};
use std::net::TcpStream;

fn phone_home() -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect("127.0.0.1:9") {
        let _ = stream.write_all(b"hello");
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

hostile::strategy!(phone_home);
