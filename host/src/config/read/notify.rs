//! `[notify]`: how the user is told that a task has ended.

use toml::de::DeValue;

use super::super::layer::Located;
use super::super::raw::{List, RawNotify, Value};
use super::{Item, Key, Reader, Wrong, expand_home};

impl Reader<'_> {
    pub(super) fn notify(&mut self, key: &Key<'_>, item: &Item<'_>) -> RawNotify {
        let mut notify = RawNotify::default();
        for (key, item) in self.entries("notify", key, item) {
            match key.get_ref().as_ref() {
                "desktop" => notify.desktop = self.boolean("notify.desktop", item),
                "command" => notify.command = self.hook("notify.command", item),
                _ => self.unknown(key, "in [notify]", &["desktop", "command"]),
            }
        }
        notify
    }

    fn boolean(&mut self, path: &str, item: &Item<'_>) -> Value<bool> {
        if let DeValue::Boolean(value) = item.get_ref() {
            return Some(self.located(item, *value));
        }
        self.wrong_type(path, "true or false", item, "write true or false, without quotes");
        None
    }

    /// A program with its arguments; none of them goes through a shell.
    fn hook(&mut self, path: &str, item: &Item<'_>) -> List<String> {
        if let DeValue::String(text) = item.get_ref() {
            let words: Vec<String> =
                text.split_whitespace().map(|word| format!("{word:?}")).collect();
            let hint =
                format!("write the program and each argument by itself: [{}]", words.join(", "));
            self.wrong_type(path, "an array of strings", item, &hint);
            return None;
        }
        let mut words = self.list(path, item, |_, text| {
            if text.contains('\0') {
                return Err(Wrong::new("it cannot hold a NUL character", "leave it out"));
            }
            Ok(text.to_owned())
        })?;
        if let Some(program) = words.value.first_mut() {
            match self.hook_program(&program.value) {
                Ok(value) => *program = Located { value, place: program.place },
                Err(wrong) => {
                    let message = format!("`{path}[0]`: {}", wrong.message);
                    self.mistakes.add(program.place, message, wrong.hint);
                    return None;
                }
            }
        }
        Some(words)
    }

    fn hook_program(&self, text: &str) -> Result<String, Wrong> {
        const EXAMPLES: &str =
            "write a name that is looked up in PATH, such as \"notify-send\", or an absolute path";
        if text.trim().is_empty() {
            return Err(Wrong::new("a program has a name", EXAMPLES));
        }
        if !text.contains('/') {
            return match text.split_once(char::is_whitespace) {
                None => Ok(text.to_owned()),
                Some((name, rest)) => Err(Wrong::new(
                    format!("`{text}` holds a blank, and no shell takes it apart"),
                    format!("write each argument by itself: [{name:?}, {:?}]", rest.trim()),
                )),
            };
        }
        let path = expand_home(text, self.surroundings.home)?;
        if path.is_absolute() {
            Ok(path.to_string_lossy().into_owned())
        } else {
            Err(Wrong::new(format!("`{text}` is a relative path"), EXAMPLES))
        }
    }
}
