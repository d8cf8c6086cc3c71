//! Redirects: followed, but never further than the grants and never with
//! credentials into another origin.

use super::*;

fn location(status: &str, to: &str) -> Vec<u8> {
    answer(status, &format!("location: {to}\r\nconnection: close\r\n"), b"")
}

/// Redirects `/` to what is given, and answers everything else with "arrived".
fn redirecting(status: &'static str, to: String) -> Server {
    Server::start(move |request, stream| {
        let bytes = if request.split(' ').nth(1) == Some("/") {
            location(status, &to)
        } else {
            answer("200 OK", "connection: close\r\n", b"arrived")
        };
        stream.write_all(&bytes)
    })
}

#[tokio::test]
async fn a_redirect_within_the_grants_is_followed() {
    let server = redirecting("302 Found", "next?x=1".to_owned());
    let response = gate_to(&server).send(get(server.url("/"))).await.expect("an answer");
    assert_eq!(response.body, b"arrived");
    assert_eq!(response.url, server.url("/next?x=1"));
}

#[tokio::test]
async fn a_redirect_out_of_the_grants_is_refused() {
    let inside = Server::saying(answer("200 OK", "", b"treasure"));
    for to in [
        inside.url("/"),
        inside.url("/").replace("127.0.0.1", "2130706433"),
        inside.url("/").replace("127.0.0.1", "[::ffff:7f00:1]"),
        inside.url("/").replace("127.0.0.1", "localhost"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "//evil.example/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
    ] {
        let server = redirecting("301 Moved", to.clone());
        let error = gate_to(&server).send(get(server.url("/"))).await.expect_err("refused");
        assert_eq!(error.kind, GateErrorKind::Refused, "{to}: {error}");
    }
    assert_eq!(inside.requests(), [""; 0]);
}

#[tokio::test]
async fn the_message_says_who_redirected() {
    let server = redirecting("307 Temporary", "https://evil.example/x".to_owned());
    let error = gate_to(&server).send(get(server.url("/"))).await.expect_err("refused");
    assert_eq!(
        error.message,
        format!("127.0.0.1:{} redirects to evil.example, which is not granted", server.port)
    );
}

#[tokio::test]
async fn a_redirect_with_a_password_is_not_followed() {
    let server = Server::start(move |request, stream| {
        let host = request.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or("");
        stream.write_all(&location("302 Found", &format!("http://user:pass@{host}/x")))
    });
    let error = gate_to(&server).send(get(server.url("/"))).await.expect_err("not followed");
    assert_eq!(error.kind, GateErrorKind::InvalidInput);
    assert!(!error.message.contains("pass@"), "{error}");
    assert_eq!(server.requests().len(), 1);
}

/// Counts down in the path, then arrives.
fn countdown() -> Server {
    Server::start(|request, stream| {
        let left: usize = request[5..].split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        stream.write_all(&match left {
            0 => answer("200 OK", "connection: close\r\n", b"arrived"),
            _ => location("302 Found", &format!("/{}", left - 1)),
        })
    })
}

#[tokio::test]
async fn five_redirects_are_followed_and_a_sixth_is_not() {
    let server = countdown();
    let gate = gate_to(&server);
    assert_eq!(gate.send(get(server.url("/5"))).await.expect("an answer").body, b"arrived");
    let error = gate.send(get(server.url("/6"))).await.expect_err("too many");
    assert_eq!(error.kind, other("redirects"));
    assert_eq!(server.requests().len(), 12);
}

#[tokio::test]
async fn a_loop_ends() {
    let server = redirecting("302 Found", "/".to_owned());
    let error = gate_to(&server).send(get(server.url("/"))).await.expect_err("a loop");
    assert_eq!(error.kind, other("redirects"));
    assert_eq!(server.requests().len(), 6);
}

#[tokio::test]
async fn a_redirect_to_nothing_is_an_error_or_an_answer() {
    let broken = redirecting("302 Found", "http://[::bad".to_owned());
    let error = gate_to(&broken).send(get(broken.url("/"))).await.expect_err("no URL");
    assert_eq!(error.kind, other("redirects"));

    let silent = Server::saying(answer("302 Found", "", b"no location"));
    let response = gate_to(&silent).send(get(silent.url("/"))).await.expect("an answer");
    assert_eq!((response.status, response.body.as_slice()), (302, b"no location".as_slice()));
}

#[tokio::test]
async fn a_post_becomes_a_get_where_browsers_do_so() {
    for (status, kept) in
        [("301 a", false), ("302 a", false), ("303 a", false), ("307 a", true), ("308 a", true)]
    {
        let server = redirecting(status, "/next".to_owned());
        let request = Request {
            method: "POST".to_owned(),
            body: Some(b"body".to_vec()),
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            ..get(server.url("/"))
        };
        gate_to(&server).send(request).await.expect("an answer");
        let second = &server.requests()[1];
        assert_eq!(second.starts_with("POST "), kept, "{status}: {second}");
        assert_eq!(second.ends_with("body"), kept, "{status}: {second}");
        assert_eq!(second.contains("content-type"), kept, "{status}: {second}");
    }
}

#[tokio::test]
async fn a_plugins_own_credentials_stay_with_their_origin() {
    let second = Server::saying(answer("200 OK", "", b""));
    let first = redirecting("302 Found", second.url("/"));
    let gate = gate(vec![host("127.0.0.1", first.port), host("127.0.0.1", second.port)]);
    let headers = ["Authorization", "Cookie", "X-Api-Key", "Accept"];
    let request = Request {
        headers: headers.iter().map(|name| ((*name).to_owned(), "mine".to_owned())).collect(),
        ..get(first.url("/"))
    };
    gate.send(request).await.expect("an answer");
    assert_eq!(first.requests()[0].matches("mine").count(), 4);
    assert_eq!(second.requests()[0].matches("mine").count(), 1);
    assert!(second.requests()[0].contains("accept: mine"));
}

#[tokio::test]
async fn what_was_redirected_was_sent() {
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    for (method, to, kind) in [
        ("GET", format!("http://127.0.0.1:{nobody}/"), GateErrorKind::Unavailable),
        ("POST", format!("http://127.0.0.1:{nobody}/"), GateErrorKind::Unavailable),
        ("GET", "https://evil.example/".to_owned(), GateErrorKind::Refused),
        // A server may do what it was asked, and then lead elsewhere.
        ("POST", "https://evil.example/".to_owned(), other("redirects")),
        ("DELETE", "https://u:p@evil.example/".to_owned(), other("redirects")),
    ] {
        for status in ["302 a", "303 a", "307 a"] {
            let server = redirecting(status, to.clone());
            let gate = gate(vec![host("127.0.0.1", server.port), host("127.0.0.1", nobody)]);
            let request = Request { method: method.to_owned(), ..get(server.url("/")) };
            let error = gate.send(request).await.expect_err("no answer");
            assert_eq!(error.kind, kind, "{method} {to}: {error}");
            assert_eq!(server.requests().len(), 1);
        }
    }
}
