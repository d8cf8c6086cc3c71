//! One JSON-RPC message a line. rmcp's own transport drops what it cannot parse
//! without a word; here every line gets an answer that says what is wrong with
//! it.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The longest line that is read as a message.
const MOST_BYTES: usize = 64 << 20;

/// What is kept of a line's room for the next one.
const KEPT_BYTES: usize = 1 << 20;

pub struct Lines<R, W> {
    reader: BufReader<R>,
    /// What has been read of the current line. It stays here when a read is
    /// dropped halfway, so that nothing is lost.
    line: Vec<u8>,
    /// The current line is too long, and is skipped to its end.
    skipping: bool,
    writer: Arc<Mutex<W>>,
    closed: CancellationToken,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Lines<R, W> {
    /// `closed` is cancelled when the client closes its end.
    pub fn new(reader: R, writer: W, closed: CancellationToken) -> Self {
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            skipping: false,
            writer: Arc::new(Mutex::new(writer)),
            closed,
        }
    }

    /// Reads to the end of a line. True: `line` holds a whole one. False: it was
    /// too long. None: there is nothing more.
    async fn next_line(&mut self) -> Option<bool> {
        loop {
            let available = match self.reader.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                // A last line need not be ended.
                Ok(_) if !self.line.is_empty() => return Some(true),
                _ => return None,
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if self.skipping || self.line.len() + taken > MOST_BYTES {
                self.line = Vec::new();
                self.skipping = end.is_none();
                self.reader.consume(taken);
                if end.is_some() {
                    return Some(false);
                }
                continue;
            }
            self.line.extend_from_slice(&available[..taken]);
            self.reader.consume(taken);
            if end.is_some() {
                return Some(true);
            }
        }
    }

    /// Answers what is no message. A client that no longer listens will close
    /// its end too, so a failure here is left to that.
    async fn refuse(&mut self, refusal: Refusal) {
        let Refusal { id, error } = refusal;
        let answer = serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error });
        let _ = write_line(&self.writer, &answer.to_string()).await;
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    writer: &Mutex<W>,
    message: &str,
) -> std::io::Result<()> {
    let mut line = String::with_capacity(message.len() + 1);
    line.push_str(message);
    line.push('\n');
    let mut writer = writer.lock().await;
    writer.write_all(line.as_bytes()).await?;
    writer.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let writer = self.writer.clone();
        async move {
            let message = serde_json::to_string(&item)?;
            write_line(&writer, &message).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.next_line().await {
                Some(true) => {}
                Some(false) => {
                    let message =
                        format!("a message may have {} MiB at the most", MOST_BYTES >> 20);
                    let error = ErrorData::invalid_request(message, None);
                    self.refuse(Refusal { id: Value::Null, error }).await;
                    continue;
                }
                None => {
                    self.closed.cancel();
                    return None;
                }
            }
            let read = read_message(&self.line);
            self.line.clear();
            self.line.shrink_to(KEPT_BYTES);
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(refusal) => self.refuse(refusal).await,
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.lock().await.flush().await
    }
}

#[derive(Debug)]
struct Refusal {
    id: Value,
    error: ErrorData,
}

/// A line as a message; none when it is blank, or a notification nobody knows.
fn read_message(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Ok(Some(message));
    }
    let refuse = |id: Value, code: ErrorCode, message: String| {
        Err(Refusal { id, error: ErrorData::new(code, message, None) })
    };
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            return refuse(
                Value::Null,
                ErrorCode::PARSE_ERROR,
                format!("the line is not JSON: {error}; send one JSON-RPC message a line"),
            );
        }
    };
    let is_version_2 = value.get("jsonrpc").is_some_and(|version| version == "2.0");
    let id = match value.get("id") {
        Some(Value::Number(number)) if number.is_f64() => Value::Null,
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    };
    match (&value, value.get("method")) {
        (Value::Array(_), _) => refuse(
            id,
            ErrorCode::INVALID_REQUEST,
            "batches are not part of MCP; send one message a line".to_owned(),
        ),
        (Value::Object(_), Some(Value::String(_))) if value.get("id").is_none() => Ok(None),
        (Value::Object(_), Some(Value::String(method))) if is_version_2 && !id.is_null() => refuse(
            id,
            ErrorCode::INVALID_PARAMS,
            format!("the request `{method}` does not have the parameters it needs"),
        ),
        _ => refuse(
            id,
            ErrorCode::INVALID_REQUEST,
            "this is not a JSON-RPC 2.0 message: it needs `jsonrpc` (\"2.0\"), an `id` (a string or \
             a whole number) and a `method`"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> (Value, i32) {
        let refusal = read_message(line.as_bytes()).unwrap_err();
        (refusal.id, refusal.error.code.0)
    }

    #[test]
    fn a_request_is_read_with_or_without_a_byte_order_mark() {
        let line = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert!(read_message(line.as_bytes()).unwrap().is_some());
        assert!(read_message(format!("\u{feff}{line}\r\n").as_bytes()).unwrap().is_some());
    }

    #[test]
    fn blank_lines_and_unknown_notifications_are_passed_over() {
        assert!(read_message(b" \r\n").unwrap().is_none());
        let unknown = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":7}"#;
        assert!(read_message(unknown.as_bytes()).unwrap().is_none());
    }

    #[test]
    fn what_is_wrong_is_said_with_the_id_where_there_is_one() {
        assert_eq!(refused("{oops"), (Value::Null, -32700));
        assert_eq!(refused("[]"), (Value::Null, -32600));
        assert_eq!(refused("7"), (Value::Null, -32600));
        assert_eq!(refused(r#"{"id":7}"#), (Value::from(7), -32600));
        let missing = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[]}"#;
        assert_eq!(refused(missing), (Value::from("a"), -32602));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_and_the_next_is_read() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(server);
        let closed = CancellationToken::new();
        let mut lines = Lines::new(reader, writer, closed.clone());
        let sending = tokio::spawn(async move {
            let chunk = vec![b'x'; 1 << 20];
            for _ in 0..=(MOST_BYTES >> 20) {
                client.write_all(&chunk).await.unwrap();
            }
            client
                .write_all(b"\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n")
                .await
                .unwrap();
            let mut answer = String::new();
            BufReader::new(&mut client).read_line(&mut answer).await.unwrap();
            answer
        });
        assert!(lines.receive().await.is_some());
        let answer = sending.await.unwrap();
        assert!(answer.contains("64 MiB"), "{answer}");
        assert!(lines.receive().await.is_none());
        assert!(closed.is_cancelled());
    }
}
