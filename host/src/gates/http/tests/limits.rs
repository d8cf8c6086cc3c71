//! Limits: floods, bombs, drips and lies, each ended and each named.

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

async fn kind(server: &Server, max_bytes: Option<u64>) -> GateErrorKind {
    let request = Request { max_bytes, ..get(server.url("/")) };
    gate_to(server).send(request).await.expect_err("an error").kind
}

/// Writes a chunk again and again until the client has had enough.
fn endless(head: &'static str, chunk: Vec<u8>) -> Server {
    Server::start(move |_, stream| {
        stream.write_all(head.as_bytes())?;
        loop {
            write!(stream, "{:x}\r\n", chunk.len())?;
            stream.write_all(&chunk)?;
            stream.write_all(b"\r\n")?;
        }
    })
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const CHUNKED_GZIP: &str =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-encoding: gzip\r\n\r\n";

#[tokio::test]
async fn a_body_may_be_as_large_as_the_limit() {
    let server = Server::saying(answer("200 OK", "", &[b'x'; 1000]));
    let request = Request { max_bytes: Some(1000), ..get(server.url("/")) };
    assert_eq!(gate_to(&server).send(request).await.expect("an answer").body.len(), 1000);
    assert_eq!(kind(&server, Some(999)).await, other("too-large"));
}

#[tokio::test]
async fn an_announced_flood_is_not_read() {
    let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n");
    assert_eq!(kind(&server, None).await, other("too-large"));
}

#[tokio::test]
async fn an_endless_body_is_cut() {
    let server = endless(CHUNKED, vec![b'x'; 64 << 10]);
    assert_eq!(kind(&server, None).await, other("too-large"));
    // The grant's limit holds whatever is asked for.
    assert_eq!(kind(&server, Some(u64::MAX)).await, other("too-large"));
}

#[tokio::test]
async fn gzip_is_unpacked() {
    let packed = answer("200 OK", "content-encoding: gzip\r\n", &gzip(b"hello hello hello"));
    let server = Server::saying(packed);
    let response = gate_to(&server).send(get(server.url("/"))).await.expect("an answer");
    assert_eq!(response.body, b"hello hello hello");
    assert!(server.requests()[0].contains("accept-encoding: gzip\r\n"));
    assert!(response.headers.iter().all(|(name, _)| !name.starts_with("content-")));
}

#[tokio::test]
async fn a_gzip_bomb_does_not_go_off() {
    let bomb = gzip(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    let server = Server::saying(answer("200 OK", "content-encoding: gzip\r\n", &bomb));
    assert_eq!(kind(&server, None).await, other("too-large"));
}

#[tokio::test]
async fn an_endless_gzip_of_nothing_is_cut() {
    let server = endless(CHUNKED_GZIP, gzip(b"").repeat(1000));
    assert_eq!(kind(&server, Some(1 << 20)).await, other("too-large"));
}

#[tokio::test]
async fn a_broken_or_cut_gzip_is_unavailable() {
    let whole = gzip(b"a body that is long enough to be cut somewhere in its middle");
    for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], b"not gzip at all"] {
        let server = Server::saying(answer("200 OK", "content-encoding: gzip\r\n", bytes));
        assert_eq!(kind(&server, None).await, GateErrorKind::Unavailable, "{bytes:?}");
    }
}

#[tokio::test]
async fn an_encoding_that_was_not_asked_for_is_an_error() {
    for encoding in ["br", "gzip, gzip", "zstd"] {
        let headers = format!("content-encoding: {encoding}\r\n");
        let server = Server::saying(answer("200 OK", &headers, b"x"));
        assert_eq!(kind(&server, None).await, other("encoding"), "{encoding}");
    }
}

#[tokio::test]
async fn an_answer_to_head_has_no_body() {
    let server = Server::saying(
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\ncontent-encoding: gzip\r\n\r\n",
    );
    let request = Request { method: "HEAD".to_owned(), ..get(server.url("/")) };
    let response = gate_to(&server).send(request).await.expect("an answer");
    assert_eq!(response.body, b"");
}

