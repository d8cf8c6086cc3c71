//! `deep-research`: the agent researches by itself, in one long turn.

use std::io::Read;

use super::arguments::{DeepResearchArguments, Json};
use super::question;
use super::task::Errand;
use crate::tasks::{ErrorReport, TaskRequest};

pub fn errand(
    arguments: DeepResearchArguments,
    stdin: &mut impl Read,
) -> Result<Errand, ErrorReport> {
    let DeepResearchArguments { question, documents, context, delivery } = arguments;
    let question = question::with_context(&question, context.as_deref(), stdin)?;
    let request = TaskRequest::new("deep_research", question);
    Ok(Errand { request, documents: documents.documents, delivery, json: Json::Answer })
}
