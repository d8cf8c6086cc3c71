//! Answers a question from the indexes of one or more roots: reads where its
//! words stand, ranks documents by that, and then looks closely at the best.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::catalogue::Catalogue;
use super::ranking::{Counts, Weights};
use super::words::{QuestionWord, Role, Words};
use super::{Index, IndexError};

/// Places read for one question, in all: what a twentieth of a second allows for.
/// Words too common to be read within it are counted only in the documents that
/// the others lead to.
const PLACES: usize = 250_000;

/// Documents that are looked at closely, at least and at most, and passages of
/// each.
const CLOSELY: usize = 100;
const MOST_CLOSELY: usize = 1000;
const PASSAGES_CLOSELY: usize = 4;

/// A question longer than this is cut; the rest would hardly change its subject.
const QUESTION_BYTES: usize = 32_000;
const QUESTION_WORDS: usize = 400;

const PLACES_OF_A_WORD: &str = "SELECT doc, col FROM places WHERE term = ?1";

/// Kept from one question to the next, for the stems it remembers.
static WORDS: Mutex<Option<Words>> = Mutex::new(None);

/// A passage that fits the question.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Which of the indexes it is from.
    pub index: usize,
    pub path: String,
    pub title: String,
    pub heading: String,
    pub start_line: u32,
    pub end_line: u32,
    pub text: String,
    pub score: f64,
}

/// The best `limit` documents over all indexes, best first, with up to
/// `per_document` passages of each.
pub fn search(
    indexes: &[Index],
    question: &str,
    limit: usize,
    per_document: usize,
) -> Result<Vec<Ranked>, IndexError> {
    search_with(&Weights::default(), indexes, question, limit, per_document)
}

/// The same with other weights, for measuring what they do.
pub fn search_with(
    weights: &Weights,
    indexes: &[Index],
    question: &str,
    limit: usize,
    per_document: usize,
) -> Result<Vec<Ranked>, IndexError> {
    let mut end = question.len().min(QUESTION_BYTES);
    while !question.is_char_boundary(end) {
        end -= 1;
    }
    let kept = WORDS.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut levels = kept.unwrap_or_default();
    let found = search_in(weights, &mut levels, indexes, &question[..end], limit, per_document);
    *WORDS.lock().unwrap_or_else(PoisonError::into_inner) = Some(levels);
    found
}

fn search_in(
    weights: &Weights,
    levels: &mut Words,
    indexes: &[Index],
    question: &str,
    limit: usize,
    per_document: usize,
) -> Result<Vec<Ranked>, IndexError> {
    let mut words = levels.question(question);
    for word in words.iter_mut().skip(QUESTION_WORDS) {
        word.count = 0;
    }
    if limit == 0 || per_document == 0 || words.iter().all(|word| word.count == 0) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for index in indexes {
        found.push(index.read(|connection, catalogue| Found::read(connection, catalogue, &words))?);
    }
    let survey = Survey::new(weights, &words, &found, limit.clamp(CLOSELY, MOST_CLOSELY));
    let mut ranked = Vec::new();
    for (number, index) in indexes.iter().enumerate() {
        let best: Vec<&Candidate> =
            survey.candidates.iter().filter(|candidate| candidate.index == number).collect();
        if best.is_empty() {
            continue;
        }
        let close = index.read(|connection, _| {
            look_closely(weights, levels, &words, &survey, connection, &best)
        })?;
        ranked.extend(close.into_iter().map(|document| (number, document)));
    }
    ranked.sort_by(|one, other| other.1.score.total_cmp(&one.1.score));
    ranked.truncate(limit);
    let mut passages = Vec::new();
    for (number, mut document) in ranked {
        document.passages.truncate(per_document);
        let score = f64::from(document.score);
        for (place, passage) in document.passages.into_iter().enumerate() {
            // Within a document the order of its passages, and never above the
            // document's own best.
            let share = f64::from(passage.share);
            passages.push(Ranked {
                index: number,
                path: document.path.clone(),
                title: document.title.clone(),
                heading: passage.heading,
                start_line: passage.start_line,
                end_line: passage.end_line,
                text: passage.text,
                score: if place == 0 { score } else { score * share },
            });
        }
    }
    Ok(passages)
}

/// Where a word stands in one index: rows in order, with counts.
#[derive(Default)]
struct Places {
    rows: Vec<(i64, Counts)>,
    /// All of them were read.
    complete: bool,
    /// How many rows have the word, guessed where not all were read.
    rows_in_all: f32,
}

