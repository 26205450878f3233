//! A JSON object that preserves the order and the raw text of its values.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// The fields of an object, in order.
#[derive(Debug, Clone)]
pub(super) struct Object<'a>(pub(super) Vec<(String, Cow<'a, RawValue>)>);

impl<'a> Object<'a> {
    /// The fields of the text, if it is an object.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        let field = self.0.iter().find(|(key, _)| key == name);
        field.map(|(_, value)| value.as_ref())
    }

    /// Replaces the value of a field, or appends the field.
    pub(super) fn set(&mut self, name: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = Cow::Owned(value),
            None => self.0.push((name.to_owned(), Cow::Owned(value))),
        }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
            fields.push((key, Cow::Borrowed(value)));
        }
        Ok(Object(fields))
    }
}
