//! Stands in until the prompts are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    Search,
    DeepSearch,
    Verify,
    DeepResearch,
    Correction,
}
impl Prompt {
    pub const ALL: [Self; 5] =
        [Self::Search, Self::DeepSearch, Self::Verify, Self::DeepResearch, Self::Correction];
    pub const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::DeepSearch => "deep-search",
            Self::Verify => "verify",
            Self::DeepResearch => "deep-research",
            Self::Correction => "correction",
        }
    }
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prompt| prompt.name() == name)
    }
    pub const fn schema(self) -> &'static str {
        r#"{"type":"object","required":["report"],"properties":{"report":{"type":"string","minLength":1}}}"#
    }
    pub const fn example(self) -> &'static str {
        "{}"
    }
}
#[derive(Debug, Clone, Default)]
pub struct Values<'a> {
    pub query: &'a str,
    pub context: Option<&'a str>,
    pub result: Option<&'a str>,
    pub sources: &'a [String],
    pub round: u32,
    pub max_rounds: u32,
    pub date: &'a str,
    pub example: &'a str,
    pub file: Option<&'a str>,
    pub problem: Option<&'a str>,
}
#[derive(Debug, Clone, Default)]
pub struct Prompts;
impl Prompts {
    pub fn load(_: &std::path::Path) -> Result<Self, std::io::Error> {
        Ok(Self)
    }
    pub fn render(&self, prompt: Prompt, values: &Values<'_>) -> Result<String, std::io::Error> {
        Ok(format!("{prompt:?} {values:?}"))
    }
}
