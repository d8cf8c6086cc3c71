//! A gather step: search with each query, merge what comes back, read pages where
//! the search shows only a snippet, and have the agent write findings from the
//! best of everything so far.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use super::event::progress_of;
use super::passages::Passages;
use super::recorder::to_json;
use super::{Event, Progress, Run, quality};
use crate::plugins::contract::{
    Agent, AgentRequest, Finding, Hit, PageRequest, Pages, Passage, Purpose, Question, Round,
    Search, SearchDepth, SearchQuery, Usage,
};
use crate::plugins::{CallError, LoadError};
use crate::store::StoreError;

/// Passages handed to the agent at the most.
const MOST_PASSAGES: usize = 48;
/// Text of one page.
const PAGE_BYTES: u64 = 1 << 20;

pub struct Gatherer<'a> {
    run: &'a Run<'a>,
    question: &'a Question,
    backends: Option<Backends>,
    passages: Passages,
}

struct Backends {
    search: Arc<dyn Search>,
    agent: Arc<dyn Agent>,
    pages: Option<Arc<dyn Pages>>,
}

impl<'a> Gatherer<'a> {
    pub fn new(run: &'a Run<'a>, question: &'a Question) -> Self {
        Self { run, question, backends: None, passages: Passages::default() }
    }

    pub fn strategy_name(&self) -> &str {
        &self.run.plugins.config().strategy
    }

    pub async fn gather(
        &mut self,
        round: &mut Round,
        progress: &mut Progress,
        results: u32,
        pages: u32,
        depth: SearchDepth,
    ) -> Result<(), CallError> {
        self.prepare().await?;
        let mut hits = Vec::new();
        for query in round.queries.clone() {
            hits.push(self.search(round, query, results, depth).await?);
        }
        self.collect(round, hits, pages).await?;
        self.write(round, progress).await
    }

    /// Loads the backends and brings the search backend up to date, once.
    async fn prepare(&mut self) -> Result<(), CallError> {
        if self.backends.is_some() {
            return Ok(());
        }
        let backends = self.run.backends;
        let name = |kind: &str, name: &Option<String>| {
            name.clone().ok_or_else(|| {
                LoadError::new(kind, "no backend of this kind serves the tool")
                    .with_hint(format!("name one as `{kind}` in [tools] of plugins.toml"))
            })
        };
        let search_name = name("search", &backends.search)?;
        let search = self.run.plugins.search(&search_name).await?;
        let agent = self.run.plugins.agent(&name("agent", &backends.agent)?).await?;
        let pages = match &backends.pages {
            Some(name) => Some(self.run.plugins.pages(name).await?),
            None => None,
        };
        let preparation = search.prepare(progress_of(self.run.events)).await?;
        for note in &preparation.notes {
            tracing::debug!("{search_name}: {note}");
        }
        (self.run.events)(Event::Prepared { plugin: search_name, preparation });
        self.backends = Some(Backends { search, agent, pages });
        Ok(())
    }

    fn backends(&self) -> &Backends {
        self.backends.as_ref().expect("gather prepares first")
    }

    async fn search(
        &self,
        round: &mut Round,
        text: String,
        results: u32,
        depth: SearchDepth,
    ) -> Result<Vec<Hit>, CallError> {
        let query = SearchQuery {
            text,
            results,
            depth,
            include_domains: Vec::new(),
            exclude_domains: Vec::new(),
            time_range: None,
            extra: Vec::new(),
        };
        let name = self.run.backends.search.as_deref().unwrap_or_default();
        let call = self.begin(round.number, name, "search", &query).await?;
        let answer = self.backends().search.search(&query, progress_of(self.run.events)).await;
        self.end(call, &answer, |results| &results.usage).await;
        let mut answer = answer?;
        // A search is a search, whether or not the backend counts it.
        answer.usage.searches = answer.usage.searches.max(1);
        round.usage.add(&answer.usage);
        Ok(answer.hits)
    }

