//! Turns chosen units into findings: the source's own words with their exact
//! place, and the same words made readable.

use std::ops::Range;

use bathysphere_sdk::types::{Finding, Location, Passage, Source};

use crate::blocks::{Block, Kind};
use crate::form::Met;
use crate::heading;
use crate::question::Kind as QuestionKind;
use crate::readable;
use crate::score::{Score, leans_on_previous};
use crate::settings::Settings;
use crate::units::{Cut, Unit};

/// A stretch of a passage that is quoted: some of one block, and what it leads
/// up to.
#[derive(Debug, Clone)]
pub struct Stretch {
    pub passage: usize,
    block: usize,
    range: Range<usize>,
    /// Whole blocks that follow and belong to it.
    attached: Range<usize>,
    /// Its heading has what was asked for.
    headed: bool,
    /// The units it holds.
    pub units: Vec<usize>,
}

/// A code block longer than this is not attached, however few its lines.
const LONGEST_ATTACHED: usize = 900;

/// The stretches around the chosen units, best first. Neighbours become one.
pub fn stretches(
    settings: &Settings,
    kind: QuestionKind,
    cuts: &[Cut],
    units: &[Unit],
    scores: &[Score],
    chosen: &[usize],
) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for &number in chosen {
        let unit = &units[number];
        let cut = &cuts[unit.passage];
        let text = &cut.joined[unit.block].text;
        let mut range = unit.range.clone();
        let mut members = vec![number];
        if let Some(previous) = unit.previous
            && leans_on_previous(&text[range.clone()])
            && range.end - units[previous].range.start <= settings.max_finding_length
        {
            range.start = units[previous].range.start;
            members.push(previous);
        }
        // "So …", "Otherwise …": the reason is often in the sentence after.
        if kind == QuestionKind::Why
            && let Some(next) = units.get(number + 1)
            && next.previous == Some(number)
            && gives_reason(&text[next.range.clone()])
            && next.range.end - range.start <= settings.max_finding_length
        {
            range.end = next.range.end;
            members.push(number + 1);
        }
        let mut stretch = Stretch {
            passage: unit.passage,
            block: unit.block,
            range,
            attached: unit.block + 1..unit.block + 1,
            headed: is_headed(&scores[number], unit, cut),
            units: members,
        };
        lead_into_code(settings, cuts, units, number, &mut stretch);
        if kind == QuestionKind::Several {
            whole_table(settings, cuts, units, number, &mut stretch);
        }
        stretch.attached.end = attach(settings, kind == QuestionKind::HowTo, cut, &stretch);
        merge(settings, &mut stretches, stretch);
    }
    stretches
}

/// Whether only what it stands under tells what the unit says: the date in the
/// heading, the table of a setting, the subject of two or three words.
fn is_headed(score: &Score, unit: &Unit, cut: &Cut) -> bool {
    let fragment = unit.words.len() <= 4 && score.direct.iter().all(|credit| *credit < 1.0);
    let setting = cut.blocks[unit.block].kind == Kind::Entry;
    score.met == Met::ByHeading || score.lent && (setting || fragment)
}

fn gives_reason(text: &str) -> bool {
    [
        "So ",
        "Thus",
        "Therefore",
        "Otherwise",
        "This means",
        "That way",
        "This way",
        "Hence",
        "Because",
    ]
    .iter()
    .any(|start| text.starts_with(start))
}

/// A chosen piece of code is quoted with the sentence that leads up to it.
fn lead_into_code(
    settings: &Settings,
    cuts: &[Cut],
    units: &[Unit],
    number: usize,
    stretch: &mut Stretch,
) {
    let unit = &units[number];
    let blocks = &cuts[unit.passage].blocks;
    let Some(before) = number.checked_sub(1).map(|at| &units[at]) else {
        return;
    };
    let leads = blocks[unit.block].kind == Kind::Code
        && blocks[unit.block].shown
        && before.passage == unit.passage
        && before.block + 1 == unit.block
        && blocks[before.block].kind == Kind::Paragraph
        && before.range.len() <= settings.max_finding_length;
    if leads {
        stretch.block = before.block;
        stretch.range = before.range.clone();
        stretch.attached = unit.block..unit.block + 1;
        stretch.units.push(number - 1);
    }
}

