//! The gate against servers on loopback that misbehave in every way we know.

mod limits;
mod once;
mod redirects;
mod secrets;
mod server;

use std::io::Write;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::server::{Server, answer};
use super::*;

fn host(host: &str, port: impl Into<Option<u16>>) -> HostGrant {
    HostGrant { host: host.to_owned(), port: port.into() }
}

/// Grants the given hosts, and nothing else.
fn gate(hosts: Vec<HostGrant>) -> HttpGate {
    let grants = Grants { hosts, ..Grants::default() };
    HttpGate::new(&grants, Arc::new(Secrets::default()))
}

/// Grants the server's address.
fn gate_to(server: &Server) -> HttpGate {
    gate(vec![host("127.0.0.1", server.port)])
}

fn get(url: impl Into<String>) -> Request {
    Request { method: "GET".to_owned(), url: url.into(), ..Request::default() }
}

fn other(name: &str) -> GateErrorKind {
    GateErrorKind::Other(name.to_owned())
}

/// Makes every name lead to the given addresses, and counts how often one is
/// looked up.
fn names_lead_to(gate: &mut HttpGate, addresses: &[&str]) -> Arc<AtomicUsize> {
    let addresses: Vec<IpAddr> =
        addresses.iter().map(|address| address.parse().expect("an address")).collect();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    gate.clients.lookup = Arc::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let addresses = addresses.clone();
        Box::pin(async move { Ok(addresses) })
    });
    count
}

#[tokio::test]
async fn an_answer_comes_back_whole() {
    let server = Server::saying(answer("200 OK", "X-Kind: Test\r\n", b"hello"));
    let response = gate_to(&server).send(get(server.url("/a?b=c#d"))).await.expect("an answer");
    assert_eq!(response.status, 200);
    assert_eq!(response.body, b"hello");
    assert_eq!(response.url, server.url("/a?b=c"));
    assert!(response.headers.contains(&("x-kind".to_owned(), "Test".to_owned())));
    let request = &server.requests()[0];
    assert!(request.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("user-agent: bathysphere/"), "{request}");
}

#[tokio::test]
async fn method_headers_and_body_are_sent() {
    let server = Server::saying(answer("200 OK", "", b""));
    let request = Request {
        method: "post".to_owned(),
        url: server.url("/"),
        headers: vec![("X-Client".to_owned(), "test".to_owned())],
        body: Some(b"{\"a\":1}".to_vec()),
        ..Request::default()
    };
    gate_to(&server).send(request).await.expect("an answer");
    let request = &server.requests()[0];
    assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-client: test\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"a\":1}"), "{request}");
}

#[tokio::test]
async fn a_post_without_a_body_says_so() {
    let server = Server::saying(answer("200 OK", "", b""));
    for (method, body, lengths) in [
        ("POST", None, 1),
        ("POST", Some(Vec::new()), 1),
        ("PUT", None, 1),
        ("GET", None, 0),
        ("DELETE", None, 0),
    ] {
        let request = Request { method: method.to_owned(), body, ..get(server.url("/")) };
        gate_to(&server).send(request).await.expect("an answer");
        let requests = server.requests();
        let sent = requests.last().expect("a request");
        assert_eq!(sent.matches("content-length: 0\r\n").count(), lengths, "{sent}");
        assert_eq!(sent.matches("content-length").count(), lengths, "{sent}");
    }
}

#[tokio::test]
async fn an_error_status_is_an_answer() {
    let server = Server::saying(answer("503 Busy", "retry-after: 7\r\n", b"later"));
    let response = gate_to(&server).send(get(server.url("/"))).await.expect("an answer");
    assert_eq!((response.status, response.body.as_slice()), (503, b"later".as_slice()));
}

