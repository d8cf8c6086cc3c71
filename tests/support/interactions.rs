//! A loopback stand-in of Gemini's Interactions API, in its real wire format. It takes
//! what the vendor would take and refuses the rest; each interaction behaves as its
//! script says, well or badly; and it keeps a log that proves what was asked.
//!
//! It lives in the test's process, so that any number of servers can share it and be
//! killed while it goes on. Everything stays in memory.
//!
//! ```ignore
//! let api = Interactions::start();
//! api.on(|input| if input.contains("broken") { Script::failed("internal_error", "x") } else { Script::default() });
//! // GOOGLE_GEMINI_BASE_URL = api.url(), GEMINI_API_KEY = KEY
//! api.wait_for("a start", |log| log.creates("a question") == 1);
//! ```

mod answers;
mod http;
mod interaction;
mod log;
mod reply;
mod script;
mod validate;

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::http::{Request, Response};
use self::interaction::{Interaction, gone};
pub use self::log::{Entry, Log, What};
use self::reply::Reply;
pub use self::script::{Ending, Fault, Script, Until};
use super::program::DEADLINE;

/// A key that is accepted.
pub const KEY: &str = "a-key-for-tests";
/// Every request with this key is refused, as one with a wrong key is.
pub const WRONG_KEY: &str = "a-wrong-key";

type Chooser = Arc<dyn Fn(&str) -> Script + Send + Sync>;

/// The stand-in; it ends when it is dropped.
pub struct Interactions {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    started: Instant,
}

struct State {
    choose: Chooser,
    interactions: HashMap<Arc<str>, Interaction>,
    /// How often each question was to be started.
    creates: HashMap<Arc<str>, usize>,
    released: HashSet<String>,
    log: Log,
    closing: bool,
}

impl Interactions {
    /// On a free port, doing what the questions themselves say: see
    /// [`Script::by_words`].
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                choose: Arc::new(Script::by_words),
                interactions: HashMap::new(),
                creates: HashMap::new(),
                released: HashSet::new(),
                log: Log::default(),
                closing: false,
            }),
            changed: Condvar::new(),
            started: Instant::now(),
        });
        let serving = Arc::clone(&shared);
        let listener = thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.lock().closing {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&serving);
                // Hundreds of them may wait at the same time. A client that goes away
                // is no fault of the stand-in.
                let connection = thread::Builder::new().stack_size(256 << 10);
                let _ = connection.spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Self { address, shared, listener: Some(listener) }
    }

    /// For `GOOGLE_GEMINI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What makes a process use the stand-in.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [("GOOGLE_GEMINI_BASE_URL", self.url()), ("GEMINI_API_KEY", KEY.to_owned())]
    }

    /// Chooses what becomes of the questions that come from now on.
    pub fn on(&self, choose: impl Fn(&str) -> Script + Send + Sync + 'static) -> &Self {
        self.shared.lock().choose = Arc::new(choose);
        self
    }

    /// Ends those of this question that wait for it ([`Until::Released`]), also those
    /// that are yet to come.
    pub fn release(&self, input: &str) {
        self.shared.lock().released.insert(input.to_owned());
    }

    /// From now on the vendor does not know it any more.
    pub fn forget(&self, id: &str) {
        self.shared.lock().interactions.remove(id);
    }

    /// Everything that was asked so far.
    pub fn log(&self) -> Log {
        self.shared.lock().log.clone()
    }

    /// The same, without making a copy of it.
    pub fn look<T>(&self, look: impl FnOnce(&Log) -> T) -> T {
        look(&self.shared.lock().log)
    }

    /// Waits until the log shows it.
    #[track_caller]
    pub fn wait_for(&self, what: &str, done: impl Fn(&Log) -> bool) -> Log {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.shared.lock();
        while !done(&state.log) {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(left > Duration::ZERO, "{what} did not come: {:#?}", state.log);
            state = self
                .shared
                .changed
                .wait_timeout(state, left)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        }
        state.log.clone()
    }
}

impl Drop for Interactions {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.changed.notify_all();
        // The one who accepts has to be woken.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection, which may carry many requests.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = http::read(&mut reader)? {
        let reply = handle(&request, shared);
        shared.changed.notify_all();
        match reply {
            Reply::Answer(response) => http::write(stream, &response)?,
            Reply::Later(delay, response) => {
                thread::sleep(delay);
                http::write(stream, &response)?;
            }
            Reply::Half(response) => {
                http::write_half(stream, &response)?;
                return stream.shutdown(Shutdown::Both);
            }
            Reply::Cut => return stream.shutdown(Shutdown::Both),
            Reply::Hang => {
                let state = shared.lock();
                drop(shared.changed.wait_while(state, |state| !state.closing));
                return Ok(());
            }
        }
        if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            return Ok(());
        }
    }
    Ok(())
}

