//! Secrets: sent to the one host they are bound to, and seen by nobody else.

use super::*;

const VALUE: &str = "sk-0123456789abcdef";

fn bound(host: HostGrant) -> SecretGrant {
    SecretGrant {
        name: "TEST_KEY".to_owned(),
        host,
        header: "authorization".to_owned(),
        prefix: "Bearer ".to_owned(),
    }
}

fn gate_with(hosts: Vec<HostGrant>, secret: SecretGrant, value: Option<&str>) -> HttpGate {
    let grants = Grants { hosts, secrets: vec![secret], ..Grants::default() };
    let secrets = Secrets::new(["TEST_KEY"], |_| value.map(str::to_owned));
    HttpGate::new(&grants, Arc::new(secrets))
}

fn bound_to(server: &Server) -> HttpGate {
    let grant = host("127.0.0.1", server.port);
    gate_with(vec![grant.clone()], bound(grant), Some(VALUE))
}

#[tokio::test]
async fn a_secret_is_added_and_an_echo_of_it_is_masked() {
    let server = Server::start(|request, stream| {
        let value = request.lines().find_map(|line| line.strip_prefix("authorization: "));
        let value = value.unwrap_or("nothing");
        let headers = format!("x-echo: {value}\r\n");
        stream.write_all(&answer("401 No", &headers, format!("bad key: {value}!").as_bytes()))
    });
    let response = bound_to(&server).send(get(server.url("/"))).await.expect("an answer");
    assert!(server.requests()[0].contains(&format!("authorization: Bearer {VALUE}\r\n")));
    assert_eq!(String::from_utf8_lossy(&response.body), "bad key: Bearer [secret]!");
    assert!(response.headers.contains(&("x-echo".to_owned(), "Bearer [secret]".to_owned())));
}

#[tokio::test]
async fn a_secret_goes_to_no_other_host() {
    let own = Server::saying(answer("200 OK", "", b""));
    let foreign = Server::saying(answer("200 OK", "", b""));
    let hosts = vec![host("127.0.0.1", own.port), host("127.0.0.1", foreign.port)];
    let gate = gate_with(hosts, bound(host("127.0.0.1", own.port)), Some(VALUE));
    gate.send(get(foreign.url("/"))).await.expect("an answer");
    assert!(!foreign.requests()[0].contains("authorization"), "{:?}", foreign.requests());
}

#[tokio::test]
async fn a_secret_for_everyone_goes_to_no_one() {
    let server = Server::saying(answer("200 OK", "", b""));
    let everyone = bound(host("*", server.port));
    let mut gate = gate_with(vec![host("localhost", server.port)], everyone, Some(VALUE));
    names_lead_to(&mut gate, &["127.0.0.1"]);
    let url = format!("http://localhost:{}/", server.port);
    gate.send(get(url)).await.expect("an answer");
    assert!(!server.requests()[0].contains("authorization"));
}

#[tokio::test]
async fn a_secret_does_not_follow_a_redirect_and_does_not_come_back() {
    // Names need the first server's port before it exists, so it is told later.
    let back = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&back);
    let second = Server::start(move |_, stream| {
        let to = told.lock().expect("no panic").clone();
        stream.write_all(&answer("302 Found", &format!("location: {to}\r\n"), b""))
    });
    let second_url = second.url("/");
    let first = Server::start(move |request, stream| {
        stream.write_all(&if request.starts_with("GET /back") {
            answer("200 OK", "", b"arrived")
        } else {
            answer("302 Found", &format!("location: {second_url}\r\nconnection: close\r\n"), b"")
        })
    });
    *back.lock().expect("no panic") = first.url("/back");

    let hosts = vec![host("127.0.0.1", first.port), host("127.0.0.1", second.port)];
    let gate = gate_with(hosts, bound(host("127.0.0.1", first.port)), Some(VALUE));
    let response = gate.send(get(first.url("/"))).await.expect("an answer");
    assert_eq!(response.body, b"arrived");
    assert!(first.requests()[0].contains(VALUE));
    assert!(!second.requests()[0].contains(VALUE));
    assert!(!first.requests()[1].contains(VALUE));
}

#[tokio::test]
async fn a_secret_follows_a_redirect_within_its_origin() {
    let server = Server::start(|request, stream| {
        stream.write_all(&if request.starts_with("GET /next") {
            answer("200 OK", "", b"")
        } else {
            answer("302 Found", "location: /next\r\nconnection: close\r\n", b"")
        })
    });
    bound_to(&server).send(get(server.url("/"))).await.expect("an answer");
    assert!(server.requests()[1].contains(VALUE));
}

/// Redirects everything to what is given.
fn redirecting(to: String) -> Server {
    Server::start(move |_, stream| {
        let headers = format!("location: {to}\r\nconnection: close\r\n");
        stream.write_all(&answer("302 Found", &headers, b""))
    })
}

#[tokio::test]
async fn a_redirect_that_carries_a_secret_to_another_origin_is_refused() {
    let foreign = Server::saying(answer("200 OK", "", b""));
    let encoded = VALUE.replace('-', "%2D");
    let partly = VALUE.replace("sk-", "%73k-");
    for value in [VALUE, &encoded, &partly] {
        for path in [format!("/?key={value}"), format!("/{value}/x"), format!("/#{value}")] {
            let own = redirecting(foreign.url(&path));
            let hosts = vec![host("127.0.0.1", own.port), host("127.0.0.1", foreign.port)];
            let gate = gate_with(hosts, bound(host("127.0.0.1", own.port)), Some(VALUE));
            let error = gate.send(get(own.url("/"))).await.expect_err("refused");
            assert_eq!(error.kind, GateErrorKind::Refused, "{path}: {error}");
            assert!(error.message.contains("with a secret in the URL"), "{error}");
            assert!(!format!("{error:?}").contains(value), "{error:?}");
        }
    }
    assert_eq!(foreign.requests(), [""; 0]);
}

