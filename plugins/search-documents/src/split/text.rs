//! Plain text: paragraphs between blank lines, and a first line that looks like
//! a title.

use super::pack::Packer;
use super::{Split, count_words, lines};

pub fn split(text: &str) -> Split {
    let mut packer = Packer::new(text);
    let mut block: Option<(usize, usize, u32, u32)> = None;
    for line in lines(text) {
        if line.is_blank() {
            if let Some((start, end, first, last)) = block.take() {
                packer.block(start, end, first, last);
            }
            continue;
        }
        let start = line.text.as_ptr() as usize - text.as_ptr() as usize;
        let end = start + line.text.len();
        match &mut block {
            Some(block) => (block.1, block.3) = (end, line.number),
            None => block = Some((start, end, line.number, line.number)),
        }
    }
    if let Some((start, end, first, last)) = block {
        packer.block(start, end, first, last);
    }
    Split { title: title(text).unwrap_or_default(), passages: packer.finish() }
}

/// The first line, when it stands alone, is short and is no sentence.
pub(super) fn title(text: &str) -> Option<String> {
    let mut rest = lines(text).skip_while(super::Line::is_blank);
    let first = rest.next()?.text.trim();
    let alone = rest.next().is_some_and(|next| {
        next.is_blank() || next.text.bytes().all(|byte| matches!(byte, b'=' | b'-'))
    });
    let words = count_words(first);
    let speaks = first.chars().any(char::is_alphabetic);
    (alone && speaks && words <= 25 && first.len() <= 250 && !first.ends_with([',', ';', ':']))
        .then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_the_title_is_found() {
        let split = split("A Short History\n\nIt began.\nIt went on.\n\nIt ended.\n");
        assert_eq!(split.title, "A Short History");
        assert_eq!(split.passages.len(), 1);
        assert_eq!((split.passages[0].start_line, split.passages[0].end_line), (1, 6));
    }

    #[test]
    fn running_text_has_no_title() {
        assert_eq!(title("It began on a\nrainy day.\n"), None);
        assert_eq!(title("12345\n\ntext"), None);
    }
}
