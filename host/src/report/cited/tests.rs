//! Citations become numbers, wherever they stand and however they lie.

use super::super::tests::{page, researched};
use super::*;
use crate::plugins::contract::Citation;

fn outcome(answer: &str, citations: &[(&str, usize, usize)]) -> Outcome {
    let mut outcome = researched();
    outcome.answer = answer.to_owned();
    outcome.citations = citations
        .iter()
        .map(|(url, start, end)| Citation {
            source: page(url, ""),
            start: *start as u32,
            end: *end as u32,
        })
        .collect();
    outcome.sources = vec![page("https://one.example", "One"), page("https://two.example", "Two")];
    outcome
}

fn cited(answer: &str, citations: &[(&str, usize, usize)], form: Form) -> (String, Vec<String>) {
    let cited = Cited::new(&outcome(answer, citations), form).expect("there is something cited");
    (cited.text, cited.numbered.into_iter().map(|source| source.url).collect())
}

fn footnotes(answer: &str) -> String {
    cited(answer, &[], Form::Footnotes).0
}

const ONE: &str = "https://one.example";
const TWO: &str = "https://two.example";
const NEW: &str = "https://new.example";

#[test]
fn marks_become_numbers_by_first_use() {
    let text = "[cite_start]Neap tides come at half moon [cite: 2].[cite_start] Spring tides later.[cite: 1, 2]";
    let (shown, numbered) = cited(text, &[], Form::Footnotes);
    assert_eq!(shown, "Neap tides come at half moon[^1]. Spring tides later.[^2][^1]");
    assert_eq!(numbered, [TWO, ONE]);
    let (shown, _) = cited(text, &[], Form::Brackets);
    assert_eq!(shown, "Neap tides come at half moon [1]. Spring tides later. [2][1]");
}

#[test]
fn a_range_of_the_vendor_says_more_than_the_number_in_the_mark() {
    let text = "Neap tides come at half moon [cite: 7].";
    let mark = text.find(" [cite").unwrap();
    for range in [(0, mark), (0, text.len()), (mark + 1, mark + 10), (0, mark + 3)] {
        let (shown, numbered) = cited(text, &[(NEW, range.0, range.1)], Form::Footnotes);
        assert_eq!(shown, "Neap tides come at half moon[^1].", "{range:?}");
        assert_eq!(numbered, [NEW], "{range:?}");
    }
}

#[test]
fn a_number_that_was_explained_once_is_known_later() {
    let text = "First.[cite: 7, 8] Second.[cite: 8]";
    let (shown, numbered) = cited(text, &[(NEW, 0, 6), (TWO, 0, 6)], Form::Footnotes);
    assert_eq!(shown, "First.[^1][^2] Second.[^2]");
    assert_eq!(numbered, [NEW, TWO]);
}

#[test]
fn ranges_without_marks_put_numbers_behind_their_words() {
    let text = "The moon pulls. The sun pulls less, says `Doodson`.";
    let first = text.find(". The").unwrap();
    let citations =
        [(ONE, 0, first), (TWO, 0, first), (ONE, 0, first), (NEW, first + 2, text.len())];
    let (shown, numbered) = cited(text, &citations, Form::Footnotes);
    assert_eq!(shown, "The moon pulls[^1][^2]. The sun pulls less, says `Doodson`.[^3]");
    assert_eq!(numbered, [ONE, TWO, NEW]);
}

#[test]
fn the_reports_own_list_tells_what_the_numbers_mean_and_gives_way_to_ours() {
    let text = "Tides.[cite: 2]\n\n**Sources:**\n1. [New](https://new.example)\n2. [Newer](https://newer.example)\n";
    let found = Cited::new(&outcome(text, &[]), Form::Footnotes).unwrap();
    assert_eq!(found.text, "Tides.[^1]");
    assert_eq!(found.numbered[0].title, "Newer");
    let others: Vec<&str> = found.others.iter().map(|source| source.url.as_str()).collect();
    assert_eq!(others, [ONE, TWO, NEW], "nothing of the list is lost");
}

#[test]
fn what_leads_nowhere_stays_readable() {
    assert_eq!(footnotes("a [cite: 9, 1] b [cite: Doodson 1921]."), "a[^1][9] b [Doodson 1921].");
    let mut outcome = outcome("a [cite: 1].", &[]);
    outcome.sources.clear();
    let found = Cited::new(&outcome, Form::Brackets).unwrap();
    assert_eq!((found.text.as_str(), found.numbered.len()), ("a [1].", 0));
}

#[test]
fn code_and_targets_keep_their_words() {
    let text = "Write `[cite: 1]` or\n\n```\n[cite: 1]\n```\n\nand [this](https://a.example/[cite:1]) [cite: 1]";
    assert_eq!(
        footnotes(text),
        "Write `[cite: 1]` or\n\n```\n[cite: 1]\n```\n\nand [this](https://a.example/[cite:1])[^1]"
    );
    assert_eq!(
        footnotes("[the tide [cite: 1]](https://a.example) rises"),
        "[the tide ](https://a.example)[^1] rises"
    );
    let (shown, numbered) = cited("high [cite: 5](https://new.example).", &[], Form::Footnotes);
    assert_eq!((shown.as_str(), numbered), ("high[^1].", vec![NEW.to_owned()]));
}

#[test]
fn a_footnote_of_the_reports_own_is_only_text() {
    assert_eq!(footnotes("a[^1] b [cite: 1] `[^2]`"), "a\\[^1] b[^1] `[^2]`");
    assert_eq!(cited("a[^1] [cite: 1]", &[], Form::Brackets).0, "a[^1] [1]");
}

#[test]
fn a_list_stays_a_list_and_a_table_a_table() {
    let text = "- [cite: 1] first\n- second [cite: 1]\n\n| a |\n|---|\n| b [cite: 2] |";
    assert_eq!(footnotes(text), "- [^1] first\n- second[^1]\n\n| a |\n|---|\n| b[^2] |");
}

#[test]
fn ranges_that_lie_tear_nothing() {
    let text =
        "Ebbe, Flut — 潮汐 und [Mond](https://m.example).\n\n```\ncode\n```\n\n[cite: 1] End";
    let plain: String = text.replace("[cite: 1] ", "");
    for start in (0..text.len() + 20).step_by(3) {
        for end in 0..text.len() + 20 {
            for form in [Form::Brackets, Form::Footnotes] {
                let (shown, _) = cited(text, &[(NEW, start, end), (TWO, end, start)], form);
                let mut bare = shown.clone();
                for number in 1..=3 {
                    bare = bare.replace(&form.mark(number), "");
                }
                let letters = |text: &str| text.split_whitespace().collect::<String>();
                assert_eq!(letters(&bare), letters(&plain), "{start}..{end}\n{shown}");
                assert!(
                    shown.contains("```\ncode\n```") && shown.contains("[Mond](https://m.example)")
                );
            }
        }
    }
    let (shown, _) = cited("a", &[(NEW, usize::MAX >> 33, usize::MAX >> 33)], Form::Footnotes);
    assert_eq!(shown, "a");
}

#[test]
fn what_has_no_citations_is_left_alone() {
    let mut plain = outcome("They come twice a month [1].", &[]);
    assert!(Cited::new(&plain, Form::Footnotes).is_none());
    plain.answer.push_str(" [cite: 1]");
    assert!(Cited::new(&plain, Form::Footnotes).is_some());
    plain.findings = super::super::tests::found().findings;
    assert!(Cited::new(&plain, Form::Footnotes).is_none());
}
