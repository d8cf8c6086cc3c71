//! What can be asked at all.

use super::ErrorReport;

/// The longest question, in bytes: it is a question, not a document.
pub const LONGEST_QUESTION: usize = 64 << 10;

pub fn check(text: &str) -> Result<(), ErrorReport> {
    let invalid = |message: String, hint: &str| {
        Err(ErrorReport { code: "INVALID_INPUT".to_owned(), message, hint: Some(hint.to_owned()) })
    };
    if text.trim().is_empty() {
        return invalid(
            "the question is empty".to_owned(),
            "ask in a sentence, such as \"How are releases made?\"",
        );
    }
    if text.len() > LONGEST_QUESTION {
        return invalid(
            format!(
                "the question has {} bytes, and may have {} at the most",
                text.len(),
                LONGEST_QUESTION
            ),
            "ask in a sentence or two; what should be searched belongs in the documents",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_question_is_refused() {
        for text in ["", "  \n\t"] {
            let error = check(text).unwrap_err();
            assert_eq!(error.code, "INVALID_INPUT");
            assert!(error.message.contains("empty"));
        }
    }

    #[test]
    fn a_question_may_be_long_but_not_a_document() {
        assert!(check(&"x".repeat(LONGEST_QUESTION)).is_ok());
        let error = check(&"x".repeat(1 << 20)).unwrap_err();
        assert!(error.message.contains("1048576"), "{}", error.message);
    }
}
