//! A request may be paid for: it is sent once, whatever becomes of a connection that
//! was kept for it.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;

use super::*;

/// What the server does with a request.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    /// Answers, and keeps the connection.
    Keep,
    /// Answers, says that it keeps the connection, and closes it.
    AnswerAndClose,
    /// Takes the request, and closes without a word.
    TakeAndClose,
}

/// Does these in order, over as many connections as it takes, then keeps answering.
/// Returns the port, and what counts the requests that came in whole.
fn server(deeds: Vec<Deed>) -> (u16, Arc<AtomicUsize>, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let count = Arc::new(AtomicUsize::new(0));
    let deeds = Arc::new(Mutex::new(deeds.into_iter()));
    let (closed, closings) = mpsc::channel();
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let (deeds, counted, closed) =
                (Arc::clone(&deeds), Arc::clone(&counted), closed.clone());
            std::thread::spawn(move || {
                while read_request(&stream) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let deed = deeds.lock().expect("no panic").next().unwrap_or(Deed::Keep);
                    if deed != Deed::TakeAndClose {
                        let bytes = answer("200 OK", "connection: keep-alive\r\n", b"done");
                        if (&stream).write_all(&bytes).is_err() {
                            return;
                        }
                    }
                    if deed != Deed::Keep {
                        let _ = stream.shutdown(std::net::Shutdown::Both);
                        let _ = closed.send(());
                        return;
                    }
                }
            });
        }
    });
    (port, count, closings)
}

/// Whether a whole request with five bytes of body came.
fn read_request(mut stream: &TcpStream) -> bool {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\nhello") {
        match stream.read(&mut byte) {
            Ok(1) => bytes.push(byte[0]),
            _ => return false,
        }
    }
    true
}

fn post(port: u16) -> Request {
    Request {
        method: "POST".to_owned(),
        url: format!("http://127.0.0.1:{port}/"),
        body: Some(b"hello".to_vec()),
        ..Request::default()
    }
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let (port, count, _closings) = server(vec![Deed::Keep; 3]);
    let gate = gate(vec![host("127.0.0.1", port)]);
    for _ in 0..3 {
        assert_eq!(gate.send(post(port)).await.expect("an answer").body, b"done");
    }
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

/// The server takes the request on a kept connection, and hangs up: nobody knows what
/// came of it, so it must not be sent again.
#[tokio::test]
async fn what_was_taken_on_a_kept_connection_is_not_sent_again() {
    for times in 1..4 {
        let mut deeds = vec![Deed::Keep; times];
        deeds.push(Deed::TakeAndClose);
        let (port, count, _closings) = server(deeds);
        let gate = gate(vec![host("127.0.0.1", port)]);
        for _ in 0..times {
            gate.send(post(port)).await.expect("an answer");
        }
        let error = gate.send(post(port)).await.expect_err("cut off");
        assert_eq!(error.kind, GateErrorKind::Unavailable, "{error}");
        assert_eq!(count.load(Ordering::SeqCst), times + 1);
        // The next one is on a new connection, and nothing is left over.
        gate.send(post(port)).await.expect("an answer");
        assert_eq!(count.load(Ordering::SeqCst), times + 2);
    }
}

/// The server closes what it promised to keep, at about the moment of the next
/// request: whichever comes first, a request is taken at most once, and one that was
/// taken is never called not sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kept_connection_that_turns_out_closed_costs_no_second_request() {
    const ROUNDS: usize = 300;
    let (port, count, closings) = server(vec![Deed::AnswerAndClose; 2 * ROUNDS + 1]);
    let gate = gate(vec![host("127.0.0.1", port)]);
    let mut answered = 0;
    for round in 0..ROUNDS {
        let before = count.load(Ordering::SeqCst);
        let result = gate.send(post(port)).await;
        let taken = count.load(Ordering::SeqCst) - before;
        match result {
            Ok(_) => {
                answered += 1;
                assert_eq!(taken, 1, "round {round}");
            }
            Err(error) => {
                assert_eq!(error.kind, GateErrorKind::Unavailable, "round {round}: {error}");
                assert!(taken <= 1, "round {round}: {taken}");
            }
        }
        if round % 2 == 0 {
            // Every other time the next request finds the connection surely closed.
            let _ = closings.recv_timeout(Duration::from_secs(5));
        }
    }
    // Most of them get through: a request that was not begun may take another way.
    assert!(answered > ROUNDS / 2, "{answered}");
}

/// A server that closes each connection as soon as it is made has taken nothing, but
/// that is not known: the request may have been on its way.
#[tokio::test]
async fn a_connection_that_is_closed_at_once_leaves_it_open() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
        }
    });
    let gate = gate(vec![host("127.0.0.1", port)]);
    let error = gate.send(post(port)).await.expect_err("closed");
    assert_eq!(error.kind, GateErrorKind::Unavailable, "{error}");
}

#[tokio::test]
async fn a_connection_that_does_not_come_about_in_time_has_sent_nothing() {
    // It is there, and never says how to encrypt.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let limits = HttpLimits { connect: Duration::from_millis(30), ..HttpLimits::default() };
    let grants = Grants { hosts: vec![host("127.0.0.1", port)], ..Grants::default() };
    let gate = HttpGate::with_limits(&grants, Arc::new(Secrets::default()), limits);
    let request = Request { url: format!("https://127.0.0.1:{port}/"), ..post(port) };
    let error = gate.send(request).await.expect_err("no encryption");
    assert_eq!(error.kind, other("not-sent"), "{error}");
    drop(listener);
}
