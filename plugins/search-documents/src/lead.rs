//! Gives a passage that ends in the lead of a list ("The steps are:") the first
//! items of that list, which the next passage begins with. Reads what it is given
//! and nothing else; the lines stay exact.

use crate::hits::Found;

/// Lines and bytes of a list that are added at the most.
const MOST_LINES: usize = 16;
const MOST_BYTES: usize = 1200;

/// Whether the passage ends where a list is to begin.
pub fn leads(passage: &Found) -> bool {
    passage.text.trim_end().ends_with(':')
}

/// Adds the list that follows the passage in the document `text`.
pub fn extend(passage: &mut Found, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let end = passage.end_line as usize;
    let last = passage.text.trim_end().rsplit('\n').next().unwrap_or("").trim();
    // The file may have changed since it was read.
    if end == 0 || lines.get(end - 1).is_none_or(|line| !line.trim().ends_with(last)) {
        return;
    }
    let blank = lines[end..].iter().take_while(|line| line.trim().is_empty()).count();
    let start = end + blank;
    if blank > 2 || lines.get(start).is_none_or(|line| !is_item(line)) {
        return;
    }
    let mut to = start;
    let mut bytes = 0;
    for (number, line) in lines.iter().enumerate().skip(start).take(MOST_LINES) {
        bytes += line.len() + 1;
        let goes_on = is_item(line) || line.starts_with([' ', '\t']) || line.trim().is_empty();
        if !goes_on || bytes > MOST_BYTES {
            break;
        }
        to = number + 1;
    }
    // An item is taken whole, or not at all.
    let cut = lines.get(to).is_some_and(|next| next.starts_with([' ', '\t']) && !is_item(next));
    if cut {
        to = (start..to).rev().find(|at| is_item(lines[*at])).unwrap_or(start);
    }
    while to > start && lines[to - 1].trim().is_empty() {
        to -= 1;
    }
    if to == start {
        return;
    }
    let kept = passage.text.trim_end().len();
    passage.text.truncate(kept);
    // Spaces and carriage returns stay, so that what is quoted stands in the file.
    let lead = lines[end - 1];
    passage.text.push_str(&lead[lead.trim_end().len()..]);
    for line in &lines[end..to] {
        passage.text.push('\n');
        passage.text.push_str(line);
    }
    passage.text.truncate(passage.text.trim_end().len());
    passage.end_line = to as u32;
}

fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let numbered = (1..=3).contains(&digits)
        && (line[digits..].starts_with(". ") || line[digits..].starts_with(") "));
    numbered || line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(text: &str, end_line: u32) -> Found {
        Found {
            root: 0,
            path: "a.md".into(),
            title: String::new(),
            heading: String::new(),
            start_line: 1,
            end_line,
            text: text.into(),
            score: 1.0,
            of_many: false,
        }
    }

    #[test]
    fn the_list_comes_with_its_lead() {
        let text = "Laws: \r\n\r\n1. One\r\n   and a half.\r\n2. Two.\r\n\r\nAfter.\r\n";
        let mut lead = passage("Laws:", 1);
        assert!(leads(&lead));
        extend(&mut lead, text);
        assert_eq!(lead.text, "Laws: \r\n\r\n1. One\r\n   and a half.\r\n2. Two.");
        assert!(text.contains(&lead.text));
        assert_eq!(lead.end_line, 5);
    }

    #[test]
    fn a_long_list_gives_its_first_items_whole() {
        let items: Vec<String> =
            (0..30).map(|number| format!("- item {number}\n  goes on\n")).collect();
        let mut lead = passage("Steps:", 1);
        extend(&mut lead, &format!("Steps:\n{}", items.concat()));
        assert_eq!(lead.end_line, 17);
        assert!(lead.text.ends_with("- item 7\n  goes on"), "{}", lead.text);
    }

    #[test]
    fn what_is_no_list_or_no_longer_there_is_left_alone() {
        for text in ["Steps:\n\nProse.\n", "Other\n- item\n", "", "Steps:"] {
            let mut lead = passage("Steps:", 1);
            extend(&mut lead, text);
            assert_eq!(lead, passage("Steps:", 1), "{text:?}");
        }
    }
}
