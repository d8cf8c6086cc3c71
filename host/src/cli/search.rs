//! `search`: an answer in one round.

use std::io::Read;

use super::arguments::{Json, SearchArguments};
use super::question;
use super::task::Errand;
use crate::tasks::{ErrorReport, RESULTS, TaskRequest};

pub fn errand(arguments: SearchArguments, stdin: &mut impl Read) -> Result<Errand, ErrorReport> {
    let SearchArguments { question, documents, max_results, delivery } = arguments;
    let mut question = question::with_context(&question, None, stdin)?;
    if let Some(results) = max_results {
        question.extra.push((RESULTS.to_owned(), results.to_string()));
    }
    let request = TaskRequest::new("search", question);
    Ok(Errand { request, documents: documents.documents, delivery, json: Json::Answer })
}
