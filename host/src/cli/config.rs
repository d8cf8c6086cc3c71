//! `config`: every value that counts, as TOML, and where it comes from.

use std::fmt::Write as _;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::arguments::ConfigArguments;
use super::desk::{ConfigValue, Desk};
use super::documents;
use super::terminal::{BOLD, FAINT, Look, Stop, Terminal};
use crate::config::resolved::Origin;

pub async fn run(
    arguments: &ConfigArguments,
    desk: &dyn Desk,
    terminal: &mut Terminal,
) -> Result<u8, Stop> {
    documents::check(&arguments.documents.documents)?;
    let values = desk.config().await?;
    if arguments.json {
        let list: Vec<Value> = values
            .iter()
            .map(|value| {
                json!({
                    "key": value.key,
                    "value": value.value,
                    "origin": { "place": value.origin.place, "line": value.origin.line, "column": value.origin.column },
                })
            })
            .collect();
        terminal.print_json(&list)?;
    } else {
        let look = terminal.out;
        terminal.print(&as_text(&values, look))?;
    }
    Ok(0)
}

/// `[table]`, then its values with their origins as comments, lined up.
fn as_text(values: &[ConfigValue], look: Look) -> String {
    let mut tables: Vec<(&str, Vec<(String, String)>)> = Vec::new();
    for value in values {
        let (table, key) = value.key.rsplit_once('.').unwrap_or(("", &value.key));
        let line = (
            format!("{key} = {}", toml_value(&value.value)),
            origin(&value.origin),
        );
        match tables.iter_mut().find(|(name, _)| *name == table) {
            Some((_, lines)) => lines.push(line),
            None => tables.push((table, vec![line])),
        }
    }
    let mut text = String::new();
    for (table, lines) in tables {
        if !text.is_empty() {
            text.push('\n');
        }
        if !table.is_empty() {
            let _ = writeln!(text, "{}", look.paint(BOLD, &format!("[{table}]")));
        }
        // One very long value must not push every comment out of sight.
        let column = lines
            .iter()
            .map(|(line, _)| line.width())
            .filter(|width| *width <= 60)
            .max()
            .unwrap_or(0);
        for (line, origin) in lines {
            let pad = " ".repeat(column.saturating_sub(line.width()));
            let _ = writeln!(
                text,
                "{line}{pad}  {}",
                look.paint(FAINT, &format!("# {origin}"))
            );
        }
    }
    text
}

fn origin(origin: &Origin) -> String {
    match origin.line {
        Some(line) => format!("{}:{line}", origin.place),
        None => origin.place.clone(),
    }
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::Null => "\"\"".to_owned(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key} = {}", toml_value(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        // TOML's basic strings escape as JSON's do.
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(key: &str, value: Value, place: &str, line: Option<usize>) -> ConfigValue {
        let origin = Origin {
            place: place.to_owned(),
            line,
            column: line.map(|_| 1),
            text: None,
        };
        ConfigValue {
            key: key.to_owned(),
            value,
            origin,
        }
    }

    #[test]
    fn the_configuration_reads_as_toml() {
        let values = [
            value(
                "use.strategy",
                json!("strategy-adaptive"),
                "built-in",
                Some(8),
            ),
            value(
                "use.extractor",
                json!("extractor-json"),
                "plugins.toml",
                Some(3),
            ),
            value(
                "plugins.search-documents.grants.directories",
                json!(["/home/me/notes"]),
                "--docs",
                None,
            ),
            value(
                "plugins.search-documents.limits.memory_mb",
                json!(256),
                "built-in",
                Some(49),
            ),
            value(
                "plugins.search-documents.limits.host_calls",
                json!(10_000_000),
                "built-in",
                Some(51),
            ),
            value(
                "plugins.search-documents.settings.odd",
                json!({"a": "q\"uote", "b": true}),
                "plugins.toml",
                Some(9),
            ),
        ];
        let text = as_text(&values, Look::default());
        text.parse::<toml::Table>()
            .expect("what is printed is TOML");
        insta::assert_snapshot!(text);
    }
}
