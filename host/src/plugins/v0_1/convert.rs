//! Between the generated types of contract 0.1 and the plain ones.

use std::time::Duration;

use super::bindings::host::bathysphere::plugin::{documents, http, process};
use super::bindings::{
    agent, estimator, extractor, meta, pages, research, search, strategy, types,
};
use crate::gates;
use crate::plugins::contract as plain;

/// One field, by how it differs between the two sides.
macro_rules! field {
    ($value:expr, same) => {
        $value
    };
    ($value:expr, into) => {
        $value.into()
    };
    ($value:expr, option) => {
        $value.map(Into::into)
    };
    ($value:expr, list) => {
        $value.into_iter().map(Into::into).collect()
    };
}

/// Records with the same fields on both sides: `=>` one way, `=` both ways.
macro_rules! record {
    ($from:ty => $into:ty { $($name:ident : $how:ident),* $(,)? }) => {
        impl From<$from> for $into {
            fn from(value: $from) -> Self {
                Self { $($name: field!(value.$name, $how)),* }
            }
        }
    };
    ($one:ty = $other:ty { $($name:ident : $how:ident),* $(,)? }) => {
        record!($one => $other { $($name: $how),* });
        record!($other => $one { $($name: $how),* });
    };
}

/// Enums with the same names on both sides; after `;` those that carry a value.
macro_rules! names {
    ($from:ty => $into:ty { $($name:ident),* $(; $($with:ident),*)? }) => {
        impl From<$from> for $into {
            fn from(value: $from) -> Self {
                type Given = $from;
                match value {
                    $(Given::$name => Self::$name,)*
                    $($(Given::$with(inner) => Self::$with(inner),)*)?
                }
            }
        }
    };
    ($one:ty = $other:ty { $($name:ident),* $(; $($with:ident),*)? }) => {
        names!($one => $other { $($name),* $(; $($with),*)? });
        names!($other => $one { $($name),* $(; $($with),*)? });
    };
}

// What all kinds share.
names!(types::ErrorKind = plain::ErrorKind {
    NotFound, Auth, Unavailable, InvalidInput, Refused; RateLimited, Other
});
record!(types::Error = plain::PluginError { kind: into, message: same, hint: same });
names!(types::Scope = plain::Scope { Tiny, Normal, Large });
names!(types::TaskType = plain::TaskType { Reference, Debug, Architecture, Research; Other });
record!(plain::Question => types::Question {
    text: same, goal: same, scope: option, task_type: option, context: same, max_rounds: same,
    max_cost_usd: same, extra: same,
});
names!(types::Level = plain::Level { None, Shallow, Medium, Deep });
names!(types::SearchDepth = plain::SearchDepth { Basic, Advanced });
record!(
    types::Plan = plain::Plan {
        level: into,
        rounds: same,
        results: same,
        pages: same,
        depth: into,
        reason: same,
        extra: same,
    }
);
record!(types::Location = plain::Location { start_line: same, end_line: same, heading: same });
record!(
    types::Source =
        plain::Source { url: same, title: same, location: option, published: same, extra: same }
);
record!(types::Passage = plain::Passage { source: into, text: same, score: same });
record!(types::Finding => plain::Finding { text: same, quote: same, source: into });
record!(types::Quality = plain::Quality { relevance: same, coverage: same, confidence: same });
record!(
    types::Usage = plain::Usage {
        input_tokens: same,
        output_tokens: same,
        searches: same,
        pages: same,
        cost_usd: same,
        extra: same,
    }
);

// meta
record!(meta::Description => plain::Description {
    name: same, version: same, kind: same, summary: same, settings_schema: same, extra: same,
});
record!(meta::Problem => plain::Problem { path: same, message: same, hint: same });

// strategy
names!(strategy::StopReason => plain::StopReason {
    NotNeeded, GoodEnough, Verified, DiminishingReturns, Repetition, Budget, Limit, NothingFound;
    Other
});

impl From<strategy::Step> for plain::Step {
    fn from(step: strategy::Step) -> Self {
        match step {
            strategy::Step::Ask(ask) => Self::Ask { prompt: ask.prompt },
            strategy::Step::Gather(gather) => Self::Gather {
                queries: gather.queries,
                results: gather.results,
                pages: gather.pages,
                depth: gather.depth.into(),
            },
            strategy::Step::Delegate(delegate) => Self::Delegate { input: delegate.input },
            strategy::Step::Finish(finish) => {
                Self::Finish { reason: finish.reason.into(), note: finish.note }
            }
            strategy::Step::Other(name) => Self::Other { name },
        }
    }
}