struct Found {
    catalogue: Arc<Catalogue>,
    /// One for each word of the question.
    places: Vec<Places>,
}

impl Found {
    /// Reads a first part for every word, then the rest of those that are rare
    /// enough, rarest first.
    fn read(
        connection: &Connection,
        catalogue: &Arc<Catalogue>,
        words: &[QuestionWord],
    ) -> Result<Self, rusqlite::Error> {
        let wanted: Vec<usize> =
            (0..words.len()).filter(|&number| words[number].count > 0).collect();
        let mut places: Vec<Places> = words.iter().map(|_| Places::default()).collect();
        let first_part = (PLACES / 2 / wanted.len().max(1)).max(1000);
        let last_row =
            catalogue.documents.last().map_or(1, |entry| entry.head + i64::from(entry.passages));
        let first_row = catalogue.documents.first().map_or(0, |entry| entry.head);
        let mut spent = 0;
        let mut unfinished = Vec::new();
        for number in wanted {
            let mut statement = connection.prepare_cached(PLACES_OF_A_WORD)?;
            statement.raw_bind_parameter(1, &words[number].word)?;
            let read = take(&mut statement.raw_query(), &mut places[number], first_part)?;
            spent += read;
            let place = &mut places[number];
            place.rows_in_all = place.rows.len() as f32;
            if !place.complete {
                let reached = place.rows.last().map_or(1, |row| row.0 - first_row + 1).max(1);
                let guess = (last_row - first_row + 1) as f64 / reached as f64;
                place.rows_in_all = (place.rows.len() as f64 * guess) as f32;
                unfinished.push((number, (read as f64 * guess) as usize));
            }
        }
        unfinished.sort_by_key(|&(_, size)| size);
        let mut any = places.iter().any(|place| place.complete && !place.rows.is_empty());
        for (number, size) in unfinished {
            let place = &mut places[number];
            place.rows.clear();
            if spent + size > PLACES && any {
                continue;
            }
            let mut statement = connection.prepare_cached(PLACES_OF_A_WORD)?;
            statement.raw_bind_parameter(1, &words[number].word)?;
            spent += take(&mut statement.raw_query(), place, PLACES * 2)?;
            if place.complete {
                place.rows_in_all = place.rows.len() as f32;
            }
            // When every word is very common, a part of the rarest has to do.
            place.complete = true;
            any = true;
        }
        Ok(Self { catalogue: Arc::clone(catalogue), places })
    }
}

/// Reads up to `most` places; tells how many.
fn take(
    rows: &mut rusqlite::Rows<'_>,
    places: &mut Places,
    most: usize,
) -> Result<usize, rusqlite::Error> {
    let mut read = 0;
    while read < most {
        let Some(row) = rows.next()? else {
            places.complete = true;
            return Ok(read);
        };
        read += 1;
        let id = row.get_ref(0)?.as_i64()?;
        if places.rows.last().is_none_or(|last| last.0 != id) {
            places.rows.push((id, Counts::default()));
        }
        let Some((_, counts)) = places.rows.last_mut() else {
            continue;
        };
        let count = match row.get_ref(1)?.as_bytes()?.first() {
            Some(b't') => &mut counts.title,
            Some(b'p') => &mut counts.path,
            Some(b'h') => &mut counts.heading,
            _ => &mut counts.body,
        };
        *count = count.saturating_add(1);
    }
    Ok(read)
}

/// A document worth a closer look.
struct Candidate {
    index: usize,
    /// Its place in the catalogue.
    id: i64,
    head: i64,
    /// What the whole document scores.
    score: f32,
    /// Rows of its best passages, with what each scores before its length is
    /// known.
    passages: Vec<(i64, f32)>,
    /// Counts of each word of the title: what holds for all its passages.
    title: Vec<(u16, Counts)>,
}

/// What the places tell about all documents.
struct Survey {
    rarity: Vec<f32>,
    /// Words that were too common to be read.
    unread: Vec<usize>,
    usual_passage: f32,
    candidates: Vec<Candidate>,
}