fn handle(request: &Request, shared: &Shared) -> Reply {
    let mut guard = shared.lock();
    let state = &mut *guard;
    let at = shared.started.elapsed();
    let wrong = |state: &mut State, status: u16, body: Value| {
        let complaint = format!("{} {}: {body}", request.method, request.path);
        state.log.0.push(Entry {
            what: What::Wrong,
            at,
            input: "".into(),
            id: None,
            status: Some(status),
            complaint: Some(complaint),
            agent: None,
        });
        Reply::Answer(Response::json(status, &body))
    };
    match request.header("x-goog-api-key") {
        None | Some("") => {
            let message = "Method doesn't allow unregistered callers.";
            return wrong(state, 403, answers::error(403, message));
        }
        Some(WRONG_KEY) => return wrong(state, 400, answers::wrong_key()),
        Some(_) => {}
    }
    if request.method == "POST" && request.header("content-length").is_none() {
        return wrong(state, 411, answers::error(411, "POST requests require a Content-length."));
    }
    let Some(below) = request.path.strip_prefix("/v1/interactions") else {
        return wrong(state, 404, answers::error("not_found", "There is no such method."));
    };
    let segments: Vec<&str> = below.split('/').skip(1).collect();
    match (request.method.as_str(), segments.as_slice()) {
        ("POST", []) => {
            let is_json = request
                .header("content-type")
                .is_some_and(|kind| kind.starts_with("application/json"));
            let body: Option<Value> =
                serde_json::from_slice(&request.body).ok().filter(|_| is_json);
            let Some(body) = body else {
                let message = "Invalid JSON payload received.";
                return wrong(state, 400, answers::error("invalid_request", message));
            };
            match validate::create(&body) {
                Ok((input, agent)) => state.create(input.into(), agent, at),
                Err((status, code, message)) => {
                    wrong(state, status, answers::error(code, &message))
                }
            }
        }
        ("GET", [id]) if !id.is_empty() => match validate::poll(&request.query) {
            Ok(()) => state.existing(What::Poll, id, at),
            Err((status, code, message)) => wrong(state, status, answers::error(code, &message)),
        },
        ("POST", [id, "cancel"]) => state.existing(What::Cancel, id, at),
        ("DELETE", [id]) if !id.is_empty() => state.existing(What::Delete, id, at),
        _ => wrong(state, 404, answers::error("not_found", "There is no such method.")),
    }
}

impl State {
    fn create(&mut self, input: Arc<str>, agent: String, at: Duration) -> Reply {
        let script = (self.choose)(&input);
        let attempt = self.creates.entry(Arc::clone(&input)).or_default();
        let fault = script.creates.get(*attempt).cloned().unwrap_or(Fault::No);
        *attempt += 1;
        let mut entry = Entry {
            what: What::Create,
            at,
            input: Arc::clone(&input),
            id: None,
            status: None,
            complaint: None,
            agent: Some(agent.clone()),
        };
        let reply = fault.before().unwrap_or_else(|| {
            let id: Arc<str> = format!("v1_{}", uuid::Uuid::new_v4().simple()).into();
            entry.id = Some(Arc::clone(&id));
            let released = self.released.contains(&*input);
            let mut interaction = Interaction::new(Arc::clone(&id), input, agent, script);
            let response = interaction.show(released);
            self.interactions.insert(id, interaction);
            fault.after(response)
        });
        entry.status = reply.status();
        self.log.0.push(entry);
        reply
    }

    fn existing(&mut self, what: What, id: &str, at: Duration) -> Reply {
        let Some(interaction) = self.interactions.get_mut(id) else {
            self.log.0.push(Entry {
                what,
                at,
                input: "".into(),
                id: Some(id.into()),
                status: Some(404),
                complaint: None,
                agent: None,
            });
            return Reply::Answer(gone(404));
        };
        let released = self.released.contains(&*interaction.input);
        let (input, id) = (Arc::clone(&interaction.input), Arc::clone(&interaction.id));
        let fault = match what {
            What::Poll => {
                interaction.polls += 1;
                interaction.script.polls.get(interaction.polls - 1).cloned()
            }
            What::Cancel => {
                interaction.cancels += 1;
                interaction.script.cancels.get(interaction.cancels - 1).cloned()
            }
            _ => None,
        };
        let fault = fault.unwrap_or(Fault::No);
        let reply = match fault.before() {
            Some(reply) => reply,
            None if what == What::Delete => {
                self.interactions.remove(&id);
                Reply::Answer(Response::json(200, &json!({})))
            }
            None if what == What::Cancel => fault.after(interaction.cancel(released)),
            None => {
                interaction.looked_at += 1;
                fault.after(interaction.show(released))
            }
        };
        let status = reply.status();
        let id = Some(id);
        self.log.0.push(Entry { what, at, input, id, status, complaint: None, agent: None });
        reply
    }
}
