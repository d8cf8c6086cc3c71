//! `deep-search`: rounds that check and mend the answer, and going on with those
//! of an earlier task.

use std::io::Read;

use super::arguments::{DeepSearchArguments, Json};
use super::question;
use super::task::Errand;
use crate::plugins::contract::Question;
use crate::tasks::{DEEP_SEARCH, ErrorReport, Subject, TaskRequest};

pub fn errand(
    arguments: DeepSearchArguments,
    stdin: &mut impl Read,
) -> Result<Errand, ErrorReport> {
    let DeepSearchArguments {
        question,
        documents,
        resume,
        max_iterations,
        scope,
        context,
        delivery,
    } = arguments;
    let subject = match resume {
        Some(id) => Subject::Task { id: question::task_id(&id)?, max_rounds: max_iterations },
        None => Subject::Question(Question {
            scope: scope.map(Into::into),
            max_rounds: max_iterations,
            ..question::with_context(&question.unwrap_or_default(), context.as_deref(), stdin)?
        }),
    };
    let request =
        TaskRequest { tool: DEEP_SEARCH.to_owned(), subject, max_wait: None, background: None };
    Ok(Errand { request, documents: documents.documents, delivery, json: Json::Answer })
}
