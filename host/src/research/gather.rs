//! A gather step: search with each query, merge what comes back, read pages where
//! the search shows only a snippet, and have the agent write findings from the
//! best of everything so far.

use std::collections::HashSet;
use std::sync::Arc;

use super::event::progress_of;
use super::passages::Passages;
use super::recorder::{Call, to_json};
use super::{Event, Progress, Run, named, quality};
use crate::plugins::CallError;
use crate::plugins::contract::{
    Agent, AgentRequest, Finding, Hit, PageRequest, Pages, Passage, Purpose, Question, Round,
    Search, SearchDepth, SearchQuery, SearchResults,
};

/// Passages handed to the agent at the most.
const MOST_PASSAGES: usize = 48;
/// Text of one page.
const PAGE_BYTES: u64 = 1 << 20;

pub struct Gatherer<'a> {
    run: &'a Run<'a>,
    question: &'a Question,
    backends: Option<Backends>,
    passages: Passages,
    /// Rounds up to this number were made before the run was taken up again.
    missing: u32,
}

struct Backends {
    search: Arc<dyn Search>,
    agent: Arc<dyn Agent>,
    pages: Option<Arc<dyn Pages>>,
}

impl<'a> Gatherer<'a> {
    pub fn new(run: &'a Run<'a>, question: &'a Question, earlier_rounds: u32) -> Self {
        let passages = Passages::default();
        Self { run, question, backends: None, passages, missing: earlier_rounds }
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
        self.refill(progress, results, depth).await?;
        let mut hits = Vec::new();
        for query in round.queries.clone() {
            let found = self.search(round.number, query, results, depth).await?;
            round.usage.add(&found.usage);
            hits.push(found.hits);
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
        let search_name = named("search", backends.search.as_ref())?.to_owned();
        let search = self.run.plugins.search(&search_name).await?;
        let agent = self.run.plugins.agent(named("agent", backends.agent.as_ref())?).await?;
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

    /// Finds again what the rounds before an interruption had found: the passages
    /// are not kept, and the findings are written from all of them. Searches that
    /// cost something come from the record.
    async fn refill(
        &mut self,
        progress: &Progress,
        results: u32,
        depth: SearchDepth,
    ) -> Result<(), CallError> {
        let earlier = progress.rounds.iter().filter(|round| round.number <= self.missing);
        for round in earlier.filter(|round| round.error.is_none()) {
            for query in &round.queries {
                let found = self.search(round.number, query.clone(), results, depth).await?;
                self.passages.merge(found.hits.into_iter().map(|hit| hit.passage));
            }
        }
        self.missing = 0;
        Ok(())
    }

    fn backends(&self) -> &Backends {
        self.backends.as_ref().expect("gather prepares first")
    }

    async fn search(
        &self,
        number: u32,
        text: String,
        results: u32,
        depth: SearchDepth,
    ) -> Result<SearchResults, CallError> {
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
        let request = to_json(&query);
        let call = self.call(number, name, "search", &request);
        let search = self.backends().search.search(&query, progress_of(self.run.events));
        let mut answer = self.run.recorder.call(call, search).await?;
        // A search is a search, whether or not the backend counts it.
        answer.usage.searches = answer.usage.searches.max(1);
        Ok(answer)
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
        let json = to_json(&request);
        let call = self.call(round.number, name, "fetch", &json);
        let fetch = pages.fetch(&request, progress_of(self.run.events));
        let mut page = self.run.recorder.call(call, fetch).await?;
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
        let json = to_json(&request);
        let call = self.call(round.number, name, "answer", &json);
        let answer = self.backends().agent.answer(&request, progress_of(self.run.events));
        let reply = self.run.recorder.call(call, answer).await?;

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

    /// How a call of a backend is written down.
    fn call<'call>(
        &self,
        round: u32,
        plugin: &'call str,
        function: &'call str,
        request: &'call str,
    ) -> Call<'call> {
        Call { round, plugin, function, request, may_cost: self.run.may_cost(plugin) }
    }
}
