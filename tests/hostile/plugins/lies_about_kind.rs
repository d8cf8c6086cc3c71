//! Exports a strategy and says that it is an extractor.

use hostile::sdk::meta::Description;

fn describe(_kind: &str) -> Description {
    hostile::description("extractor")
}

fn honest() -> String {
    "an honest plan".to_owned()
}

hostile::strategy!(honest, describe);
