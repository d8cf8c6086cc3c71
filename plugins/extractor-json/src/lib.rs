//! stub
#[cfg(target_family = "wasm")]
mod component {
    use bathysphere_sdk::{extractor, meta};
    struct Plugin;
    impl meta::Guest for Plugin {
        fn describe() -> meta::Description { meta::Description { name: "x".into(), version: "1".into(), kind: "extractor".into(), summary: String::new(), settings_schema: "{}".into(), extra: vec![] } }
        fn validate(_settings: String) -> Result<(), Vec<meta::Problem>> { Ok(()) }
    }
    impl extractor::Guest for Plugin {
        fn extract(_s: String, text: String, _schema: String) -> Result<extractor::Extraction, bathysphere_sdk::types::Error> {
            Ok(extractor::Extraction { json: text, repaired: false, notes: vec![] })
        }
    }
    bathysphere_sdk::export_extractor!(Plugin);
}