#[tokio::test]
async fn a_cut_body_is_unavailable() {
    let length = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf");
    assert_eq!(kind(&length, None).await, GateErrorKind::Unavailable);
    let chunked = Server::saying(format!("{CHUNKED}4\r\nhalf\r\n"));
    assert_eq!(kind(&chunked, None).await, GateErrorKind::Unavailable);
}

#[tokio::test]
async fn nonsense_is_unavailable() {
    for bytes in ["", "HTTP/1.1 2", "220 smtp.example ESMTP\r\n", "\0\0\0\0\r\n\r\n"] {
        let server = Server::saying(bytes);
        assert_eq!(kind(&server, None).await, GateErrorKind::Unavailable, "{bytes:?}");
    }
}

#[tokio::test]
async fn endless_headers_are_cut() {
    let one = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\nx-long: ")?;
        loop {
            stream.write_all(&[b'x'; 8192])?;
        }
    });
    assert_eq!(kind(&one, None).await, other("too-large"));

    let many = Server::start(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(&b"x-many: x\r\n".repeat(500))?;
        }
    });
    assert_eq!(kind(&many, None).await, other("too-large"));
}

#[tokio::test]
async fn large_headers_are_not_handed_on() {
    let headers = format!("x-long: {}\r\n", "x".repeat(70 << 10));
    let server = Server::saying(answer("200 OK", &headers, b""));
    assert_eq!(kind(&server, None).await, other("too-large"));
}

#[tokio::test]
async fn a_large_request_is_not_sent() {
    let server = Server::saying(answer("200 OK", "", b""));
    let request = Request {
        method: "POST".to_owned(),
        body: Some(vec![0; (16 << 20) + 1]),
        ..get(server.url("/"))
    };
    let error = gate_to(&server).send(request).await.expect_err("too large");
    assert_eq!(error.kind, other("too-large"));
    assert_eq!(server.requests(), [""; 0]);
}

/// Says something, and then nothing until the client hangs up.
fn stalling(start: &'static str) -> Server {
    Server::start(move |_, stream| {
        stream.write_all(start.as_bytes())?;
        std::io::Read::read(stream, &mut [0])?;
        Ok(())
    })
}

#[tokio::test]
async fn silence_ends_in_a_timeout() {
    for start in ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"] {
        let server = stalling(start);
        let request = Request { timeout: Some(Duration::from_millis(50)), ..get(server.url("/")) };
        let error = gate_to(&server).send(request).await.expect_err("too slow");
        assert_eq!(error.kind, other("timeout"), "{start}: {error}");
    }
}

#[tokio::test]
async fn the_grants_time_holds_whatever_is_asked_for() {
    let server = stalling("");
    let grants = Grants { hosts: vec![host("127.0.0.1", server.port)], ..Grants::default() };
    let limits = HttpLimits { total: Duration::from_millis(50), ..HttpLimits::default() };
    let gate = HttpGate::with_limits(&grants, Arc::new(Secrets::default()), limits);
    let request = Request { timeout: Some(Duration::MAX), ..get(server.url("/")) };
    assert_eq!(gate.send(request).await.expect_err("too slow").kind, other("timeout"));
}

#[tokio::test]
async fn a_drip_ends_in_a_timeout() {
    // Each byte comes quickly; it is the whole that takes too long.
    let server = Server::start(|_, stream| {
        stream.write_all(CHUNKED.as_bytes())?;
        loop {
            stream.write_all(b"1\r\nx\r\n")?;
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let request = Request { timeout: Some(Duration::from_millis(80)), ..get(server.url("/")) };
    let error = gate_to(&server).send(request).await.expect_err("too slow");
    assert_eq!(error.kind, other("timeout"));
}