/// A question for several things is answered by all rows of a small table whose
/// head names them.
fn whole_table(
    settings: &Settings,
    cuts: &[Cut],
    units: &[Unit],
    number: usize,
    stretch: &mut Stretch,
) {
    let unit = &units[number];
    let cut = &cuts[unit.passage];
    if cut.blocks[unit.block].kind != Kind::Row || cut.above[unit.block].table.is_empty() {
        return;
    }
    let most = settings.attach_code_lines;
    let is_row = |block: &&Block| block.kind == Kind::Row;
    let before = cut.blocks[..unit.block].iter().rev().take(most).take_while(is_row).count();
    let after = cut.blocks[unit.block..].iter().take(most).take_while(is_row).count();
    let rows = unit.block - before..unit.block + after;
    let bytes: usize = cut.blocks[rows.clone()].iter().map(|block| block.whole.len()).sum();
    if rows.len() > 1 && rows.len() < most && bytes <= LONGEST_ATTACHED {
        stretch.block = rows.start;
        stretch.range = 0..cut.joined[rows.start].text.len();
        stretch.attached = rows.start + 1..rows.end;
    }
}

/// How far the blocks after the stretch belong to it.
fn attach(settings: &Settings, how_to: bool, cut: &Cut, stretch: &Stretch) -> usize {
    let start = stretch.attached.start;
    if !stretch.attached.is_empty() {
        return stretch.attached.end;
    }
    let block = &cut.blocks[stretch.block];
    let text = &cut.joined[stretch.block].text;
    if stretch.range.end < text.len() {
        return start;
    }
    let Some(next) = cut.blocks.get(start) else {
        return start;
    };
    let ends_open = text.ends_with(':');
    let small = |range: Range<usize>| {
        let lines: usize = cut.blocks[range.clone()].iter().map(|block| block.lines.len()).sum();
        let bytes: usize = cut.blocks[range].iter().map(|block| block.whole.len()).sum();
        lines <= settings.attach_code_lines && bytes <= LONGEST_ATTACHED
    };
    let prose = matches!(block.kind, Kind::Paragraph | Kind::Item);
    match next.kind {
        Kind::Code if prose && next.shown && (ends_open || how_to) && small(start..start + 1) => {
            start + 1
        }
        Kind::Signature | Kind::Entry if cut.below[stretch.block].is_some() => start + 1,
        Kind::Paragraph if cut.documented[stretch.block] && small(start..start + 1) => start + 1,
        Kind::Item if ends_open && block.kind == Kind::Paragraph => {
            // As many as there is room for: the first items say what the list is.
            let length = cut.blocks[start..]
                .iter()
                .take(settings.attach_code_lines)
                .take_while(|block| block.kind == Kind::Item)
                .count();
            (start..=start + length).rev().find(|end| small(start..*end)).unwrap_or(start)
        }
        _ => start,
    }
}

/// Adds a stretch, or lets it grow one that it touches.
pub fn merge(settings: &Settings, stretches: &mut Vec<Stretch>, new: Stretch) {
    for old in stretches.iter_mut() {
        if old.passage != new.passage {
            continue;
        }
        let covers = |a: &Stretch, b: &Stretch| a.attached.contains(&b.block);
        if covers(old, &new) {
            old.units.extend(new.units);
            return;
        }
        if covers(&new, old) {
            let mut units = std::mem::take(&mut old.units);
            units.extend(&new.units);
            *old = Stretch { units, ..new };
            return;
        }
        if old.block != new.block {
            continue;
        }
        let start = old.range.start.min(new.range.start);
        let end = old.range.end.max(new.range.end);
        let gap = old.range.start.max(new.range.start) > old.range.end.min(new.range.end) + 2;
        let overlaps = old.range.start < new.range.end && new.range.start < old.range.end;
        if overlaps || (!gap && end - start <= settings.max_finding_length) {
            old.range = start..end;
            if !new.attached.is_empty() {
                old.attached = new.attached;
            }
            old.units.extend(new.units);
            return;
        }
    }
    stretches.push(new);
}

