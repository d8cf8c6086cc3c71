//! The prompts there are: what each is called, what it may say, and what it must.

use super::values::Variable;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Prompt {
    /// One round, one answer.
    Search,
    /// The first round of several.
    DeepSearch,
    /// Every later round.
    Verify,
    /// One answer, the rounds being the model's own affair.
    DeepResearch,
    /// An answer that could not be read, brought into form.
    Correction,
}

impl Prompt {
    pub const ALL: [Self; 5] =
        [Self::Search, Self::DeepSearch, Self::Verify, Self::DeepResearch, Self::Correction];

    /// As a strategy names it.
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

    /// As the file is called, here and in the user's directory.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Search => "search-prompt.md",
            Self::DeepSearch => "deep-search-prompt.md",
            Self::Verify => "verify-prompt.md",
            Self::DeepResearch => "deep-research-prompt.md",
            Self::Correction => "correction-prompt.md",
        }
    }

    pub(super) const fn built_in(self) -> &'static str {
        match self {
            Self::Search => include_str!("../../../prompts/search-prompt.md"),
            Self::DeepSearch => include_str!("../../../prompts/deep-search-prompt.md"),
            Self::Verify => include_str!("../../../prompts/verify-prompt.md"),
            Self::DeepResearch => include_str!("../../../prompts/deep-research-prompt.md"),
            Self::Correction => include_str!("../../../prompts/correction-prompt.md"),
        }
    }

    /// What the template may say.
    pub(super) const fn variables(self) -> &'static [Variable] {
        use Variable::{
            Context, Date, Example, File, MaxRounds, Problem, Query, Result, Round, Sources,
        };
        match self {
            Self::Search | Self::DeepResearch => &[Query, Context, Date, Example],
            Self::DeepSearch => &[Query, Context, Round, MaxRounds, Date, Example],
            Self::Verify => &[Query, Context, Result, Sources, Round, MaxRounds, Date, Example],
            Self::Correction => &[File, Problem, Example],
        }
    }

    /// What the prompt makes no sense without.
    pub(super) const fn required(self) -> &'static [Variable] {
        match self {
            Self::Search | Self::DeepSearch | Self::DeepResearch => &[Variable::Query],
            Self::Verify => &[Variable::Query, Variable::Result],
            // One prompt for answers of every form: it cannot name the form itself.
            Self::Correction => &[Variable::File, Variable::Example],
        }
    }

    pub(super) const fn place(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_prompts() {
        for (place, prompt) in Prompt::ALL.into_iter().enumerate() {
            assert_eq!(Prompt::named(prompt.name()), Some(prompt));
            assert_eq!(prompt.file_name(), format!("{}-prompt.md", prompt.name()));
            assert_eq!(prompt.place(), place);
            let may = prompt.variables();
            assert!(prompt.required().iter().all(|variable| may.contains(variable)));
        }
        assert_eq!(Prompt::named("deep_search"), None);
    }

    /// Every round pays for them.
    #[test]
    fn the_built_in_prompts_are_short() {
        for prompt in Prompt::ALL {
            let length = prompt.built_in().len();
            assert!(length < 3000, "{} has {length} bytes", prompt.name());
        }
    }
}