    /// Merges the lists, and reads the pages of what is only a snippet.
    async fn collect(
        &mut self,
        round: &mut Round,
        lists: Vec<Vec<Hit>>,
        pages: u32,
    ) -> Result<(), CallError> {
        let mut to_read = pages;
        let mut seen = HashSet::new();
        for hits in lists {
            let mut passages: Vec<Passage> = Vec::new();
            for hit in hits {
                let complete = hit.complete;
                let mut passage = hit.passage;
                if !complete && to_read > 0 && self.backends().pages.is_some() {
                    to_read -= 1;
                    match self.read(round, &passage.source.url).await {
                        Ok(text) => passage.text = text,
                        Err(error) => tracing::warn!("{}: {error}", passage.source.url),
                    }
                }
                passages.push(passage);
            }
            let sources: Vec<_> = passages.iter().map(|passage| passage.source.clone()).collect();
            let new = self.passages.merge(passages);
            for (source, new) in sources.into_iter().zip(new) {
                round.new_sources += u32::from(new);
                if seen.insert(source.reference()) {
                    round.sources.push(source);
                }
            }
        }
        Ok(())
    }

    async fn read(&self, round: &mut Round, url: &str) -> Result<String, CallError> {
        let Some(pages) = &self.backends().pages else { return Ok(String::new()) };
        let name = self.run.backends.pages.as_deref().unwrap_or_default();
        let request = PageRequest { url: url.to_owned(), max_bytes: PAGE_BYTES, extra: Vec::new() };
        let call = self.begin(round.number, name, "fetch", &request).await?;
        let page = pages.fetch(&request, progress_of(self.run.events)).await;
        self.end(call, &page, |page| &page.usage).await;
        let mut page = page?;
        page.usage.pages = page.usage.pages.max(1);
        round.usage.add(&page.usage);
        Ok(page.text)
    }

    /// Has the agent answer from the best passages of all rounds.
    async fn write(&self, round: &mut Round, progress: &mut Progress) -> Result<(), CallError> {
        let request = AgentRequest {
            purpose: Purpose::Findings,
            prompt: String::new(),
            question: self.question.text.clone(),
            passages: self.passages.best(MOST_PASSAGES),
            schema: None,
            model: None,
            files: Vec::new(),
            extra: Vec::new(),
        };
        let name = self.run.backends.agent.as_deref().unwrap_or_default();
        let call = self.begin(round.number, name, "answer", &request).await?;
        let reply = self.backends().agent.answer(&request, progress_of(self.run.events)).await;
        self.end(call, &reply, |reply| &reply.usage).await;
        let reply = reply?;

        let known: HashSet<Finding> =
            progress.rounds.iter().flat_map(|round| round.findings.iter().cloned()).collect();
        round.new_findings =
            reply.findings.iter().filter(|finding| !known.contains(finding)).count() as u32;
        round.quality = reply
            .quality
            .unwrap_or_else(|| quality::estimate(&self.question.text, &reply.findings));
        round.usage.add(&reply.usage);
        if reply.findings.is_empty() {
            // What it says then is that there is no answer.
            progress.note = Some(reply.text);
        } else {
            round.answer = Some(reply.text);
            progress.note = None;
        }
        round.findings = reply.findings;
        round.follow_ups = reply.follow_ups;
        progress.model = reply.model.or(progress.model.take());
        Ok(())
    }

    /// Writes a call down before it is made, if it may cost something: whoever
    /// reaches neither a host nor a command costs nothing.
    async fn begin(
        &self,
        round: u32,
        plugin: &str,
        function: &str,
        request: &impl Serialize,
    ) -> Result<Option<u32>, CallError> {
        let reaches_out = self.run.plugins.config().plugins.get(plugin).is_some_and(|config| {
            !config.grants.hosts.is_empty() || !config.grants.commands.is_empty()
        });
        if !reaches_out {
            return Ok(None);
        }
        match self.run.recorder.begin_call(round, plugin, function, &to_json(request)).await {
            Ok(number) => Ok(Some(number)),
            Err(error) => Err(unrecorded(plugin, &error)),
        }
    }

    async fn end<T: Serialize>(
        &self,
        call: Option<u32>,
        answer: &Result<T, CallError>,
        usage: impl Fn(&T) -> &Usage,
    ) {
        let Some(number) = call else { return };
        let (outcome, usage) = match answer {
            Ok(answer) => (Ok(to_json(answer)), Some(usage(answer))),
            Err(error) => (Err(to_json(&error.to_string())), None),
        };
        self.run.recorder.finish_call(number, outcome, usage).await;
    }
}

/// A call that may cost money and could not be written down is not made.
fn unrecorded(plugin: &str, error: &StoreError) -> CallError {
    use crate::plugins::contract::{ErrorKind, PluginError};
    CallError::Failed {
        plugin: plugin.to_owned(),
        error: PluginError {
            kind: ErrorKind::Unavailable,
            message: format!("not asked, because the call cannot be written down first: {error}"),
            hint: error.hint(),
        },
    }
}
