//! What an interaction cost, in the vendor's own count.

use bathysphere_sdk::types::Usage;
use serde_json::Value;

use crate::value::{list, number, text};

pub fn none() -> Usage {
    Usage {
        input_tokens: 0,
        output_tokens: 0,
        searches: 0,
        pages: 0,
        cost_usd: None,
        extra: Vec::new(),
    }
}

/// `searches` and `pages` are what the steps tell; the vendor's count of searches
/// goes before it. Thoughts are billed as output, and what a tool gave the model as
/// input.
pub fn read(interaction: &Value, searches: u32, pages: u32) -> Usage {
    let usage = interaction.get("usage").unwrap_or(&Value::Null);
    let tokens = |name: &str| number(usage, &format!("total_{name}_tokens")).unwrap_or(0);
    let (thought, tool_use) = (tokens("thought"), tokens("tool_use"));
    let input = tokens("input").saturating_add(tool_use);
    let cached = tokens("cached").min(input);
    let counted: Option<u64> = list(usage, "grounding_tool_count")
        .iter()
        .filter(|tool| text(tool, "type") == Some("google_search"))
        .filter_map(|tool| number(tool, "count"))
        .reduce(u64::saturating_add);
    let known =
        [("cached_tokens", cached), ("thought_tokens", thought), ("tool_use_tokens", tool_use)];
    Usage {
        input_tokens: input,
        output_tokens: tokens("output").saturating_add(thought),
        searches: counted.map_or(searches, |counted| u32::try_from(counted).unwrap_or(u32::MAX)),
        pages,
        // The host prices it: prices change, and plugins do not.
        cost_usd: None,
        extra: known
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.to_owned(), count.to_string()))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn thoughts_are_output_and_the_cache_is_part_of_the_input() {
        let usage = read(
            &json!({ "usage": {
                "total_input_tokens": 250_000, "total_cached_tokens": 150_000,
                "total_output_tokens": 50_000, "total_thought_tokens": 10_000,
                "total_tool_use_tokens": 1000,
                "grounding_tool_count": [
                    { "type": "google_search", "count": 80 }, { "type": "google_maps", "count": 3 },
                ],
            } }),
            2,
            1,
        );
        assert_eq!((usage.input_tokens, usage.output_tokens), (251_000, 60_000));
        assert_eq!((usage.searches, usage.pages, usage.cost_usd), (80, 1, None));
        let extra: Vec<(&str, &str)> =
            usage.extra.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            extra,
            [("cached_tokens", "150000"), ("thought_tokens", "10000"), ("tool_use_tokens", "1000")]
        );
    }

    #[test]
    fn what_the_vendor_does_not_count_is_counted_from_the_steps() {
        for interaction in [json!({}), json!({ "usage": null }), json!({ "usage": [] }), json!(5)] {
            let usage = read(&interaction, 2, 1);
            assert_eq!(usage, Usage { searches: 2, pages: 1, ..none() });
        }
    }

    #[test]
    fn figures_that_lie_do_no_harm() {
        let usage = read(
            &json!({ "usage": {
                "total_input_tokens": "12", "total_cached_tokens": 99, "total_output_tokens": -5,
                "total_thought_tokens": 1e300, "total_tool_use_tokens": u64::MAX,
                "grounding_tool_count": [
                    { "type": "google_search", "count": u64::MAX },
                    { "type": "google_search", "count": u64::MAX },
                ],
            } }),
            0,
            0,
        );
        assert_eq!((usage.input_tokens, usage.output_tokens), (u64::MAX, u64::MAX));
        assert_eq!(usage.searches, u32::MAX);
    }
}
