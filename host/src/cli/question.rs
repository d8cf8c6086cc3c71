//! Reading a question: from the command line, or from stdin with `-`. What cannot
//! be a question, or the id of a task, is refused before anything is started.

use std::io::Read;

use crate::plugins::contract::Question;
use crate::report::words::grouped;
use crate::tasks::{ErrorReport, LONGEST_QUESTION as LONGEST};

/// The question's text, trimmed. `name` is what to call it in messages.
pub fn read(name: &str, argument: &str, stdin: &mut impl Read) -> Result<String, ErrorReport> {
    if argument != "-" {
        return check(name, argument);
    }
    let mut bytes = Vec::new();
    stdin.take(LONGEST as u64 + 1).read_to_end(&mut bytes).map_err(|error| {
        invalid(format!("cannot read the {name} from standard input: {error}"), None)
    })?;
    if bytes.len() > LONGEST {
        return Err(too_long(name, ""));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to() + 1;
        invalid(
            format!("the {name} on standard input is not UTF-8: byte {place} is wrong"),
            Some("convert it, for example with `iconv -t UTF-8`".to_owned()),
        )
    })?;
    check(name, &text)
}

/// A question with its context, which may be blank.
pub fn with_context(
    question: &str,
    context: Option<&str>,
    stdin: &mut impl Read,
) -> Result<Question, ErrorReport> {
    let text = read("question", question, stdin)?;
    let context = context.map(str::trim).filter(|context| !context.is_empty());
    let context = context.map(|context| check("context", context)).transpose()?;
    Ok(Question { text, context, ..Question::default() })
}

/// The id of a task, or the beginning of one.
pub fn task_id(given: &str) -> Result<String, ErrorReport> {
    let id = given.trim().to_ascii_lowercase();
    let is_id = !id.is_empty()
        && id.chars().all(|character| character.is_ascii_hexdigit() || character == '-');
    if is_id {
        return Ok(id);
    }
    Err(invalid(
        format!("`{given}` is not the id of a task"),
        Some("ids look like 27475b74; `bathysphere history` lists them".to_owned()),
    ))
}

/// Checks a text that is already there.
pub fn check(name: &str, text: &str) -> Result<String, ErrorReport> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(invalid(
            format!("the {name} is empty"),
            Some(format!(
                "write it in quotes, such as \"how are snapshots stored?\", or `-` to read the {name} from standard input"
            )),
        ));
    }
    if trimmed.len() > LONGEST {
        return Err(too_long(name, &format!("{} bytes, where ", grouped(trimmed.len() as u64))));
    }
    Ok(trimmed.to_owned())
}

fn too_long(name: &str, size: &str) -> ErrorReport {
    invalid(
        format!(
            "the {name} is too long: {size}at most {} bytes are taken",
            grouped(LONGEST as u64)
        ),
        Some(format!(
            "keep the {name} to what is asked; put long material into files and name their directory with --docs"
        )),
    )
}

fn invalid(message: String, hint: Option<String>) -> ErrorReport {
    ErrorReport { code: "INVALID_INPUT".to_owned(), message, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_input(bytes: &[u8]) -> Result<String, ErrorReport> {
        read("question", "-", &mut &*bytes)
    }

    #[test]
    fn a_question_is_trimmed() {
        assert_eq!(read("question", "  why? \n", &mut std::io::empty()).unwrap(), "why?");
        assert_eq!(read_input(b"why\nnot?\n").unwrap(), "why\nnot?");
        assert_eq!(read_input("a".repeat(LONGEST).as_bytes()).unwrap().len(), LONGEST);
    }

    #[test]
    fn what_is_no_question_is_refused() {
        let cases: [Result<String, ErrorReport>; 5] = [
            check("question", " \n\t"),
            check("question", &"a".repeat(1_000_000)),
            read_input(b""),
            read_input(&vec![b'a'; LONGEST + 1]),
            read_input(b"caf\xe9?"),
        ];
        let shown: Vec<String> = cases
            .into_iter()
            .map(|case| {
                let report = case.unwrap_err();
                assert_eq!(report.code, "INVALID_INPUT");
                format!("error: {}\nhint: {}", report.message, report.hint.unwrap())
            })
            .collect();
        insta::assert_snapshot!(shown.join("\n\n"));
    }
}
