//! A JSON object whose fields are read one by one. Errors name the path of a field, and never quote its value.

use std::collections::HashMap;

use domain::violation::check_length;
use domain::{Violation, ViolationReason};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) struct Object<'a> {
    json: &'a str,
    members: HashMap<String, &'a RawValue>,
}

impl<'a> Object<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Violation> {
        let members = read(text, "is not a JSON object")?;
        Ok(Self { json: text, members })
    }

    /// The object, byte for byte.
    pub(super) fn json(&self) -> &'a str {
        self.json
    }

    /// The raw JSON of a field; `None` if it is missing or null.
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.members.get(name).copied().filter(|raw| raw.get() != "null")
    }

    pub(super) fn text(&self, name: &str, bytes_max: usize) -> Result<Option<String>, Violation> {
        let text: Option<String> = self.read(name, "is not a string")?;
        if let Some(text) = &text {
            check_length(text.len(), bytes_max).map_err(|wrong| wrong.within(name))?;
        }
        Ok(text)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Violation> {
        self.read(name, "is neither true nor false").map(Option::unwrap_or_default)
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<&'a RawValue>>, Violation> {
        self.read(name, "is not a list")
    }

    pub(super) fn object(&self, name: &str) -> Result<Option<Object<'a>>, Violation> {
        self.raw(name).map(|raw| Self::parse(raw.get())).transpose().map_err(|wrong| wrong.within(name))
    }

    fn read<T: Deserialize<'a>>(&self, name: &str, rule: &str) -> Result<Option<T>, Violation> {
        self.raw(name).map(|raw| read(raw.get(), rule)).transpose().map_err(|wrong| wrong.within(name))
    }
}

/// Keeps only the position of an error, because the library's text may quote the value.
fn read<'a, T: Deserialize<'a>>(text: &'a str, rule: &str) -> Result<T, Violation> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let description = if error.is_data() {
            rule.to_owned()
        } else {
            format!("is not valid JSON at line {line}, column {column}")
        };
        Violation::new(ViolationReason::InvalidJson, description)
    })
}
