//! The kinds of plugin, and what each may reach at most.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Strategy,
    Extractor,
    Estimator,
    Agent,
    Search,
    Pages,
    Research,
}

impl Kind {
    pub const ALL: [Self; 7] = [
        Self::Strategy,
        Self::Extractor,
        Self::Estimator,
        Self::Agent,
        Self::Search,
        Self::Pages,
        Self::Research,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strategy => "strategy",
            Self::Extractor => "extractor",
            Self::Estimator => "estimator",
            Self::Agent => "agent",
            Self::Search => "search",
            Self::Pages => "pages",
            Self::Research => "research",
        }
    }

    /// With its article, for messages.
    pub fn described(self) -> String {
        let article = match self {
            Self::Extractor | Self::Estimator | Self::Agent => "an",
            _ => "a",
        };
        match self {
            Self::Strategy | Self::Extractor | Self::Estimator => format!("{article} {self}"),
            _ => format!("{article} {self} backend"),
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Decides from what it is given alone: no clock, no chance, no reach.
    pub fn is_pure(self) -> bool {
        matches!(self, Self::Strategy | Self::Extractor | Self::Estimator)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