record!(strategy::Decision => plain::Decision { step: into, reason: same, memo: same });
// What a round keeps for people (reason, findings, duration) a strategy is not
// shown.
record!(plain::Round => strategy::Round {
    number: same, step: same, queries: same, sources: list, new_sources: same, new_findings: same,
    answer: same, verified: same, quality: into, follow_ups: same, usage: into, error: option,
    extra: same,
});
record!(plain::Situation => strategy::Situation {
    question: into, plan: into, rounds: list, memo: same, spent: into,
});

// extractor, estimator
record!(extractor::Extraction => plain::Extraction { json: same, repaired: same, notes: same });
record!(plain::PastRun => estimator::PastRun {
    question: same, plan: into, rounds: same, seconds: same, usage: into,
});

impl From<estimator::Forecast> for plain::Forecast {
    fn from(forecast: estimator::Forecast) -> Self {
        Self {
            complexity: forecast.complexity,
            seconds: (forecast.seconds.low, forecast.seconds.high),
            cost_usd: (forecast.cost_usd.low, forecast.cost_usd.high),
            runs: forecast.runs,
            reason: forecast.reason,
            extra: forecast.extra,
        }
    }
}

// agent
names!(plain::Purpose => agent::Purpose { Answer, Findings, Correct; Other });
record!(plain::AgentRequest => agent::Request {
    purpose: into, prompt: same, question: same, passages: list, schema: same, model: same,
    files: same, extra: same,
});
record!(agent::Reply => plain::AgentReply {
    text: same, findings: list, quality: option, follow_ups: same, queries: same, sources: list,
    model: same, usage: into, extra: same,
});

// search
record!(plain::SearchQuery => search::Query {
    text: same, results: same, depth: into, include_domains: same, exclude_domains: same,
    time_range: same, extra: same,
});
record!(search::Hit => plain::Hit { passage: into, complete: same });
record!(search::Results => plain::SearchResults { hits: list, usage: into });
record!(search::Preparation => plain::Preparation {
    items: same, updated: same, removed: same, notes: same,
});

// pages
record!(plain::PageRequest => pages::Request { url: same, max_bytes: same, extra: same });
record!(pages::Page => plain::Page {
    source: into, text: same, warnings: same, usage: into, extra: same,
});

// research
record!(plain::ResearchRequest => research::Request { input: same, model: same, extra: same });
names!(research::Status => plain::JobStatus {
    Queued, Running, Completed, Failed, Cancelled, Expired; Other
});
record!(research::Citation => plain::Citation { source: into, start: same, end: same });
record!(research::Job => plain::Job {
    id: same, status: into, progress: same, report: same, citations: list, sources: list,
    usage: into, error: option, extra: same,
});

// The gates.
names!(gates::GateErrorKind => types::ErrorKind {
    NotFound, Auth, Unavailable, InvalidInput, Refused; RateLimited, Other
});
record!(gates::GateError => types::Error { kind: into, message: same, hint: same });

impl From<http::Request> for gates::http::Request {
    fn from(request: http::Request) -> Self {
        Self {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            timeout: milliseconds(request.timeout_ms),
            max_bytes: request.max_bytes,
        }
    }
}

record!(gates::http::Response => http::Response {
    status: same, headers: same, body: same, url: same,
});

impl From<process::Command> for gates::process::Command {
    fn from(command: process::Command) -> Self {
        Self {
            program: command.program,
            arguments: command.arguments,
            environment: command.environment,
            input: command.input,
            files: command.files,
            timeout: milliseconds(command.timeout_ms),
        }
    }
}

fn milliseconds(count: Option<u32>) -> Option<Duration> {
    count.map(|count| Duration::from_millis(count.into()))
}

names!(gates::process::ProcessEvent => process::Event { ; Output, ErrorOutput, Exited, Signalled });
names!(gates::documents::EntryKind => documents::EntryKind { File, Directory });
record!(gates::documents::Entry => documents::Entry {
    name: same, kind: into, size: same, indexed: same,
});
record!(documents::Passage => gates::documents::Passage {
    heading: same, start_line: same, end_line: same, text: same,
});
record!(documents::Document => gates::documents::Document {
    root: same, path: same, title: same, passages: list,
});
record!(gates::documents::Match => documents::Match {
    root: same, path: same, title: same, heading: same, start_line: same, end_line: same,
    text: same, score: same,
});
