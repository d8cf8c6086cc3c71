//! What models cost: the built-in list, and the user's own laid over it.

use super::*;

fn usage(input: u64, cached: u64, output: u64, searches: u32) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        searches,
        extra: vec![("cached_tokens".to_owned(), cached.to_string())],
        ..Usage::default()
    }
}

#[track_caller]
fn assert_costs(price: Option<f64>, dollars: f64) {
    let price = price.expect("a price");
    assert!((price - dollars).abs() < 1e-9, "{price} and not {dollars}");
}

/// With a price file of the user's own.
fn with(text: &str) -> Result<Prices, String> {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(FILE_NAME), text).unwrap();
    let root = home.path().display().to_string();
    Prices::load(home.path()).map_err(|error| error.to_string().replace(&root, "ROOT"))
}

#[test]
fn tokens_cached_ones_and_searches_each_have_their_price() {
    let prices = Prices::built_in();
    let model = "gemini-3.1-pro-preview";
    assert_costs(prices.price(model, &usage(1_000_000, 0, 0, 0)), 2.0);
    assert_costs(prices.price(model, &usage(1_000_000, 600_000, 0, 0)), 0.8 + 0.12);
    assert_costs(prices.price(model, &usage(0, 0, 1_000_000, 0)), 12.0);
    assert_costs(prices.price(model, &usage(0, 0, 0, 1000)), 14.0);
    // Where the price of cached tokens is not known they cost what others do.
    assert_costs(prices.price("gemini-3.8-flash", &usage(1_000_000, 400_000, 0, 0)), 0.75);
}

#[test]
fn counts_that_cannot_be_are_survived() {
    let prices = Prices::built_in();
    let model = "gemini-3.1-pro-preview";
    // More cached than there was.
    assert_costs(prices.price(model, &usage(1000, 9_999_999, 0, 0)), 1000.0 * 0.2 / 1e6);
    let mut odd = usage(1000, 0, 0, 0);
    for count in ["-5", "", "many", "1e9"] {
        odd.extra = vec![("cached_tokens".to_owned(), count.to_owned())];
        assert_costs(prices.price(model, &odd), 0.002);
    }
    let most = prices.price(model, &usage(u64::MAX, u64::MAX, u64::MAX, u32::MAX)).unwrap();
    assert!(most.is_finite() && most > 0.0);
}

#[test]
fn the_command_lines_own_word_for_cached_tokens_counts_too() {
    let mut used = usage(1_000_000, 0, 0, 0);
    used.extra = vec![("cached_input_tokens".to_owned(), "1000000".to_owned())];
    assert_costs(Prices::built_in().price("gemini-2.5-pro", &used), 0.125);
}

#[test]
fn where_nothing_was_counted_nothing_is_known() {
    assert_eq!(Prices::built_in().price("gemini-2.5-pro", &usage(0, 0, 0, 0)), None);
}

#[test]
fn a_name_is_matched_exactly_then_by_its_longest_known_beginning() {
    let prices = Prices::built_in();
    let price = |model: &str| prices.price(model, &usage(1_000_000, 0, 0, 0));
    assert_costs(price("gemini-2.5-flash"), 0.30);
    assert_costs(price("gemini-2.5-flash-lite"), 0.10);
    assert_costs(price("models/gemini-2.5-flash-lite-preview-09-2025"), 0.10);
    assert_costs(price("publishers/google/models/gemini-2.5-pro@002"), 1.25);
    assert_costs(price("Gemini-3.5-Flash-latest"), 1.50);
    assert_costs(price(" gemini-3.1-pro-preview-customtools "), 2.0);
    for stranger in ["", "gemini", "gemini-2.5-flashy", "gpt-7", "/", "-", "models/"] {
        assert_eq!(price(stranger), None, "{stranger}");
    }
}

#[test]
fn the_research_agents_cost_what_the_vendor_says_that_they_do() {
    let prices = Prices::built_in();
    for (agent, low, high) in [
        ("deep-research-preview-04-2026", 1.0, 3.0),
        ("deep-research-pro-preview-12-2025", 1.0, 3.0),
        ("deep-research-max-preview-04-2026", 3.0, 7.0),
    ] {
        let typical = prices.typical(agent).expect(agent);
        assert!((low..=high).contains(&typical), "{agent}: {typical}");
    }
    assert_costs(prices.typical("deep-research-preview-04-2026"), 0.2 + 0.03 + 0.72 + 1.12);
    assert_eq!(prices.typical("gemini-2.5-pro"), None);
    assert_eq!(prices.typical("another"), None);
}

#[test]
fn ones_own_prices_are_laid_over_key_by_key() {
    let own = with(
        "date = 2027-01-02\n\
         [models.\"gemini-3.8-flash\"]\ninput = 1.5\noutput = 7.5\n\
         [models.local]\ninput = 0\noutput = 0\n\
         [models.\"deep-research-preview-04-2026\"]\nsearches = 0\n",
    )
    .unwrap();
    assert_eq!(own.date(), "2027-01-02");
    assert_costs(own.price("gemini-3.8-flash", &usage(1_000_000, 0, 1_000_000, 1000)), 23.0);
    assert_costs(own.price("local", &usage(1_000_000, 0, 0, 5)), 0.0);
    assert_costs(own.typical("deep-research-preview-04-2026"), 0.95);
    // The rest stays.
    assert_costs(own.price("gemini-2.5-pro", &usage(1_000_000, 0, 0, 0)), 1.25);
    assert_eq!(with("").unwrap().date(), Prices::built_in().date());
}

#[test]
fn without_a_file_or_a_directory_the_built_in_prices_hold() {
    let home = tempfile::tempdir().unwrap();
    let date = Prices::built_in().date().to_owned();
    assert!(date.starts_with("20") && date.len() == 10, "{date}");
    assert_eq!(Prices::load(home.path()).unwrap().date(), date);
    assert_eq!(Prices::load(&home.path().join("none")).unwrap().date(), date);
    std::fs::write(home.path().join("file"), "").unwrap();
    assert_eq!(Prices::load(&home.path().join("file")).unwrap().date(), date);
}

#[test]
fn mistakes_are_told_with_their_line_and_what_would_be_right() {
    let mistakes = [
        "[models.a]\ninptu = 1\n",
        "[model.a]\ninput = 1\n",
        "[models.a]\ninput = \"2 dollars\"\noutput = 1\n",
        "[models.a]\ninput = -1\noutput = nan\n",
        "[models.a]\ninput = 1\n",
        "[models.a]\nlike = \"gemini-3.8-flesh\"\n",
        "[models.a]\nlike = \"b\"\n[models.b]\nlike = \"a\"\n",
        "[models.a]\ninput = 1\noutput = 1\ntypical = { input_token = 1, output_tokens = 1 }\n",
        "[models.a\n",
        "date = \"yesterday\"\n",
    ];
    let said: Vec<String> = mistakes
        .iter()
        .map(|text| with(text).expect_err("a mistake that was not noticed"))
        .collect();
    insta::assert_snapshot!(said.join("\n\n---\n\n"));
}

#[test]
fn what_is_no_file_of_text_is_told_plainly() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(FILE_NAME);
    std::fs::create_dir(&path).unwrap();
    let said = Prices::load(home.path()).unwrap_err().to_string();
    assert!(said.contains("prices.toml cannot be read"), "{said}");
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, b"date = \xff").unwrap();
    let said = Prices::load(home.path()).unwrap_err().to_string();
    assert!(said.contains("not UTF-8"), "{said}");
}
