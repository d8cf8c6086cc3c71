//! The plugin as a component: the contract's types on one side, ours on the
//! other.

use bathysphere_sdk::search::{Hit, Preparation, Query, Results};
use bathysphere_sdk::types::{Error, ErrorKind, Location, Passage, Source, Usage};
use bathysphere_sdk::{documents, log, meta, parse_settings, search};

use crate::kind::{self, Kind};
use crate::settings::{SCHEMA, Settings};
use crate::update::Update;
use crate::{decode, hits, lead, source, update, weigh};

/// Passages of a document to weigh, at the least.
const PASSAGES: u32 = 4;

struct Plugin;

bathysphere_sdk::export_search!(Plugin);

impl meta::Guest for Plugin {
    fn describe() -> meta::Description {
        meta::Description {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kind: "search".to_owned(),
            summary: "Searches your own documents: Markdown, text, reStructuredText, HTML and source code.".to_owned(),
            settings_schema: SCHEMA.to_owned(),
            extra: Vec::new(),
        }
    }

    fn validate(settings: String) -> Result<(), Vec<meta::Problem>> {
        let problems: Vec<meta::Problem> = match parse_settings::<Settings>(&settings) {
            Ok(settings) => settings
                .problems()
                .into_iter()
                .map(|problem| meta::Problem {
                    path: problem.path,
                    message: problem.message,
                    hint: Some(problem.hint),
                })
                .collect(),
            Err(error) => vec![meta::Problem {
                path: String::new(),
                message: error.message,
                hint: error.hint,
            }],
        };
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

impl search::Guest for Plugin {
    fn prepare(settings: String) -> Result<Preparation, Error> {
        let settings: Settings = parse_settings(&settings)?;
        if documents::roots().is_empty() {
            return Err(no_directory());
        }
        let host = Host::default();
        let update = match update::update(&host, &settings).map_err(|message| host.error(message)) {
            Ok(update) => update,
            // Another process is at work on the index: what is there can be asked.
            Err(Error { kind: ErrorKind::Unavailable, message, .. }) => Update {
                notes: vec![format!("not brought up to date: {message}")],
                ..Update::default()
            },
            Err(error) => return Err(error),
        };
        Ok(Preparation {
            items: update.items,
            updated: update.updated,
            removed: update.removed,
            notes: update.notes,
        })
    }

    fn search(settings: String, query: Query) -> Result<Results, Error> {
        let settings: Settings = parse_settings(&settings)?;
        let roots = documents::roots();
        if roots.is_empty() {
            return Err(no_directory());
        }
        let results = query.results.max(1);
        // More than are wanted, so that weighing them has a choice.
        let passages = settings.passages_per_document.max(PASSAGES);
        let found = documents::query(&query.text, weigh::breadth(results), passages)?
            .into_iter()
            .map(|found| hits::Found {
                root: found.root,
                path: found.path,
                title: found.title,
                heading: found.heading,
                start_line: found.start_line,
                end_line: found.end_line,
                text: found.text,
                score: found.score,
                of_many: false,
            })
            .collect();
        let found = weigh::weigh(found, &query.text, results as usize, &settings);
        let mut found = hits::arrange(found, results as usize);
        for passage in found.iter_mut().filter(|passage| lead::leads(passage)) {
            with_its_list(passage, &settings);
        }
        let hits = found
            .into_iter()
            .map(|found| {
                let prefix =
                    roots.iter().find(|root| root.id == found.root).map_or("", |root| &root.prefix);
                let location = Location {
                    start_line: found.start_line,
                    end_line: found.end_line,
                    heading: (!found.heading.is_empty()).then_some(found.heading),
                };
                let source = Source {
                    url: format!("{prefix}{}", found.path),
                    title: found.title,
                    location: Some(location),
                    published: None,
                    extra: Vec::new(),
                };
                Hit {
                    passage: Passage { source, text: found.text, score: found.score },
                    complete: true,
                }
            })
            .collect();
        let usage = Usage {
            input_tokens: 0,
            output_tokens: 0,
            searches: 1,
            pages: 0,
            cost_usd: None,
            extra: Vec::new(),
        };
        Ok(Results { hits, usage })
    }
}

/// A lead without its list says nothing. Where the file cannot be read any more,
/// the passage stays as it was found.
fn with_its_list(passage: &mut hits::Found, settings: &Settings) {
    let name = passage.path.rsplit('/').next().unwrap_or(&passage.path);
    let listed = matches!(
        kind::of(name, &settings.extensions),
        Some(Kind::Markdown | Kind::ReStructured | Kind::Text)
    );
    if !listed {
        return;
    }
    if let Ok(bytes) = documents::read(passage.root, &passage.path, settings.max_file_kb * 1024)
        && let Some(text) = decode::decode(&bytes)
    {
        lead::extend(passage, &text);
    }
}

fn no_directory() -> Error {
    Error {
        kind: ErrorKind::InvalidInput,
        message: "no directory is granted to be searched".to_owned(),
        hint: Some("name one with --docs DIR, or under `directories` of this plugin's grants in plugins.toml".to_owned()),
    }
}

/// The host's documents. Keeps the last error, for its kind and hint.
#[derive(Default)]
struct Host {
    last: std::cell::RefCell<Option<Error>>,
}

impl Host {
    fn keep(&self, error: Error) -> String {
        let message = error.message.clone();
        self.last.replace(Some(error));
        message
    }

    fn error(&self, message: String) -> Error {
        match self.last.take() {
            Some(error) if error.message == message => error,
            _ => Error { kind: ErrorKind::Unavailable, message, hint: None },
        }
    }
}

impl source::Documents for Host {
    fn roots(&self) -> Vec<source::Root> {
        documents::roots()
            .into_iter()
            .map(|root| source::Root { id: root.id, prefix: root.prefix })
            .collect()
    }

    fn list(&self, root: u32, path: &str) -> Result<Vec<source::Entry>, String> {
        let entries = documents::list_directory(root, path).map_err(|error| self.keep(error))?;
        let entries = entries.into_iter().map(|entry| source::Entry {
            name: entry.name,
            is_directory: entry.kind == documents::EntryKind::Directory,
            size: entry.size,
            indexed: entry.indexed,
        });
        Ok(entries.collect())
    }

    fn read(&self, root: u32, path: &str, max_bytes: u64) -> Result<Vec<u8>, String> {
        documents::read(root, path, max_bytes).map_err(|error| self.keep(error))
    }

    fn put(&self, batch: Vec<source::Document>) -> Result<(), String> {
        let batch: Vec<documents::Document> = batch
            .into_iter()
            .map(|document| documents::Document {
                root: document.root,
                path: document.path,
                title: document.title,
                passages: document
                    .passages
                    .into_iter()
                    .map(|passage| documents::Passage {
                        heading: passage.heading,
                        start_line: passage.start_line,
                        end_line: passage.end_line,
                        text: passage.text,
                    })
                    .collect(),
            })
            .collect();
        documents::put(&batch).map_err(|error| self.keep(error))
    }

    fn retain(&self, root: u32, paths: &[String]) -> Result<u32, String> {
        documents::retain(root, paths).map_err(|error| self.keep(error))
    }

    fn progress(&self, message: &str, done: u64, total: Option<u64>) {
        log::progress(message, done, total);
    }
}
