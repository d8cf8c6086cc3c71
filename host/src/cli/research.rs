//! `research`: a question, and a cited report of what was found.

use std::io::Read;

use super::arguments::{Json, ResearchArguments};
use super::question;
use super::task::Errand;
use crate::plugins::contract::Question;
use crate::tasks::{ErrorReport, TaskRequest};

pub fn errand(arguments: ResearchArguments, stdin: &mut impl Read) -> Result<Errand, ErrorReport> {
    let ResearchArguments { question, documents, scope, max_rounds, context, delivery } = arguments;
    let question = Question {
        scope: scope.map(Into::into),
        max_rounds,
        ..question::with_context(&question, context.as_deref(), stdin)?
    };
    let request = TaskRequest::new("research", question);
    Ok(Errand { request, documents: documents.documents, delivery, json: Json::Plain })
}