#[tokio::test]
async fn what_is_not_granted_is_refused_before_anything_is_sent() {
    let server = Server::saying(answer("200 OK", "", b""));
    let port = server.port;
    for hosts in [
        vec![],
        vec![host("127.0.0.1", None)],
        vec![host("127.0.0.1", port ^ 1)],
        vec![host("127.0.0.2", port)],
        vec![host("localhost", port)],
        vec![host("*", port)],
        vec![host("*.0.0.1", port)],
    ] {
        let error = gate(hosts.clone()).send(get(server.url("/"))).await.expect_err("refused");
        assert_eq!(error.kind, GateErrorKind::Refused, "{hosts:?}: {error}");
        assert_eq!(error.message, format!("127.0.0.1:{port} is not granted"));
        assert!(error.hint.expect("a hint").contains("grants.hosts"));
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_method_that_opens_a_tunnel_is_not_sent() {
    let server = Server::saying(answer("200 OK", "", b""));
    for method in ["CONNECT", "TRACE", "", "GET /\r\n"] {
        let request = Request { method: method.to_owned(), ..get(server.url("/")) };
        let error = gate_to(&server).send(request).await.expect_err("refused");
        assert_eq!(error.kind, GateErrorKind::InvalidInput, "{method}");
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_reserved_header_is_refused() {
    let server = Server::saying(answer("200 OK", "", b""));
    let request = Request {
        headers: vec![("Host".to_owned(), "evil.net".to_owned())],
        ..get(server.url("/"))
    };
    let error = gate_to(&server).send(request).await.expect_err("refused");
    assert_eq!(error.kind, GateErrorKind::Refused);
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_granted_name_that_leads_inside_is_refused() {
    let server = Server::saying(answer("200 OK", "", b""));
    for address in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "fd00:ec2::254",
    ] {
        for granted in ["rebound.example", "*.example", "*"] {
            let granted = match granted {
                "*.example" => host("*.rebound.example", server.port),
                name => host(name, server.port),
            };
            let name = if granted.host.starts_with("*.") {
                "a.rebound.example"
            } else {
                "rebound.example"
            };
            let mut gate = gate(vec![granted, host("127.0.0.1", server.port)]);
            names_lead_to(&mut gate, &[address]);
            let url = format!("http://{name}:{}/", server.port);
            let error = gate.send(get(url)).await.expect_err("refused");
            assert_eq!(error.kind, GateErrorKind::Refused, "{address}: {error}");
            assert_eq!(
                error.message,
                format!("{name} leads to {address}, which is not on the public internet")
            );
        }
    }
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn localhost_is_this_machine_if_granted() {
    let server = Server::saying(answer("200 OK", "", b"here"));
    let url = format!("http://localhost:{}/", server.port);

    let mut granted = gate(vec![host("localhost", server.port)]);
    let lookups = names_lead_to(&mut granted, &["192.168.1.1", "127.0.0.1"]);
    let response = granted.send(get(&url)).await.expect("an answer");
    assert_eq!(response.body, b"here");
    // Looked up once, and connected to what was found then.
    assert_eq!(lookups.load(Ordering::SeqCst), 1);

    let mut elsewhere = gate(vec![host("localhost", server.port)]);
    names_lead_to(&mut elsewhere, &["192.168.1.1"]);
    assert_eq!(elsewhere.send(get(&url)).await.expect_err("refused").kind, GateErrorKind::Refused);

    let mut unnamed = gate(vec![host("*", server.port)]);
    names_lead_to(&mut unnamed, &["127.0.0.1"]);
    assert_eq!(unnamed.send(get(&url)).await.expect_err("refused").kind, GateErrorKind::Refused);
}

#[tokio::test]
async fn a_request_to_a_name_without_an_address_is_not_sent() {
    let mut nowhere = gate(vec![host("nowhere.example", None)]);
    names_lead_to(&mut nowhere, &[]);
    let error = nowhere.send(get("http://nowhere.example/")).await.expect_err("no address");
    assert_eq!(error.kind, other("not-sent"));
    assert_eq!(
        error.message,
        "cannot find the address of nowhere.example: nowhere.example has no address"
    );
}

#[tokio::test]
async fn a_request_that_nobody_listens_for_is_not_sent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let gate = gate(vec![host("127.0.0.1", port)]);
    let error = gate.send(get(format!("http://127.0.0.1:{port}/"))).await.expect_err("nobody");
    assert_eq!(error.kind, other("not-sent"));
    assert!(error.message.starts_with(&format!("cannot connect to 127.0.0.1:{port}: ")), "{error}");
}

#[tokio::test]
async fn a_request_is_not_sent_without_its_encryption() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut hello = [0; 1];
        std::io::Read::read_exact(&mut stream, &mut hello).expect("a first byte");
        stream.write_all(&answer("200 OK", "", b"")).expect("the client listens");
        hello[0]
    });
    let gate = gate(vec![host("127.0.0.1", port)]);
    let error = gate.send(get(format!("https://127.0.0.1:{port}/"))).await.expect_err("no TLS");
    assert_eq!(error.kind, other("not-sent"), "{error}");
    // 0x16 begins a TLS handshake: nothing was sent in the clear.
    assert_eq!(server.join().expect("no panic"), 0x16);
}

#[tokio::test]
async fn the_client_is_built_at_first_use() {
    let server = Server::saying(answer("200 OK", "", b""));
    let gate = gate_to(&server);
    assert!(!gate.clients.is_built(false));
    gate.send(get("http://not-granted.example/")).await.expect_err("refused");
    assert!(!gate.clients.is_built(false));
    gate.send(get(server.url("/"))).await.expect("an answer");
    assert!(gate.clients.is_built(false));
    assert!(!gate.clients.is_built(true));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the environment can only be set for a new process")]
fn proxies_of_the_environment_are_ignored() {
    let mut again = std::process::Command::new(std::env::current_exe().expect("this test"));
    again.args(["--exact", "gates::http::tests::an_answer_comes_back_whole"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        // Nobody listens there, so that asking it would fail.
        again.env(name, "http://127.0.0.1:1");
    }
    let output = again.env_remove("NO_PROXY").env_remove("no_proxy").output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}
