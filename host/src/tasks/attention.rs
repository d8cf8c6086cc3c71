//! What the user decides about a task that may have been started at a vendor, or
//! not: it has this job, or it is to be started again.

use super::{ErrorReport, Tasks};
use crate::plugins::contract::Job;
use crate::research::to_json;

/// No vendor's name for a job is longer, or has white space in it.
const LONGEST_NAME: usize = 512;

impl Tasks {
    /// The task goes on with this job of the vendor's. Returns the task's whole id.
    pub async fn adopt(&self, id: &str, job_id: &str) -> Result<String, ErrorReport> {
        let job_id = job_id.trim();
        if job_id.is_empty()
            || job_id.len() > LONGEST_NAME
            || job_id
                .contains(|character: char| character.is_whitespace() || character.is_control())
        {
            return Err(ErrorReport {
                code: "INVALID_INPUT".to_owned(),
                message: "this is not the name of an interaction".to_owned(),
                hint: Some(
                    "it is one word, such as v1_5a34279fca7442ef85c18aefc7ded417".to_owned(),
                ),
            });
        }
        let task = self.store.find_task(id).await?;
        self.store.adopt_job(&task.id, job_id, to_json(&Job::unseen(job_id))).await?;
        Ok(task.id)
    }

    /// The task is started again, at the risk of paying twice. Returns its whole id.
    pub async fn retry(&self, id: &str) -> Result<String, ErrorReport> {
        let task = self.store.find_task(id).await?;
        self.store.retry_task(&task.id).await?;
        Ok(task.id)
    }
}
