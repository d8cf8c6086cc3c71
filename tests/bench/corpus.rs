//! Markdown that looks like what people write, made from a seed: words by Zipf's
//! law with endings, sentences, paragraphs, headings, lists and code. The same
//! size gives the same bytes on every machine.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

pub const CHANGED_FILE: &str = "chapter-0000/page-0000.md";

const WORDS: usize = 40_000;
const FILE_BYTES: usize = 48_000;
/// Changes when the text does, so that an older corpus is made anew.
const VERSION: u32 = 2;

pub struct Corpus {
    directory: PathBuf,
    bytes: u64,
    files: usize,
    words: Vec<String>,
}

impl Corpus {
    /// Writes the corpus, or finds it written. A file that an earlier run changed
    /// is put back.
    pub fn generate(parent: &Path, megabytes: usize) -> Self {
        let words = vocabulary();
        let directory = parent.join(format!("{megabytes}-mb-v{VERSION}"));
        let stamp = parent.join(format!("{megabytes}-mb-v{VERSION}.txt"));
        let files = (megabytes * 1_000_000).div_ceil(FILE_BYTES);
        if !stamp.is_file() {
            let _ = fs::remove_dir_all(&directory);
            for number in 0..files {
                write(&directory.join(name(number)), &page(&words, number));
            }
            write(&stamp, "complete\n");
        }
        write(&directory.join(CHANGED_FILE), &page(&words, 0));
        let bytes = (0..files)
            .map(|number| {
                fs::metadata(directory.join(name(number))).map_or(0, |metadata| metadata.len())
            })
            .sum();
        Self { directory, bytes, files, words }
    }

    pub fn path(&self) -> &Path {
        &self.directory
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn files(&self) -> usize {
        self.files
    }

    /// A question of a few words, some frequent and some rare.
    pub fn query(&self, number: u64) -> String {
        let mut random = Random(0x5EED_0000 + number);
        let words: Vec<&str> =
            (0..4).map(|_| self.words[20 + random.below(4000)].as_str()).collect();
        format!("how does the {} relate to {}", words[..2].join(" "), words[2..].join(" "))
    }

    /// Adds a paragraph to one file, and returns a word that stands nowhere else.
    pub fn change_one_file(&self) -> &'static str {
        let path = self.directory.join(CHANGED_FILE);
        let mut text = fs::read_to_string(&path).expect("a page");
        text.push_str("\n## Afterthought\n\nThe quixotropic valve was replaced on Thursday.\n");
        write(&path, &text);
        "quixotropic valve"
    }
}

fn name(number: usize) -> String {
    format!("chapter-{:04}/page-{:04}.md", number / 50, number % 50)
}

fn write(path: &Path, text: &str) {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a directory");
    }
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Words from syllables: the frequent ones short, the rare ones long.
fn vocabulary() -> Vec<String> {
    const ONSETS: [&str; 18] = [
        "b", "br", "c", "d", "dr", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v",
    ];
    const NUCLEI: [&str; 9] = ["a", "e", "i", "o", "u", "ai", "ea", "ou", "io"];
    const CODAS: [&str; 8] = ["", "n", "r", "l", "st", "m", "ck", "nd"];
    let mut random = Random(0x000B_0A7E);
    let mut words: Vec<String> = ["the", "of", "and", "to", "in", "a", "is", "that", "for", "it"]
        .map(str::to_owned)
        .to_vec();
    let mut known: std::collections::HashSet<String> = words.iter().cloned().collect();
    while words.len() < WORDS {
        let syllables = match words.len() {
            ..300 => 1,
            300..4000 => 1 + random.below(2),
            _ => 2 + random.below(2),
        };
        let mut word = String::new();
        for _ in 0..syllables {
            word.push_str(ONSETS[random.below(ONSETS.len())]);
            word.push_str(NUCLEI[random.below(NUCLEI.len())]);
            word.push_str(CODAS[random.below(CODAS.len())]);
        }
        if word.len() > 2 && known.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}

fn page(words: &[String], number: usize) -> String {
    let mut random = Random(1 + number as u64);
    let mut text = format!("# {}\n\n", heading(words, &mut random));
    while text.len() < FILE_BYTES - 600 {
        match random.below(12) {
            0 | 1 => {
                let level = "#".repeat(2 + random.below(3));
                let _ = write!(text, "{level} {}\n\n", heading(words, &mut random));
            }
            2 => {
                for _ in 0..3 + random.below(4) {
                    let _ = writeln!(text, "- {}", sentence(words, &mut random));
                }
                text.push('\n');
            }
            3 => {
                text.push_str("```rust\n");
                for _ in 0..3 + random.below(5) {
                    let (left, right) = (word(words, &mut random), word(words, &mut random));
                    let _ = writeln!(text, "let {left} = {right}({});", random.below(1000));
                }
                text.push_str("```\n\n");
            }
            _ => {
                let mut column = 0;
                for _ in 0..2 + random.below(5) {
                    for part in sentence(words, &mut random).split(' ') {
                        if column + part.len() > 80 {
                            text.push('\n');
                            column = 0;
                        } else if column > 0 {
                            text.push(' ');
                        }
                        text.push_str(part);
                        column += part.len() + 1;
                    }
                }
                text.push_str("\n\n");
            }
        }
    }
    text
}

fn heading(words: &[String], random: &mut Random) -> String {
    let parts: Vec<&str> =
        (0..2 + random.below(4)).map(|_| words[10 + random.below(8000)].as_str()).collect();
    capitalised(&parts.join(" "))
}

fn sentence(words: &[String], random: &mut Random) -> String {
    const ENDINGS: [&str; 10] = ["", "", "", "", "", "", "s", "ed", "ing", "ly"];
    let length = 6 + random.below(18);
    let mut sentence = String::new();
    for position in 0..length {
        if position > 0 {
            sentence.push_str(if random.below(14) == 0 { ", " } else { " " });
        }
        let word = word(words, random);
        sentence.push_str(word);
        if word.len() > 3 {
            sentence.push_str(ENDINGS[random.below(ENDINGS.len())]);
        }
        if random.below(40) == 0 {
            let _ = write!(sentence, " {}", random.below(2000));
        }
    }
    format!("{}.", capitalised(&sentence))
}

/// By Zipf's law: the chance of a word falls with its rank.
fn word<'a>(words: &'a [String], random: &mut Random) -> &'a str {
    let rank = (random.fraction() * (words.len() as f64).ln()).exp() as usize;
    &words[(rank - 1).min(words.len() - 1)]
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

/// SplitMix64: small, quick, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
