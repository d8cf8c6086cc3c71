//! Packs blocks into passages of a good size.

use super::{count_words, lines};
use crate::source::Passage;

/// Words a passage should have at least, and at most.
const ENOUGH: usize = 150;
const MOST: usize = 250;
/// A passage of this many words is not parted for the sake of a few.
const TOLERATED: usize = 320;

/// Joins and parts blocks. Blocks are given in order; each is a run of whole
/// lines of one text.
pub struct Packer<'a> {
    text: &'a str,
    passages: Vec<Passage>,
    heading: String,
    open: Option<Open>,
}

/// The passage being packed: bytes, lines, words.
struct Open {
    start: usize,
    end: usize,
    start_line: u32,
    end_line: u32,
    words: usize,
}

impl<'a> Packer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, passages: Vec::new(), heading: String::new(), open: None }
    }

    /// Begins a section: nothing is joined over its edge.
    pub fn section(&mut self, heading: String) {
        self.close();
        self.heading = heading;
    }

    /// Ends the passage here if it is already of some size.
    pub fn rather_here(&mut self) {
        if self.open.as_ref().is_some_and(|open| open.words >= ENOUGH / 2) {
            self.close();
        }
    }

    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Adds the bytes `start..end`, which are the lines given.
    pub fn block(&mut self, start: usize, end: usize, start_line: u32, end_line: u32) {
        let words = count_words(&self.text[start..end]);
        if let Some(open) = &mut self.open {
            if open.words + words <= MOST
                || (open.words < ENOUGH / 2 && open.words + words <= TOLERATED)
            {
                open.end = end;
                open.end_line = end_line;
                open.words += words;
                if open.words >= MOST {
                    self.close();
                }
                return;
            }
            self.close();
        }
        if words > TOLERATED {
            self.part(start, end, start_line);
            return;
        }
        self.open = Some(Open { start, end, start_line, end_line, words });
    }

    /// Parts a block that is too large, at the ends of lines, and within a line
    /// at the ends of sentences.
    fn part(&mut self, start: usize, end: usize, start_line: u32) {
        let mut at = start;
        for line in lines(&self.text[start..end]) {
            let number = start_line + line.number - 1;
            let line_end = at + line.text.len();
            let words = count_words(line.text);
            if words > TOLERATED {
                self.close();
                for (from, to) in sentences(line.text) {
                    let words = count_words(&line.text[from..to]);
                    self.open = Some(Open {
                        start: at + from,
                        end: at + to,
                        start_line: number,
                        end_line: number,
                        words,
                    });
                    self.close();
                }
            } else if let Some(open) = &mut self.open
                && open.words + words <= MOST
            {
                open.end = line_end;
                open.end_line = number;
                open.words += words;
            } else {
                self.close();
                self.open = Some(Open {
                    start: at,
                    end: line_end,
                    start_line: number,
                    end_line: number,
                    words,
                });
            }
            at = line_end;
            // Over the line's end: `\n` or `\r\n`.
            at += usize::from(self.text[at..].starts_with('\r'));
            at += usize::from(self.text[at..].starts_with('\n'));
        }
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let text = self.text[open.start..open.end].trim_end();
        if text.trim_start().is_empty() {
            return;
        }
        self.passages.push(Passage {
            heading: self.heading.clone(),
            start_line: open.start_line,
            end_line: open.end_line,
            text: text.trim_start_matches(['\r', '\n']).to_owned(),
        });
    }

    pub fn finish(mut self) -> Vec<Passage> {
        self.close();
        self.passages
    }
}

/// Parts of a long line, each of about 200 words, ending with a sentence where
/// there is one.
fn sentences(line: &str) -> Vec<(usize, usize)> {
    let total = count_words(line);
    let aim = total.div_ceil(total.div_ceil(MOST));
    let mut parts = Vec::new();
    let (mut start, mut words, mut ended) = (0, 0, None);
    let mut after_sentence = false;
    for (place, word) in words_of(line) {
        if words >= aim && (after_sentence || words >= TOLERATED) {
            parts.push((start, place));
            (start, words) = (place, 0);
        } else if words >= aim
            && let Some((cut, since)) = ended
            && words - since >= aim / 2
        {
            parts.push((start, cut));
            (start, words) = (cut, words - since);
            ended = None;
        }
        if after_sentence {
            ended = Some((place, words));
        }
        words += 1;
        after_sentence = word.ends_with(['.', '!', '?', '。']);
    }
    if start < line.len() {
        parts.push((start, line.len()));
    }
    parts
}

fn words_of(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_ascii_whitespace()
        .map(move |word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(text: &str) -> Vec<Passage> {
        let mut packer = Packer::new(text);
        let mut at = 0;
        for (number, block) in text.split("\n\n").enumerate() {
            let line = number as u32 * 2 + 1;
            packer.block(at, at + block.len(), line, line);
            at += block.len() + 2;
        }
        packer.finish()
    }

    #[test]
    fn small_blocks_are_joined_and_none_is_lost() {
        let text = (0..50)
            .map(|number| format!("paragraph {number} {}", "word ".repeat(20).trim_end()))
            .collect::<Vec<_>>()
            .join("\n\n");
        let passages = pack(&text);
        assert!(passages.len() > 3 && passages.len() < 9, "{}", passages.len());
        for passage in &passages[..passages.len() - 1] {
            assert!((ENOUGH..=MOST).contains(&count_words(&passage.text)));
        }
        let joined: Vec<_> = passages.iter().map(|passage| passage.text.as_str()).collect();
        assert_eq!(joined.join("\n\n"), text);
        assert!(passages.windows(2).all(|pair| pair[1].start_line == pair[0].end_line + 2));
    }

    #[test]
    fn one_endless_line_is_parted_at_sentences() {
        let text = "This is a sentence of seven words. ".repeat(200);
        let passages = pack(text.trim_end());
        assert!(passages.len() >= 5);
        for passage in &passages {
            assert!(passage.text.ends_with('.'));
            assert!(count_words(&passage.text) <= TOLERATED);
            assert_eq!((passage.start_line, passage.end_line), (1, 1));
        }
        let words: usize = passages.iter().map(|passage| count_words(&passage.text)).sum();
        assert_eq!(words, 1400);
    }

    #[test]
    fn a_block_of_many_lines_keeps_its_line_numbers() {
        let text = (1..=100)
            .map(|number| format!("line {number} of a block that goes on"))
            .collect::<Vec<_>>()
            .join("\r\n");
        let mut packer = Packer::new(&text);
        packer.block(0, text.len(), 11, 110);
        let passages = packer.finish();
        assert!(passages.len() > 2);
        for passage in &passages {
            assert!(passage.text.starts_with(&format!("line {} ", passage.start_line - 10)));
            assert!(passage.text.contains(&format!("line {} ", passage.end_line - 10)));
        }
        assert_eq!(passages.last().unwrap().end_line, 110);
    }
}
