//! Putting the answer together.

use bathysphere_sdk::agent::Reply;
use bathysphere_sdk::types::{Source, Usage};

use crate::session::Session;
use crate::transcript::Outcome;

/// `model` is the one that was asked for, where one was.
pub fn reply(outcome: Outcome, session: Session, model: Option<String>) -> Reply {
    let read = outcome.pages.clone().into_vec().len();
    // The session knows more, and in order; what only the stream knows comes after.
    let mut sources = session.sources;
    sources.extend(outcome.pages.into_vec());
    let cached = outcome.tokens.cached;
    Reply {
        text: outcome.text.trim().to_owned(),
        findings: Vec::new(),
        quality: None,
        follow_ups: Vec::new(),
        queries: outcome.queries,
        sources: sources
            .into_vec()
            .into_iter()
            .map(|found| Source {
                title: found.title.unwrap_or_else(|| found.url.clone()),
                url: found.url,
                location: None,
                published: None,
                extra: Vec::new(),
            })
            .collect(),
        model: model.or(session.model).or(outcome.model),
        usage: Usage {
            input_tokens: outcome.tokens.input,
            output_tokens: outcome.tokens.output,
            searches: outcome.searches,
            pages: read as u32,
            cost_usd: None,
            extra: if cached == 0 {
                Vec::new()
            } else {
                vec![("cached_input_tokens".into(), cached.to_string())]
            },
        },
        extra: Vec::new(),
    }
}
