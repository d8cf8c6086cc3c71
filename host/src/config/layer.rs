//! One file's text, or a flag; and where in it a value stands.

use std::path::PathBuf;

use super::error::Problem;
use super::resolved::Origin;

/// What `Origin::place` says for the bottom layer.
pub const BUILT_IN: &str = "built-in";

#[derive(Debug, Clone)]
pub struct Layer {
    /// As shown: a path, a flag, a variable or `built-in`.
    pub place: String,
    /// Empty for a flag or a variable.
    pub text: String,
    /// What relative paths in it start from.
    pub directory: PathBuf,
}

/// Bytes of one layer's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub layer: usize,
    pub start: usize,
    pub end: usize,
}

impl Place {
    /// Whether no file of the user's says it: the defaults are the bottom layer.
    pub fn is_built_in(self) -> bool {
        self.layer == 0
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub place: Place,
}

/// All that was read, the bottom first.
#[derive(Debug, Clone, Default)]
pub struct Layers(Vec<Layer>);

impl Layers {
    pub fn push(&mut self, layer: Layer) -> usize {
        self.0.push(layer);
        self.0.len() - 1
    }

    /// A flag or a variable: all that it says stands in one place.
    pub fn push_name(&mut self, name: &str) -> Place {
        let layer = self.push(Layer {
            place: name.to_owned(),
            text: String::new(),
            directory: PathBuf::new(),
        });
        Place { layer, start: 0, end: 0 }
    }

    pub fn get(&self, index: usize) -> &Layer {
        &self.0[index]
    }

    /// What they are called, the strongest first.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().rev().map(|layer| layer.place.as_str())
    }

    pub fn origin(&self, place: Place) -> Origin {
        let layer = &self.0[place.layer];
        if layer.text.is_empty() || layer.place == BUILT_IN {
            return Origin::of(&layer.place);
        }
        let text = &layer.text;
        // The end of the file is shown as the end of its last line.
        let start =
            floor_boundary(text, place.start.min(text.trim_end_matches(['\n', '\r']).len()));
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = floor_boundary(text, place.end.clamp(start, line_end));
        Origin {
            place: layer.place.clone(),
            line: Some(text[..start].matches('\n').count() + 1),
            column: Some(text[line_start..start].chars().count() + 1),
            text: Some(text[line_start..line_end].trim_end_matches('\r').to_owned()),
            width: text[start..end].trim_end().chars().count(),
        }
    }
}

fn floor_boundary(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Mistakes as they are found, in any order.
#[derive(Debug, Default)]
pub struct Mistakes(Vec<Mistake>);

#[derive(Debug)]
struct Mistake {
    place: Place,
    message: String,
    hint: Option<String>,
}

impl Mistakes {
    pub fn add(&mut self, place: Place, message: impl Into<String>, hint: impl Into<String>) {
        self.0.push(Mistake { place, message: message.into(), hint: Some(hint.into()) });
    }

    pub fn add_plain(&mut self, place: Place, message: impl Into<String>) {
        self.0.push(Mistake { place, message: message.into(), hint: None });
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// In the order in which they stand; the top layer's come first.
    pub fn into_problems(mut self, layers: &Layers) -> Vec<Problem> {
        self.0.sort_by_key(|mistake| (usize::MAX - mistake.place.layer, mistake.place.start));
        self.0
            .into_iter()
            .map(|mistake| Problem {
                origin: Some(layers.origin(mistake.place)),
                message: mistake.message,
                hint: mistake.hint,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(text: &str) -> Layers {
        let mut layers = Layers::default();
        layers.push(Layer {
            place: "plugins.toml".to_owned(),
            text: text.to_owned(),
            directory: PathBuf::new(),
        });
        layers
    }

    fn origin(text: &str, start: usize, end: usize) -> Origin {
        layers(text).origin(Place { layer: 0, start, end })
    }

    #[test]
    fn counts_lines_from_one_and_columns_in_characters() {
        let text = "a = 1\r\nü = \"ö\" # x\r\n";
        let start = text.find('"').unwrap();
        let found = origin(text, start, start + "\"ö\"".len());
        assert_eq!((found.line, found.column, found.width), (Some(2), Some(5), 3));
        assert_eq!(found.text.as_deref(), Some("ü = \"ö\" # x"));
    }

    #[test]
    fn a_span_is_cut_at_the_end_of_its_line() {
        assert_eq!(origin("a = [\n1,\n]\n", 4, 10).width, 1);
    }

    #[test]
    fn the_end_of_the_file_is_the_end_of_the_last_line() {
        let found = origin("a = \n\n", 6, 6);
        assert_eq!((found.line, found.column), (Some(1), Some(5)));
        assert_eq!(origin("x", 9, 9).line, Some(1));
    }

    #[test]
    fn a_span_inside_a_character_does_not_panic() {
        assert_eq!(origin("äö", 1, 3).column, Some(1));
    }
}
