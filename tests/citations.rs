//! The check of citations can fail: it is what the reports are trusted by.

use std::path::PathBuf;

use crate::support::citations::assert_stands;
use crate::support::documents::fixtures;

fn tides() -> PathBuf {
    fixtures().join("documents/tides.md")
}

#[test]
fn a_quotation_across_lines_stands() {
    assert_stands(&tides(), 17, 18, "at new moon and at full moon");
}

#[test]
fn markup_does_not_count() {
    let page = fixtures().join("documents/web/bioluminescence.html");
    assert_stands(&page, 18, 20, "counter-illumination");
}

#[test]
#[should_panic(expected = "does not hold the quoted words")]
fn a_quotation_from_elsewhere_does_not() {
    assert_stands(&tides(), 1, 4, "at new moon and at full moon");
}

#[test]
#[should_panic(expected = "does not hold the quoted words")]
fn a_changed_word_does_not() {
    assert_stands(&tides(), 17, 18, "at new moon and at half moon");
}

#[test]
#[should_panic(expected = "lines 90 to 91")]
fn a_line_beyond_the_end_does_not() {
    assert_stands(&tides(), 90, 91, "moon");
}
