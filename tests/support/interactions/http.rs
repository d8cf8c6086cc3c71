//! Just enough HTTP/1.1: requests with a length, answers with one.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

pub struct Request {
    pub method: String,
    /// Without the query, as it was sent.
    pub path: String,
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, wanted: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }
}

/// None at the end of the connection.
pub fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: u64 = length.map_or(Ok(0), |(_, value)| value.parse()).map_err(io::Error::other)?;
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    if body.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(Request { method, path, query, headers, body }))
}

pub fn write(mut stream: &TcpStream, response: &Response) -> io::Result<()> {
    stream.write_all(&bytes(response))?;
    stream.flush()
}

/// The first half of it, and then nothing.
pub fn write_half(mut stream: &TcpStream, response: &Response) -> io::Result<()> {
    let bytes = bytes(response);
    stream.write_all(&bytes[..bytes.len() - response.body.len() / 2 - 1])?;
    stream.flush()
}

fn bytes(response: &Response) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {} Status\r\ncontent-type: application/json; charset=UTF-8\r\ncontent-length: {}\r\n",
        response.status,
        response.body.len()
    );
    for (name, value) in &response.headers {
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&response.body);
    bytes
}
