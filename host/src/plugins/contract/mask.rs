//! Taking what a plugin must not tell out of what it says: every text of a reply, an
//! error or a report of progress. Each type names all of its fields, so that one
//! that is added cannot be forgotten.

use super::{
    AgentReply, Citation, Decision, Description, ErrorKind, Extraction, Finding, Forecast, Hit,
    Job, JobStatus, Level, Location, Page, Passage, Plan, PluginError, Preparation, Problem,
    Progress, Quality, SearchDepth, SearchResults, Source, Step, StopReason, Usage,
};
use crate::gates::secrets::Mask;

/// Something with texts in it.
pub trait Masked {
    fn hide(&mut self, mask: &Mask);

    /// The same with every secret masked; untouched where there is none to hide.
    #[must_use]
    fn masked(mut self, mask: &Mask) -> Self
    where
        Self: Sized,
    {
        if !mask.is_empty() {
            self.hide(mask);
        }
        self
    }
}

impl Masked for String {
    fn hide(&mut self, mask: &Mask) {
        mask.apply(self);
    }
}

impl<T: Masked> Masked for Option<T> {
    fn hide(&mut self, mask: &Mask) {
        if let Some(value) = self {
            value.hide(mask);
        }
    }
}

impl<T: Masked> Masked for Vec<T> {
    fn hide(&mut self, mask: &Mask) {
        for value in self {
            value.hide(mask);
        }
    }
}

impl<A: Masked, B: Masked> Masked for (A, B) {
    fn hide(&mut self, mask: &Mask) {
        self.0.hide(mask);
        self.1.hide(mask);
    }
}

/// What holds no text.
macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Masked for $type {
            fn hide(&mut self, _: &Mask) {}
        })*
    };
}

numbers!((), bool, u32, u64, f64, Quality, Level, SearchDepth);

macro_rules! fields {
    ($type:ty { $($name:ident),* }) => {
        impl Masked for $type {
            fn hide(&mut self, mask: &Mask) {
                let Self { $($name),* } = self;
                $($name.hide(mask);)*
            }
        }
    };
}

fields!(Progress { message, done, total });
fields!(Description { name, version, kind, summary, settings_schema, extra });
fields!(Problem { path, message, hint });
fields!(PluginError { kind, message, hint });
fields!(Plan { level, rounds, results, pages, depth, reason, extra });
fields!(Decision { step, reason, memo });
fields!(Extraction { json, repaired, notes });
fields!(Forecast { complexity, seconds, cost_usd, runs, reason, extra });
fields!(Location { start_line, end_line, heading });
fields!(Source { url, title, location, published, extra });
fields!(Passage { source, text, score });
fields!(Finding { text, quote, source });
fields!(Usage { input_tokens, output_tokens, searches, pages, cost_usd, extra });
fields!(AgentReply { text, findings, quality, follow_ups, queries, sources, model, usage, extra });
fields!(Hit { passage, complete });
fields!(SearchResults { hits, usage });
fields!(Preparation { items, updated, removed, notes });
fields!(Page { source, text, warnings, usage, extra });
fields!(Citation { source, start, end });
fields!(Job { id, status, progress, report, citations, sources, usage, error, extra });

impl Masked for ErrorKind {
    fn hide(&mut self, mask: &Mask) {
        if let Self::Other(name) = self {
            name.hide(mask);
        }
    }
}

impl Masked for JobStatus {
    fn hide(&mut self, mask: &Mask) {
        if let Self::Other(name) = self {
            name.hide(mask);
        }
    }
}

impl Masked for StopReason {
    fn hide(&mut self, mask: &Mask) {
        if let Self::Other(name) = self {
            name.hide(mask);
        }
    }
}

impl Masked for Step {
    fn hide(&mut self, mask: &Mask) {
        match self {
            Self::Ask { prompt } => prompt.hide(mask),
            Self::Gather { queries, results: _, pages: _, depth: _ } => queries.hide(mask),
            Self::Delegate { input } => input.hide(mask),
            Self::Finish { reason, note } => {
                reason.hide(mask);
                note.hide(mask);
            }
            Self::Other { name } => name.hide(mask),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::secrets::Secret;

    const KEY: &str = "canary-key";

    fn source() -> Source {
        let key = || KEY.to_owned();
        Source {
            url: format!("https://a.example/?k={KEY}"),
            title: key(),
            location: Some(Location { start_line: 1, end_line: 2, heading: Some(key()) }),
            published: Some(key()),
            extra: vec![(key(), key())],
        }
    }

    fn usage() -> Usage {
        Usage { input_tokens: 7, extra: vec![("x".to_owned(), KEY.to_owned())], ..Usage::default() }
    }

    fn job() -> Job {
        let key = || KEY.to_owned();
        let error = PluginError::other(KEY, KEY).hint(KEY);
        Job {
            id: key(),
            status: JobStatus::Other(key()),
            progress: vec![key()],
            report: Some(key()),
            citations: vec![Citation { source: source(), start: 0, end: 1 }],
            sources: vec![source()],
            usage: usage(),
            error: Some(error),
            extra: vec![(key(), key())],
        }
    }

    fn reply() -> AgentReply {
        let key = || KEY.to_owned();
        AgentReply {
            text: format!("before {KEY} after"),
            findings: vec![Finding { text: key(), quote: key(), source: source() }],
            quality: Some(Quality { relevance: 0.5, ..Quality::default() }),
            follow_ups: vec![key()],
            queries: vec![key()],
            sources: vec![source()],
            model: Some(key()),
            usage: usage(),
            extra: vec![(key(), key())],
        }
    }

    #[test]
    fn no_text_of_a_reply_keeps_a_secret() {
        let mask = Mask::new([Secret::new(KEY)]);
        let masked = reply().masked(&mask);
        assert_eq!(masked.text, "before [secret] after");
        assert_eq!((masked.usage.input_tokens, masked.quality), (7, reply().quality));
        let page = Page {
            source: source(),
            text: KEY.to_owned(),
            warnings: vec![KEY.to_owned()],
            usage: usage(),
            extra: vec![(KEY.to_owned(), KEY.to_owned())],
        };
        let passage = Passage { source: source(), text: KEY.to_owned(), score: 1.0 };
        let results = SearchResults { hits: vec![Hit { passage, complete: true }], usage: usage() };
        let finish =
            Step::Finish { reason: StopReason::Other(KEY.to_owned()), note: Some(KEY.to_owned()) };
        for shown in [
            format!("{masked:?}"),
            format!("{:?}", job().masked(&mask)),
            format!("{:?}", page.masked(&mask)),
            format!("{:?}", results.masked(&mask)),
            format!("{:?}", finish.masked(&mask)),
        ] {
            assert!(!shown.contains(KEY) && shown.contains("[secret]"), "{shown}");
        }
    }

    #[test]
    fn without_a_secret_nothing_changes() {
        assert_eq!(reply().masked(&Mask::default()), reply());
        assert_eq!(job().masked(&Mask::new([Secret::new("another-key")])), job());
    }
}
