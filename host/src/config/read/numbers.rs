//! Tables of numbers, each within its range.

use toml::de::DeValue;

use super::super::layer::Located;
use super::super::limits::{self, Limit};
use super::super::raw::Numbers;
use super::{Item, Key, Reader, shown};

impl Reader<'_> {
    pub(super) fn numbers<T: Default>(
        &mut self,
        path: &str,
        key: &Key<'_>,
        item: &Item<'_>,
        table: &'static [Limit<T>],
    ) -> Numbers {
        let mut numbers = Numbers::new();
        for (key, item) in self.entries(path, key, item) {
            numbers.extend(self.number(path, key, item, table));
        }
        numbers
    }

    fn number<T: Default>(
        &mut self,
        path: &str,
        key: &Key<'_>,
        item: &Item<'_>,
        table: &'static [Limit<T>],
    ) -> Option<(&'static str, Located<f64>)> {
        let name = key.get_ref().as_ref();
        let Some(limit) = limits::find(table, name) else {
            let known: Vec<&str> = table.iter().map(|limit| limit.name).collect();
            self.unknown(key, &format!("in [{path}]"), &known);
            return None;
        };
        let path = format!("{path}.{name}");
        let number = match item.get_ref() {
            DeValue::Integer(integer) => i128::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .map(|whole| whole as f64),
            DeValue::Float(float) if limit.fractions => float.as_str().parse().ok(),
            _ => {
                let expected = if limit.fractions { "a number" } else { "a whole number" };
                self.wrong_type(&path, expected, item, &format!("write {}", limit.range()));
                return None;
            }
        };
        match number {
            Some(number) if (limit.minimum..=limit.maximum).contains(&number) => {
                Some((limit.name, self.located(item, number)))
            }
            _ => {
                let shown = shown(item);
                self.mistakes.add(
                    self.place(item),
                    format!("`{path}` cannot be {shown}"),
                    format!("write {}", limit.range()),
                );
                None
            }
        }
    }
}
