//! How the stand-in behaves towards one question: when it is over, what it comes to,
//! and what goes wrong on the way.

use std::time::Duration;

use serde_json::{Value, json};

/// What becomes of one interaction. The default ends well at the second poll.
#[derive(Debug, Clone)]
pub struct Script {
    /// What goes wrong with the requests that start it: the first, the second, ….
    /// Further ones are taken.
    pub creates: Vec<Fault>,
    /// The same for polls.
    pub polls: Vec<Fault>,
    /// The same for cancels.
    pub cancels: Vec<Fault>,
    pub until: Until,
    pub ending: Ending,
    /// Rounds of thought, search and reading; their steps appear one by one.
    pub rounds: usize,
    /// The text of the report; a realistic one if none is given.
    pub report: Option<String>,
    /// A cancel is refused, and it goes on.
    pub refuses_cancel: bool,
    /// What can be read of the report before it is over.
    pub draft: Option<String>,
    /// Steps of its own, before the others.
    pub first_steps: Vec<Value>,
    /// What it has used is told while it runs, too.
    pub tells_usage: bool,
}

/// When it is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// The answer to the start is the end already.
    AtOnce,
    /// So many polls find it running.
    Polls(usize),
    /// So long after it was started.
    Elapsed(Duration),
    /// `Interactions::release` is called.
    Released,
    Never,
}

/// What it comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Completed,
    /// Completed, without a word.
    Empty,
    /// With this code, a word or a number, and message.
    Failed(Value, String),
    /// Another status, such as `incomplete`, with the report or without.
    Status(String, bool),
    /// It is gone: every later request is answered with this status.
    Gone(u16),
}

/// What goes wrong with one request.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Nothing.
    No,
    /// Answered after a while.
    Delay(Duration),
    /// Refused with this status, in the vendor's form. Nothing is taken.
    Status(u16),
    /// 429, with the seconds to wait in the header.
    RateLimited(u32),
    /// 429, with the seconds to wait where Google's servers put them.
    RetryInfo(u32),
    /// The connection is closed, and nothing was taken.
    CutBefore,
    /// It is taken, and the connection closed without an answer.
    CutAfter,
    /// It is taken, and half of the answer sent.
    CutMiddle,
    /// It is taken, and answered with this status all the same.
    TakenThen(u16),
    /// It is taken, and never answered.
    Hang,
    /// It is taken, and answered with status 200 and these words.
    Says(String),
    /// It is taken, and answered with a body of so many bytes.
    Huge(usize),
    /// It is taken, and the answer is about another interaction.
    OtherId,
    /// It is taken, and nothing in the answer has the type it should have.
    WrongTypes,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            creates: Vec::new(),
            polls: Vec::new(),
            cancels: Vec::new(),
            until: Until::Polls(1),
            ending: Ending::Completed,
            rounds: 2,
            report: None,
            refuses_cancel: false,
            draft: None,
            first_steps: Vec::new(),
            tells_usage: false,
        }
    }
}

impl Script {
    pub fn until(until: Until) -> Self {
        Self { until, ..Self::default() }
    }

    pub fn ending(ending: Ending) -> Self {
        Self { ending, ..Self::default() }
    }

    /// The first request that starts it goes wrong.
    pub fn create(fault: Fault) -> Self {
        Self { creates: vec![fault], ..Self::default() }
    }

    pub fn polls(faults: impl IntoIterator<Item = Fault>) -> Self {
        Self { polls: faults.into_iter().collect(), ..Self::default() }
    }

    pub fn failed(code: &str, message: &str) -> Self {
        Self::ending(Ending::Failed(json!(code), message.to_owned()))
    }

    /// What the question itself says, for those who start it on a command line or in
    /// great numbers: words such as `stand-in:polls=3`, `stand-in:ms=200`,
    /// `stand-in:never`, `stand-in:released`, `stand-in:failed`, `stand-in:empty`,
    /// `stand-in:gone=404`, `stand-in:status=incomplete`, `stand-in:rounds=5`,
    /// `stand-in:refuse-cancel`, and for the first request that starts it
    /// `stand-in:create=500`, `stand-in:cut-before`, `stand-in:cut-after`,
    /// `stand-in:hang`, `stand-in:slow-start=200` (milliseconds); for the first poll `stand-in:poll=500`, `stand-in:poll-cut`.
    pub fn by_words(input: &str) -> Self {
        let mut script = Self::default();
        for word in input.split_whitespace().filter_map(|word| word.strip_prefix("stand-in:")) {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse().unwrap_or_else(|_| panic!("{word}: not a number"));
            let status = || value.parse().unwrap_or_else(|_| panic!("{word}: not a status"));
            match name {
                "polls" => script.until = Until::Polls(number()),
                "ms" => script.until = Until::Elapsed(Duration::from_millis(number() as u64)),
                "at-once" => script.until = Until::AtOnce,
                "never" => script.until = Until::Never,
                "released" => script.until = Until::Released,
                "failed" => {
                    script.ending = Ending::Failed(json!("internal_error"), "It broke.".to_owned());
                }
                "empty" => script.ending = Ending::Empty,
                "gone" => script.ending = Ending::Gone(status()),
                "status" => script.ending = Ending::Status(value.to_owned(), true),
                "rounds" => script.rounds = number(),
                "refuse-cancel" => script.refuses_cancel = true,
                "create" => script.creates.push(Fault::Status(status())),
                "cut-before" => script.creates.push(Fault::CutBefore),
                "cut-after" => script.creates.push(Fault::CutAfter),
                "hang" => script.creates.push(Fault::Hang),
                "slow-start" => {
                    let delay = Duration::from_millis(number() as u64);
                    script.creates.push(Fault::Delay(delay));
                }
                "poll" => script.polls.push(Fault::Status(status())),
                "poll-cut" => script.polls.push(Fault::CutAfter),
                _ => panic!("the stand-in knows no word `{word}`"),
            }
        }
        script
    }
}