/// The finding that a stretch gives.
pub fn finding(passages: &[Passage], cuts: &[Cut], stretch: &Stretch) -> Finding {
    let passage = &passages[stretch.passage];
    let cut = &cuts[stretch.passage];
    let mut place = if stretch.range == (0..cut.joined[stretch.block].text.len())
        && matches!(
            cut.blocks[stretch.block].kind,
            Kind::Code | Kind::Signature | Kind::Entry | Kind::Row
        ) {
        cut.blocks[stretch.block].whole.clone()
    } else {
        cut.joined[stretch.block].in_passage(&stretch.range)
    };
    if let Some(last) = cut.blocks[stretch.attached.clone()].last() {
        place.end = place.end.max(last.whole.end);
    }
    let quote = passage.text[place.clone()].to_owned();
    let mut text = readable_text(passage, cut, stretch);
    // What its heading has to say, the words alone would leave out.
    if let Some(named) = &cut.above[stretch.block].named
        && stretch.headed
    {
        text = format!("{}: {text}", readable::clean(named).trim_end_matches(':'));
    }
    let mut source = narrowed(passage, &place);
    if let Some(location) = &mut source.location {
        location.heading = heading::narrowed(passage, cut, stretch.block, &place);
    }
    Finding { text, quote, source }
}

fn readable_text(passage: &Passage, cut: &Cut, stretch: &Stretch) -> String {
    let block = &cut.blocks[stretch.block];
    let words = &cut.joined[stretch.block].text[stretch.range.clone()];
    let mut text = match block.kind {
        Kind::Code => code_text(passage, block),
        Kind::Signature | Kind::Entry => inline(words),
        Kind::Row => readable::clean_row(words),
        Kind::Paragraph | Kind::Item | Kind::Heading => {
            let clean = readable::clean(words);
            // reStructuredText ends a lead into code with two colons.
            clean.strip_suffix("::").map_or(clean.clone(), |lead| format!("{lead}:"))
        }
    };
    let mut items = Vec::new();
    for index in stretch.attached.clone() {
        let block = &cut.blocks[index];
        match block.kind {
            Kind::Code => {
                let code = code_text(passage, block);
                text.push_str(if code.starts_with("```") { "\n\n" } else { " " });
                text.push_str(&code);
            }
            Kind::Signature | Kind::Entry => {
                text.push_str(" — ");
                text.push_str(&inline(&cut.joined[index].text));
            }
            Kind::Row => items.push(readable::clean_row(&cut.joined[index].text)),
            _ => items.push(readable::clean(&cut.joined[index].text)),
        }
    }
    if !items.is_empty() {
        text.push_str(if block.kind == Kind::Row { "; " } else { " " });
        text.push_str(
            &items
                .iter()
                .map(|item| item.trim_end_matches([';', '.']))
                .collect::<Vec<_>>()
                .join("; "),
        );
    }
    text
}

/// One line of code stands in the sentence; more get a fence of their own.
fn code_text(passage: &Passage, block: &Block) -> String {
    // Rust's documentation hides lines that begin with `# `; so does the reader.
    let hidden =
        |line: &&str| block.comment && (line.trim() == "#" || line.trim_start().starts_with("# "));
    let lines: Vec<&str> = block
        .lines
        .iter()
        .map(|line| passage.text[line.clone()].trim_end())
        .filter(|line| !hidden(line))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    let last = lines.iter().rposition(|line| !line.is_empty()).unwrap_or(0);
    let lines = &lines[first.min(last)..=last];
    if let [line] = lines {
        return inline(line);
    }
    let indent = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| line.bytes().take_while(|byte| *byte == b' ').count())
        .min()
        .unwrap_or(0);
    let ticks = lines.iter().map(|line| longest_ticks(line)).max().unwrap_or(0);
    let fence = "`".repeat((ticks + 1).max(3));
    let language = block.language.clone().map_or("", |range| &passage.text[range]);
    let body: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    format!("{fence}{language}\n{}\n{fence}", body.join("\n"))
}

fn inline(code: &str) -> String {
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let code = code.trim_end_matches(['{', ' ']);
    let mark = "`".repeat(longest_ticks(code) + 1);
    if mark.len() > 1 { format!("{mark} {code} {mark}") } else { format!("`{code}`") }
}

fn longest_ticks(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or(0)
}

/// The passage's source with the lines that the quotation stands on.
fn narrowed(passage: &Passage, place: &Range<usize>) -> Source {
    let mut source = passage.source.clone();
    if let Some(location) = &mut source.location {
        let count = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count() as u32;
        let start = location.start_line.saturating_add(count(&passage.text[..place.start]));
        let end = start.saturating_add(count(&passage.text[place.clone()]));
        *location = Location { start_line: start, end_line: end, heading: location.heading.take() };
    }
    source
}