impl Survey {
    fn new(weights: &Weights, words: &[QuestionWord], found: &[Found], closely: usize) -> Self {
        let all: f32 = found
            .iter()
            .map(|found| (found.catalogue.passages + found.catalogue.documents.len() as u64) as f32)
            .sum();
        let documents: f32 = found
            .iter()
            .map(|found| {
                found.catalogue.documents.iter().filter(|entry| entry.passages > 0).count() as f32
            })
            .sum();
        let length: f32 = found.iter().map(|found| found.catalogue.length as f32).sum();
        let passages: f32 = found.iter().map(|found| found.catalogue.passages as f32).sum();
        let usual_document = length / documents.max(1.0);
        let rarity: Vec<f32> = (0..words.len())
            .map(|word| {
                Weights::rarity(found.iter().map(|found| found.places[word].rows_in_all).sum(), all)
            })
            .collect();
        let unread = (0..words.len())
            .filter(|&word| {
                words[word].count > 0 && found.iter().any(|found| !found.places[word].complete)
            })
            .collect();
        let mut best: Vec<(f32, f32, usize, usize)> = Vec::new();
        let mut passage_scores = Vec::new();
        for (index, found) in found.iter().enumerate() {
            let (documents, passages) = score_all(weights, words, found, &rarity, usual_document);
            for (place, score) in documents.iter().enumerate().filter(|(_, score)| **score > 0.0) {
                let first = passages.starts[place] as usize;
                let own = &passages.scores
                    [first..first + found.catalogue.documents[place].passages as usize];
                let passage = own.iter().copied().fold(0.0, f32::max);
                best.push((
                    (1.0 - weights.passage) * score + weights.passage * passage,
                    *score,
                    index,
                    place,
                ));
            }
            passage_scores.push(passages);
        }
        if best.len() > closely {
            best.select_nth_unstable_by(closely, |one, other| other.0.total_cmp(&one.0));
            best.truncate(closely);
        }
        let candidates = best
            .into_iter()
            .map(|(_, score, index, place)| {
                let entry = found[index].catalogue.documents[place];
                let starts = &passage_scores[index];
                let first = starts.starts[place] as usize;
                let mut passages: Vec<(i64, f32)> = (0..entry.passages as usize)
                    .map(|number| (entry.head + 1 + number as i64, starts.scores[first + number]))
                    .collect();
                passages.sort_by(|one, other| other.1.total_cmp(&one.1));
                passages.truncate(PASSAGES_CLOSELY);
                let title = (0..words.len())
                    .filter_map(|word| {
                        let rows = &found[index].places[word].rows;
                        let at = rows.binary_search_by_key(&entry.head, |row| row.0).ok()?;
                        Some((word as u16, rows[at].1))
                    })
                    .collect();
                Candidate { index, id: entry.id, head: entry.head, score, passages, title }
            })
            .collect();
        Self { rarity, unread, usual_passage: length / passages.max(1.0), candidates }
    }
}

/// Scores of all passages of an index, in the catalogue's order.
struct PassageScores {
    /// Where each document's passages start.
    starts: Vec<u32>,
    scores: Vec<f32>,
}

/// Scores every document as a whole, with its best passage mixed in, and every
/// passage.
fn score_all(
    weights: &Weights,
    words: &[QuestionWord],
    found: &Found,
    rarity: &[f32],
    usual: f32,
) -> (Vec<f32>, PassageScores) {
    let entries = &found.catalogue.documents;
    let mut starts = Vec::with_capacity(entries.len());
    let mut total = 0;
    for entry in entries {
        starts.push(total);
        total += entry.passages;
    }
    let mut passages = vec![0.0_f32; total as usize];
    let mut documents = vec![0.0_f32; entries.len()];
    for (number, word) in words.iter().enumerate() {
        if word.count == 0 || found.places[number].rows.is_empty() {
            continue;
        }
        let weight = rarity[number] * weights.in_question(word);
        let mut rows = found.places[number].rows.iter().peekable();
        let mut place = 0;
        while let Some((row, counts)) = rows.next() {
            place += entries[place..]
                .partition_point(|entry| entry.head + i64::from(entry.passages) < *row);
            let Some(entry) = entries.get(place) else {
                break;
            };
            if *row < entry.head {
                continue;
            }
            let end = entry.head + i64::from(entry.passages);
            let mut whole = Counts::default();
            let mut head = Counts::default();
            let mut current = Some((*row, *counts));
            while let Some((row, counts)) = current {
                whole.title = whole.title.max(counts.title);
                whole.path = whole.path.max(counts.path);
                whole.heading = whole.heading.max(counts.heading);
                whole.body = whole.body.saturating_add(counts.body);
                if row == entry.head {
                    head = counts;
                } else {
                    let count = weights.count(
                        Counts { title: head.title, path: 0, ..counts },
                        1.0,
                        1.0,
                        0.0,
                    );
                    passages[starts[place] as usize + (row - entry.head - 1) as usize] +=
                        weight * weights.saturate(count);
                }
                current = rows.next_if(|(row, _)| *row <= end).copied();
            }
            let count = weights.count(whole, entry.length as f32, usual, weights.document_length);
            documents[place] += weight * weights.saturate(count);
        }
    }
    (documents, PassageScores { starts, scores: passages })
}

