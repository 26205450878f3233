//! The members of a JSON object, taken one by one; the rest stays unchanged.

use std::collections::BTreeMap;

use domain::{Violation, ViolationReason};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Members by name, with unparsed values. `null` is treated as absent.
#[derive(Debug)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// Parses one JSON object.
    pub(super) fn parse(text: &'a str) -> Result<Self, Violation> {
        read(text).map(Self)
    }

    /// Takes a member, unparsed.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        self.0.remove(name).filter(|value| is_present(value))
    }

    /// Takes a required member, unparsed.
    pub(super) fn require(&mut self, name: &str) -> Result<&'a RawValue, Violation> {
        self.take(name).ok_or_else(|| missing().within(name))
    }

    /// Takes and parses a member.
    pub(super) fn take_as<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, Violation> {
        let value = self.take(name).map(|value| read(value.get()));
        value.transpose().map_err(|violation| violation.within(name))
    }

    /// Takes a text; empty if it is absent.
    pub(super) fn take_text(&mut self, name: &str) -> Result<String, Violation> {
        Ok(self.take_as(name)?.unwrap_or_default())
    }

    /// Takes and parses a required member.
    pub(super) fn require_as<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Violation> {
        self.take_as(name)?.ok_or_else(|| missing().within(name))
    }

    /// Sets a member.
    pub(super) fn insert(&mut self, name: &str, value: &'a RawValue) {
        self.0.insert(name.to_owned(), value);
    }

    /// Removes the members that `other` also has.
    pub(super) fn without(mut self, other: &Self) -> Self {
        self.0.retain(|name, _| !other.0.contains_key(name));
        self
    }

    /// The remaining members as the JSON text of an object; empty if there are none.
    pub(super) fn rest(&self) -> String {
        let mut rest = self.0.clone();
        rest.retain(|_, value| is_present(value));
        serde_json::to_string(&rest).ok().filter(|_| !rest.is_empty()).unwrap_or_default()
    }
}

fn is_present(value: &RawValue) -> bool {
    value.get() != "null"
}

/// Joins the texts of two JSON objects without changing them; either may be empty.
pub(super) fn joined(first: &str, second: &str) -> String {
    let inner = |text: &str| text.trim_matches(['{', '}', ' ', '\n', '\r', '\t']).len();
    match (inner(first), inner(second)) {
        (_, 0) => first.to_owned(),
        (0, _) => second.to_owned(),
        _ => {
            let head = first.trim_end().strip_suffix('}').unwrap_or(first);
            let tail = second.trim_start().strip_prefix('{').unwrap_or(second);
            format!("{head},{tail}")
        }
    }
}

/// Parses JSON. The error names the position, but no content.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Violation> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let description = match error.classify() {
            serde_json::error::Category::Data => "has the wrong type".to_owned(),
            serde_json::error::Category::Eof => format!("is incomplete JSON at column {column}"),
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                format!("is not valid JSON at line {line}, column {column}")
            }
        };
        Violation::new(ViolationReason::InvalidJson, description)
    })
}

/// The error for a missing required member.
pub(super) fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required")
}

/// The error for an invalid value; `description` follows the field's name.
pub(super) fn malformed(description: impl Into<String>) -> Violation {
    Violation::new(ViolationReason::Malformed, description)
}

/// Whether text is one JSON document that the record accepts.
pub(super) fn is_json(text: &str) -> bool {
    domain::JsonText::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_objects_are_unchanged() {
        let check = |first, second, expected| assert_eq!(joined(first, second), expected);
        check(r#"{"b": 1.10 }"#, r#"{"a":2}"#, r#"{"b": 1.10 ,"a":2}"#);
        check("", r#"{"a":2}"#, r#"{"a":2}"#);
        check(r#"{"a":2}"#, "", r#"{"a":2}"#);
        check("{ }", r#"{"a":{}}"#, r#"{"a":{}}"#);
        check(r#"{"a":{}}"#, r#"{"b":{}}"#, r#"{"a":{},"b":{}}"#);
        check("", "", "");
    }

    #[test]
    fn null_is_absent_and_the_rest_is_unchanged() {
        let mut fields = Fields::parse(r#"{"a":null,"b":1.0,"c":"x"}"#).unwrap();
        assert!(fields.take("a").is_none());
        assert_eq!(fields.take_text("c").unwrap(), "x");
        assert_eq!(fields.rest(), r#"{"b":1.0}"#);
    }
}
