//! The page: what is on it, and what can never be.

use super::super::tests as outcomes;
use super::*;

fn page(outcome: &Outcome) -> String {
    render_html(outcome, &Templates::built_in()).unwrap()
}

/// The tags of a page, each with its attributes.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()).collect()
}

#[test]
fn a_page_of_a_long_research() {
    let page = page(&outcomes::researched());
    let (_, body) = page.split_once("</style>").unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn a_page_of_findings() {
    let page = page(&outcomes::found());
    let (_, body) = page.split_once("</style>").unwrap();
    insta::assert_snapshot!(body);
}

#[test]
fn every_outcome_has_a_page_whose_links_lead_somewhere() {
    for outcome in [
        outcomes::found(),
        outcomes::written(),
        outcomes::researched(),
        outcomes::nothing_found(),
        outcomes::failed(),
        outcomes::cancelled(),
        outcomes::ended_midway(crate::report::TaskStatus::Running),
        outcomes::long(40_000),
    ] {
        let page = page(&outcome);
        let anchors: Vec<&str> =
            page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        for anchor in &anchors {
            assert!(page.contains(&format!("id=\"{anchor}\"")), "#{anchor} leads nowhere");
        }
        let mut identifiers: Vec<&str> =
            page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let all = identifiers.len();
        identifiers.sort_unstable();
        identifiers.dedup();
        assert_eq!(identifiers.len(), all, "an id stands twice");
    }
}

#[test]
fn the_page_asks_nobody_for_anything() {
    for outcome in [outcomes::researched(), outcomes::found(), outcomes::long(40_000)] {
        let page = page(&outcome);
        assert!(
            page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';")
        );
        for tag in tags(&page) {
            let name = tag.split([' ', '/']).next().unwrap();
            assert!(
                !["script", "img", "link", "iframe", "object", "embed", "base", "form", "video"]
                    .contains(&name),
                "<{tag}>"
            );
            assert!(!tag.contains(" src=") && !tag.contains(" on"), "<{tag}>");
        }
        assert!(!page.contains("@import") && !page.contains("url("));
    }
}

#[test]
fn whatever_the_sources_say_the_page_is_ours() {
    let known = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "div",
        "section",
        "nav",
        "ol",
        "ul",
        "li",
        "a",
        "sup",
        "span",
        "dl",
        "dt",
        "dd",
        "details",
        "summary",
        "figure",
        "figcaption",
        "svg",
        "text",
        "rect",
        "blockquote",
        "pre",
        "code",
        "em",
        "strong",
        "del",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
        "hr",
        "footer",
        "aside",
        "input",
    ];
    for (run, mut outcome) in outcomes::scrambled(300).enumerate() {
        if run % 2 == 1 {
            // As a vendor's report, with marks among it.
            outcome.answer.insert_str(0, "First [cite: 1, 2].\n\n[cite_start]");
            outcome.findings.clear();
            outcome.tool = "start_deep_research".to_owned();
        }
        outcome.model = Some(outcome.answer.clone());
        let page = page(&outcome);
        for tag in tags(&page) {
            let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
            assert!(known.contains(&name), "run {run}: <{tag}>\n{page}");
            if let Some((_, rest)) = tag.split_once("href=\"") {
                let target = rest.split('"').next().unwrap();
                let harmless = ["#", "http://", "https://", "mailto:"]
                    .iter()
                    .any(|start| target.starts_with(start));
                assert!(harmless, "run {run}: <{tag}>");
            }
            assert!(!tag.contains(" on") && !tag.contains("src="), "run {run}: <{tag}>");
        }
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "run {run}");
    }
}

#[test]
fn what_is_not_wanted_is_left_out() {
    let outcome = outcomes::researched();
    let bare = render(&outcome, false, false, &Templates::built_in()).unwrap();
    assert!(
        !bare.contains("deep-research-preview")
            && !bare.contains("<svg")
            && !bare.contains("forum.example")
    );
    assert!(
        bare.contains("Footnotes") && bare.contains("id=\"source-1\""),
        "marks still lead somewhere"
    );
    assert!(!bare.contains("How it was researched"));
}

#[test]
fn a_long_report_begins_with_its_contents() {
    assert!(page(&outcomes::long(40_000)).contains("<nav"));
    assert!(!page(&outcomes::researched()).contains("<nav"));
}