/// A document after the closer look.
struct Close {
    path: String,
    title: String,
    score: f32,
    /// Best first.
    passages: Vec<ClosePassage>,
}

struct ClosePassage {
    heading: String,
    start_line: u32,
    end_line: u32,
    text: String,
    score: f32,
    /// Of the document's best.
    share: f32,
}

fn look_closely(
    weights: &Weights,
    levels: &mut Words,
    words: &[QuestionWord],
    survey: &Survey,
    connection: &Connection,
    candidates: &[&Candidate],
) -> Result<Vec<Close>, rusqlite::Error> {
    let numbers: HashMap<&str, u16> = words
        .iter()
        .enumerate()
        .map(|(number, word)| (word.word.as_str(), number as u16))
        .collect();
    let mut close = Vec::with_capacity(candidates.len());
    let mut document = connection
        .prepare_cached("SELECT path, title FROM documents WHERE id = ?1 AND head = ?2")?;
    let mut passage = connection.prepare_cached(
        "SELECT heading, start_line, end_line, length, text FROM passages WHERE id = ?1",
    )?;
    for candidate in candidates {
        let mut rows = document.query((candidate.id, candidate.head))?;
        // Gone since the survey, by another process.
        let Some(row) = rows.next()? else { continue };
        let (path, title): (String, String) = (row.get(0)?, row.get(1)?);
        let mut passages = Vec::with_capacity(candidate.passages.len());
        let mut extra = 0.0_f32;
        for (id, _) in &candidate.passages {
            let mut rows = passage.query([id])?;
            let Some(row) = rows.next()? else { continue };
            let text: String = row.get(4)?;
            let heading: String = row.get(0)?;
            let length: f32 = row.get::<_, i64>(3)? as f32;
            let mut counts = vec![Counts::default(); words.len()];
            for (word, in_title) in &candidate.title {
                counts[usize::from(*word)].title = in_title.title;
            }
            let mut sequence = Vec::new();
            levels.each(&heading, |word, _| {
                if let Some(number) = numbers.get(word) {
                    counts[usize::from(*number)].heading += 1;
                }
            });
            levels.each(&text, |word, role| {
                let number = numbers.get(word).copied();
                if let Some(number) = number {
                    let count = &mut counts[usize::from(number)].body;
                    *count = count.saturating_add(1);
                }
                if role == Role::Plain {
                    sequence.push(number);
                }
            });
            let mut score = 0.0;
            for (number, word) in words.iter().enumerate() {
                if word.count > 0 && counts[number] != Counts::default() {
                    let count = weights.count(
                        counts[number],
                        length,
                        survey.usual_passage,
                        weights.passage_length,
                    );
                    score +=
                        survey.rarity[number] * weights.in_question(word) * weights.saturate(count);
                }
            }
            // What the survey could not count for the document, its best
            // passage stands in for.
            let unread: f32 = survey
                .unread
                .iter()
                .map(|&number| {
                    let count = weights.count(
                        counts[number],
                        length,
                        survey.usual_passage,
                        weights.document_length,
                    );
                    survey.rarity[number]
                        * weights.in_question(&words[number])
                        * weights.saturate(count)
                })
                .sum();
            extra = extra.max(unread);
            score += weights.together(words, &sequence, &survey.rarity);
            passages.push(ClosePassage {
                heading,
                start_line: row.get(1)?,
                end_line: row.get(2)?,
                text,
                score,
                share: 1.0,
            });
        }
        passages.sort_by(|one, other| other.score.total_cmp(&one.score));
        let best = passages.first().map_or(0.0, |passage| passage.score);
        for passage in &mut passages {
            passage.share = if best > 0.0 { passage.score / best } else { 0.0 };
        }
        let score = (1.0 - weights.passage) * (candidate.score + extra) + weights.passage * best;
        close.push(Close { path, title, score, passages });
    }
    Ok(close)
}
