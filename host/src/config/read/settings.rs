//! Settings: any TOML value, as the JSON that the plugin will be given.

use serde_json::Value as Json;
use toml::de::DeValue;

use super::super::layer::{Located, Place};
use super::super::raw::Setting;
use super::{Item, Key, Reader};

impl Reader<'_> {
    pub(super) fn any_setting(
        &mut self,
        path: &str,
        key: Option<&Key<'_>>,
        item: &Item<'_>,
    ) -> Option<Located<Setting>> {
        let place = self.setting_place(key, item);
        let value = match item.get_ref() {
            DeValue::Table(table) => Setting::Table(
                table
                    .iter()
                    .filter_map(|(key, item)| {
                        let name = key.get_ref();
                        let setting =
                            self.any_setting(&format!("{path}.{name}"), Some(key), item)?;
                        Some((name.to_string(), setting))
                    })
                    .collect(),
            ),
            DeValue::Array(array) => Setting::Array(
                array
                    .iter()
                    .enumerate()
                    .filter_map(|(index, item)| {
                        self.any_setting(&format!("{path}[{index}]"), None, item)
                    })
                    .collect(),
            ),
            DeValue::String(text) => Setting::Leaf(Json::from(text.as_ref())),
            DeValue::Boolean(boolean) => Setting::Leaf(Json::from(*boolean)),
            // JSON has no dates; a plugin that wants one reads the text.
            DeValue::Datetime(datetime) => Setting::Leaf(Json::from(datetime.to_string())),
            DeValue::Integer(integer) => {
                let whole = i64::from_str_radix(integer.as_str(), integer.radix());
                let Ok(whole) = whole else {
                    self.mistakes.add(
                        self.place(item),
                        format!("`{path}` is too large a number: {integer}"),
                        format!("write a number from {} to {}", i64::MIN, i64::MAX),
                    );
                    return None;
                };
                Setting::Leaf(Json::from(whole))
            }
            DeValue::Float(float) => {
                let number = float.as_str().parse().ok();
                let Some(number) = number.and_then(serde_json::Number::from_f64) else {
                    self.mistakes.add(
                        self.place(item),
                        format!("`{path}` cannot be {float}: settings are handed over as JSON"),
                        "write a finite number",
                    );
                    return None;
                };
                Setting::Leaf(Json::Number(number))
            }
        };
        Some(Located { value, place })
    }

    /// The whole assignment where it fits one line, because the key may be what
    /// is wrong as well as the value; for a table its name.
    fn setting_place(&self, key: Option<&Key<'_>>, item: &Item<'_>) -> Place {
        match key {
            Some(key) if item.get_ref().is_table() => self.key_place(key),
            Some(key) => Place { start: key.span().start, ..self.place(item) },
            None => self.place(item),
        }
    }
}