#[tokio::test]
async fn a_redirect_to_a_name_that_is_a_secret_does_not_tell_it() {
    let value = "sk-ABCDEF0123";
    let own = redirecting(format!("http://{value}.evil.example/"));
    let grant = host("127.0.0.1", own.port);
    let gate = gate_with(vec![grant.clone()], bound(grant), Some(value));
    let error = gate.send(get(own.url("/"))).await.expect_err("refused");
    assert_eq!(error.kind, GateErrorKind::Refused);
    assert!(!format!("{error:?}").to_lowercase().contains("abcdef"), "{error:?}");
}

#[tokio::test]
async fn an_echo_is_masked_also_after_a_redirect_to_another_origin() {
    // The second server knows the key from elsewhere.
    let encoded = VALUE.replace('-', "%2d");
    let headers = format!("x-echo: {VALUE}\r\nx-encoded: {encoded}\r\n");
    let body = format!("plain {VALUE}, encoded {encoded}");
    let foreign = Server::saying(answer("200 OK", &headers, body.as_bytes()));
    let own = redirecting(foreign.url("/landing"));
    let hosts = vec![host("127.0.0.1", own.port), host("127.0.0.1", foreign.port)];
    let gate = gate_with(hosts, bound(host("127.0.0.1", own.port)), Some(VALUE));
    let response = gate.send(get(own.url("/"))).await.expect("an answer");
    assert!(!foreign.requests()[0].contains(VALUE));
    assert_eq!(String::from_utf8_lossy(&response.body), "plain [secret], encoded [secret]");
    for name in ["x-echo", "x-encoded"] {
        assert!(response.headers.contains(&(name.to_owned(), "[secret]".to_owned())), "{name}");
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_may_carry_the_secret_but_does_not_tell_it() {
    let server = Server::start(|request, stream| {
        stream.write_all(&if request.starts_with("GET /next") {
            answer("200 OK", "connection: close\r\n", b"arrived")
        } else {
            let headers = format!("location: /next?key={VALUE}\r\nconnection: close\r\n");
            answer("302 Found", &headers, b"")
        })
    });
    let response = bound_to(&server).send(get(server.url("/"))).await.expect("an answer");
    assert_eq!(response.body, b"arrived");
    assert_eq!(response.url, server.url("/next?key=[secret]"));
}

#[tokio::test]
async fn a_redirect_does_not_win_the_secret_of_another_host() {
    let bank = Server::saying(answer("200 OK", "", b""));
    let to = bank.url("/transfer");
    let lure = Server::start(move |_, stream| {
        stream.write_all(&answer("302 Found", &format!("location: {to}\r\n"), b""))
    });
    let hosts = vec![host("127.0.0.1", lure.port), host("127.0.0.1", bank.port)];
    let gate = gate_with(hosts, bound(host("127.0.0.1", bank.port)), Some(VALUE));
    gate.send(get(lure.url("/"))).await.expect("an answer");
    assert!(!bank.requests()[0].contains(VALUE));
}

#[tokio::test]
async fn a_secret_is_not_sent_in_the_clear() {
    let grant = host("api.example", None);
    let mut gate = gate_with(vec![grant.clone()], bound(grant), Some(VALUE));
    let lookups = names_lead_to(&mut gate, &["1.1.1.1"]);
    let error = gate.send(get("http://api.example/")).await.expect_err("refused");
    assert_eq!(error.kind, GateErrorKind::Refused);
    assert_eq!(
        error.message,
        "the secret TEST_KEY is bound to api.example, and is not sent over plain http"
    );
    assert_eq!(lookups.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_missing_secret_says_which_variable_to_set() {
    let server = Server::saying(answer("200 OK", "", b""));
    let grant = host("127.0.0.1", server.port);
    let gate = gate_with(vec![grant.clone()], bound(grant), None);
    let error = gate.send(get(server.url("/"))).await.expect_err("no key");
    assert_eq!(error.kind, GateErrorKind::Auth);
    assert_eq!(error.hint.as_deref(), Some("set the environment variable TEST_KEY"));
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_secret_that_no_header_can_carry_is_not_told() {
    let server = Server::saying(answer("200 OK", "", b""));
    let grant = host("127.0.0.1", server.port);
    let gate = gate_with(vec![grant.clone()], bound(grant), Some("first-line\nsecond-line"));
    let error = gate.send(get(server.url("/"))).await.expect_err("unusable");
    assert_eq!(error.kind, GateErrorKind::Auth);
    assert!(!format!("{error:?}").contains("line"), "{error:?}");
}

#[tokio::test]
async fn a_plugin_may_not_send_a_header_in_the_secrets_place() {
    let server = Server::saying(answer("200 OK", "", b""));
    let request = Request {
        headers: vec![("Authorization".to_owned(), "Bearer mine".to_owned())],
        ..get(server.url("/"))
    };
    let error = bound_to(&server).send(request).await.expect_err("refused");
    assert_eq!(error.kind, GateErrorKind::Refused);
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn errors_do_not_tell_a_secret() {
    let server = Server::saying("");
    let gate = bound_to(&server);
    let error = gate.send(get(server.url(&format!("/?k={VALUE}")))).await.expect_err("cut off");
    assert!(!format!("{error:?}").contains(VALUE), "{error:?}");
    let error = gate.send(get(format!("nonsense {VALUE}"))).await.expect_err("no URL");
    assert!(error.message.ends_with("nonsense [secret]"), "{error}");
}
