//! A loopback stand-in of the Gemini API, in its real wire format, scripted by each
//! test. It records every request, so that a test sees the prompts and counts what
//! would have been paid.
//!
//! The calls that answer the prompt (`streamGenerateContent`) take the next answer of
//! the queue. What the CLI asks beside them, its router, its web search and its page
//! reader, is answered by itself.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gemini_answers::Answer;
use super::program::DEADLINE;

/// What a request was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To answer the prompt.
    Answer,
    /// To choose a model for it.
    Route,
    /// `google_web_search`.
    Search,
    /// `web_fetch`.
    Fetch,
    Other,
}

#[derive(Debug, Clone)]
pub struct Recorded {
    pub purpose: Purpose,
    pub path: String,
    pub model: String,
    /// What was sent as `x-goog-api-key`.
    pub key: Option<String>,
    pub body: Value,
}

impl Recorded {
    /// All text that the user's side has sent, without what the CLI says of its
    /// surroundings.
    pub fn prompt(&self) -> String {
        let contents = self.body["contents"].as_array().into_iter().flatten();
        contents
            .filter(|content| content["role"] == "user")
            .flat_map(|content| content["parts"].as_array().into_iter().flatten())
            .filter_map(|part| part["text"].as_str())
            .filter(|text| !text.starts_with("<session_context>"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// What tools gave back, in order: `output`, or `error`.
    pub fn tool_results(&self) -> Vec<String> {
        let contents = self.body["contents"].as_array().into_iter().flatten();
        contents
            .flat_map(|content| content["parts"].as_array().into_iter().flatten())
            .filter_map(|part| {
                let response = &part["functionResponse"]["response"];
                response["output"].as_str().or(response["error"].as_str()).map(str::to_owned)
            })
            .collect()
    }
}

type Chooser = Box<dyn Fn(&Recorded) -> Answer + Send + Sync>;

#[derive(Default)]
struct Script {
    queue: VecDeque<Answer>,
    otherwise: Option<Answer>,
    /// For every request, whatever it is for.
    everything: Option<Answer>,
    requests: Vec<Recorded>,
    unexpected: usize,
    /// Titles and addresses that a search finds.
    found: Vec<(String, String)>,
    closing: bool,
}

struct Shared {
    script: Mutex<Script>,
    changed: Condvar,
    chooser: Option<Chooser>,
}

/// The stand-in; it ends when it is dropped.
pub struct GeminiApi {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl GeminiApi {
    /// Answers in this order; a further request is answered with an error, and
    /// `assert_all_expected` then fails.
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start(answers.into_iter().collect(), None)
    }

    /// Answers each request by what is in it.
    pub fn choosing(choose: impl Fn(&Recorded) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(VecDeque::new(), Some(Box::new(choose)))
    }

    fn start(queue: VecDeque<Answer>, chooser: Option<Chooser>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let found = vec![
            ("modelcontextprotocol.io".to_owned(), redirect("AAA111")),
            ("docs.rs".to_owned(), redirect("BBB222")),
        ];
        let script = Mutex::new(Script { queue, found, ..Script::default() });
        let shared = Arc::new(Shared { script, changed: Condvar::new(), chooser });
        let serving = Arc::clone(&shared);
        let listener = thread::spawn(move || {
            for stream in listener.incoming() {
                if locked(&serving.script).closing {
                    break;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&serving);
                // A client that goes away is no fault of the stand-in.
                thread::spawn(move || drop(serve(&stream, &shared)));
            }
        });
        Self { address, shared, listener: Some(listener) }
    }

    /// For `GOOGLE_GEMINI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds an answer to the queue.
    pub fn then(&self, answer: Answer) -> &Self {
        locked(&self.shared.script).queue.push_back(answer);
        self
    }

    /// What is answered once the queue is empty.
    pub fn otherwise(&self, answer: Answer) -> &Self {
        locked(&self.shared.script).otherwise = Some(answer);
        self
    }

    /// What every request is answered with from now on, also those beside the prompt.
    pub fn everything(&self, answer: Answer) -> &Self {
        locked(&self.shared.script).everything = Some(answer);
        self
    }

    /// What a web search finds: titles and addresses.
    pub fn finds(&self, found: &[(&str, &str)]) -> &Self {
        locked(&self.shared.script).found =
            found.iter().map(|(title, url)| ((*title).to_owned(), (*url).to_owned())).collect();
        self
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Recorded> {
        locked(&self.shared.script).requests.clone()
    }

    /// Those that asked for an answer.
    pub fn answer_requests(&self) -> Vec<Recorded> {
        self.requests().into_iter().filter(|request| request.purpose == Purpose::Answer).collect()
    }

    /// Waits until so many requests for an answer have come in.
    #[track_caller]
    pub fn wait_for_answer_requests(&self, count: usize) -> Vec<Recorded> {
        let deadline = Instant::now() + DEADLINE;
        let mut script = locked(&self.shared.script);
        loop {
            let answers = script.requests.iter().filter(|one| one.purpose == Purpose::Answer);
            if answers.count() >= count {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(left > Duration::ZERO, "{count} requests did not come: {:?}", script.requests);
            script = self
                .shared
                .changed
                .wait_timeout(script, left)
                .map_or_else(|poisoned| poisoned.into_inner().0, |(script, _)| script);
        }
        drop(script);
        self.answer_requests()
    }

    /// Nothing was asked that had no answer, and nothing is left over.
    #[track_caller]
    pub fn assert_all_expected(&self) {
        let script = locked(&self.shared.script);
        assert_eq!(script.unexpected, 0, "requests beyond the script: {:#?}", script.requests);
        assert!(script.queue.is_empty(), "never asked for: {:?}", script.queue);
    }
}

impl Drop for GeminiApi {
    fn drop(&mut self) {
        locked(&self.shared.script).closing = true;
        self.shared.changed.notify_all();
        // The one who accepts has to be woken.
        drop(TcpStream::connect(self.address));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn redirect(id: &str) -> String {
    format!("https://vertexaisearch.cloud.google.com/grounding-api-redirect/{id}")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection, which may carry several requests.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(request) = read_request(&mut reader)? {
        let purpose = request.purpose;
        let answer = {
            let mut script = locked(&shared.script);
            script.requests.push(request.clone());
            let own = script.everything.clone().or_else(|| beside(purpose, &script.found));
            let answer = own.or_else(|| {
                let chosen = shared.chooser.as_ref().map(|choose| choose(&request));
                chosen.or_else(|| script.queue.pop_front()).or_else(|| script.otherwise.clone())
            });
            script.unexpected += usize::from(answer.is_none());
            shared.changed.notify_all();
            answer.unwrap_or_else(|| {
                Answer::failure(418, "UNEXPECTED", "the script has no answer left", &json!([]))
            })
        };
        if !respond(stream, shared, &request, answer)? {
            return Ok(());
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Recorded>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut key) = (0, None);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
            "x-goog-api-key" => key = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (model, function) = path
        .rsplit('/')
        .next()
        .and_then(|last| last.split_once(':'))
        .map_or((String::new(), String::new()), |(model, function)| {
            (model.to_owned(), function.to_owned())
        });
    let tools = body["tools"].to_string();
    let purpose = if function.starts_with("streamGenerateContent") {
        Purpose::Answer
    } else if !function.starts_with("generateContent") {
        Purpose::Other
    } else if tools.contains("googleSearch") {
        Purpose::Search
    } else if tools.contains("urlContext") {
        Purpose::Fetch
    } else {
        Purpose::Route
    };
    Ok(Some(Recorded { purpose, path, model, key, body }))
}

/// What is answered without a script.
fn beside(purpose: Purpose, found: &[(String, String)]) -> Option<Answer> {
    let text = |text: String| Some(Answer::Text { pieces: vec![text], finish: "STOP" });
    match purpose {
        Purpose::Answer => None,
        Purpose::Route => {
            let verdict = json!({ "complexity_reasoning": "simple", "complexity_score": 10 });
            text(verdict.to_string())
        }
        Purpose::Search => {
            let titles: Vec<&str> = found.iter().map(|(title, _)| title.as_str()).collect();
            text(format!("Found: {}.", titles.join(", ")))
        }
        Purpose::Fetch => text("The page says hello.".to_owned()),
        Purpose::Other => Some(Answer::failure(404, "NOT_FOUND", "not offered", &json!([]))),
    }
}

/// One message of the API. Every one counts the same tokens.
fn message(
    request: &Recorded,
    found: &[(String, String)],
    parts: &Value,
    finish: Option<&str>,
) -> Value {
    let mut candidate = json!({ "index": 0 });
    if parts.as_array().is_some_and(|parts| !parts.is_empty()) {
        candidate["content"] = json!({ "role": "model", "parts": parts });
    }
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    if request.purpose == Purpose::Search {
        let chunks: Vec<Value> = found
            .iter()
            .map(|(title, url)| json!({ "web": { "uri": url, "title": title } }))
            .collect();
        let indices: Vec<usize> = (0..found.len()).collect();
        candidate["groundingMetadata"] = json!({
            "webSearchQueries": [request.prompt()],
            "groundingChunks": chunks,
            "groundingSupports": [{
                "segment": { "startIndex": 0, "endIndex": 6, "text": "Found:" },
                "groundingChunkIndices": indices,
            }],
        });
    }
    if request.purpose == Purpose::Fetch {
        candidate["urlContextMetadata"] = json!({ "urlMetadata": [{
            "retrievedUrl": "https://example.org/",
            "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS",
        }] });
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(),
        "modelVersion": request.model,
        "responseId": "stand-in",
    })
}

/// The tokens of every call.
fn usage() -> Value {
    json!({
        "promptTokenCount": 1000, "candidatesTokenCount": 50, "thoughtsTokenCount": 20,
        "totalTokenCount": 1070,
    })
}

/// Writes an answer; whether the connection can go on.
fn respond(
    mut stream: &TcpStream,
    shared: &Shared,
    request: &Recorded,
    answer: Answer,
) -> io::Result<bool> {
    let found = locked(&shared.script).found.clone();
    let of_text = |text: &str, finish: Option<&str>| {
        message(request, &found, &json!([{ "text": text }]), finish)
    };
    let messages: Vec<Value> = match answer {
        Answer::Text { pieces, finish } if pieces.is_empty() => {
            vec![message(request, &found, &json!([]), Some(finish))]
        }
        Answer::Text { pieces, finish } => {
            let last = pieces.len() - 1;
            let finish_of = |at: usize| (at == last).then_some(finish);
            pieces.iter().enumerate().map(|(at, piece)| of_text(piece, finish_of(at))).collect()
        }
        Answer::Calls(calls) => {
            let parts: Vec<Value> = calls
                .into_iter()
                .map(|(name, arguments)| {
                    json!({ "functionCall": { "name": name, "args": arguments } })
                })
                .collect();
            vec![message(request, &found, &json!(parts), Some("STOP"))]
        }
        Answer::Failure { status, body } => {
            whole(stream, status, "application/json", &body.to_string())?;
            return Ok(true);
        }
        Answer::Blocked => vec![json!({
            "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" },
            "usageMetadata": usage(),
            "modelVersion": request.model,
        })],
        Answer::Hang => {
            let script = locked(&shared.script);
            drop(shared.changed.wait_while(script, |script| !script.closing));
            return Ok(false);
        }
        Answer::Slow { pieces, latch } => {
            begin_chunks(stream)?;
            let last = pieces.len().saturating_sub(1);
            for (at, piece) in pieces.iter().enumerate() {
                if at > 0 {
                    latch.wait();
                }
                chunk(stream, &event(&of_text(piece, (at == last).then_some("STOP"))))?;
            }
            stream.write_all(b"0\r\n\r\n")?;
            return Ok(true);
        }
        Answer::Cut => {
            begin_chunks(stream)?;
            chunk(stream, &event(&of_text("The beginning of an answer, and th", None)))?;
            chunk(stream, "data: {\"candidates\": [{\"content\"")?;
            stream.shutdown(std::net::Shutdown::Both)?;
            return Ok(false);
        }
        Answer::Flood { bytes } => {
            begin_chunks(stream)?;
            let (mut sent, mut number) = (0, 0_u64);
            while sent < bytes {
                let mut text = String::new();
                while text.len() < 5 << 20 {
                    // Always new: what repeats itself the CLI takes for a loop, and ends.
                    number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let _ = write!(text, "{number:x} ");
                }
                let piece = event(&of_text(&text, None));
                chunk(stream, &piece)?;
                sent += piece.len();
            }
            chunk(stream, &event(&of_text("the end", Some("STOP"))))?;
            stream.write_all(b"0\r\n\r\n")?;
            return Ok(true);
        }
    };
    if request.path.contains("stream") {
        let events: String = messages.iter().map(event).collect();
        whole(stream, 200, "text/event-stream", &events)?;
    } else {
        let only = messages.first().cloned().unwrap_or_default();
        whole(stream, 200, "application/json", &only.to_string())?;
    }
    Ok(true)
}

fn event(message: &Value) -> String {
    format!("data: {message}\r\n\r\n")
}

fn whole(mut stream: &TcpStream, status: u16, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    stream.flush()
}

fn begin_chunks(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 Status\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )
}

fn chunk(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
    stream.flush()
}
