//! The members of a JSON object, taken one by one; what nobody took is kept verbatim.

use std::collections::BTreeMap;

use domain::{Violation, ViolationReason};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// Members by name, each as its author wrote it. `null` counts as absent.
#[derive(Debug)]
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    /// The members of one JSON object.
    pub(super) fn parse(text: &'a str) -> Result<Self, Violation> {
        read(text).map(Self)
    }

    /// One member, verbatim.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        self.0.remove(name).filter(|value| is_given(value))
    }

    /// One member of a known type.
    pub(super) fn take_as<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, Violation> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        read(value.get())
            .map(Some)
            .map_err(|violation| violation.within(name))
    }

    /// One text; empty when absent.
    pub(super) fn take_text(&mut self, name: &str) -> Result<String, Violation> {
        Ok(self.take_as(name)?.unwrap_or_default())
    }

    /// One text that must be there.
    pub(super) fn require_text(&mut self, name: &str) -> Result<String, Violation> {
        self.take_as(name)?.ok_or_else(|| missing().within(name))
    }

    /// Adds a member, in place of one of the same name.
    pub(super) fn insert(&mut self, name: &str, value: &'a RawValue) {
        self.0.insert(name.to_owned(), value);
    }

    /// Drops the members that `other` has too.
    pub(super) fn without(mut self, other: &Self) -> Self {
        self.0.retain(|name, _| !other.0.contains_key(name));
        self
    }

    /// What is left, by name: JSON text of an object, or empty when nothing is.
    pub(super) fn rest(&self) -> String {
        let rest: BTreeMap<&str, &RawValue> = self
            .0
            .iter()
            .filter(|(_, value)| is_given(value))
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        if rest.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&rest).unwrap_or_default()
        }
    }
}

fn is_given(value: &RawValue) -> bool {
    value.get() != "null"
}

/// Two JSON objects as one, each byte for byte; either may be empty text.
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

/// Reads JSON; the error names the place and never the content.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Violation> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let description = match error.classify() {
            serde_json::error::Category::Data => "is of the wrong kind".to_owned(),
            serde_json::error::Category::Eof => format!("ends too early, at column {column}"),
            serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                format!("is not valid JSON at line {line}, column {column}")
            }
        };
        Violation::new(ViolationReason::InvalidJson, description)
    })
}

/// A member that must be there and is not.
pub(super) fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is required")
}

/// A value that cannot be taken; `description` reads on after the field's name.
pub(super) fn malformed(description: impl Into<String>) -> Violation {
    Violation::new(ViolationReason::Malformed, description)
}

/// Whether text is one JSON document that the record takes.
pub(super) fn is_json(text: &str) -> bool {
    domain::JsonText::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_join_byte_for_byte() {
        let check = |first, second, expected| assert_eq!(joined(first, second), expected);
        check(r#"{"b": 1.10 }"#, r#"{"a":2}"#, r#"{"b": 1.10 ,"a":2}"#);
        check("", r#"{"a":2}"#, r#"{"a":2}"#);
        check(r#"{"a":2}"#, "", r#"{"a":2}"#);
        check("{ }", r#"{"a":{}}"#, r#"{"a":{}}"#);
        check(r#"{"a":{}}"#, r#"{"b":{}}"#, r#"{"a":{},"b":{}}"#);
        check("", "", "");
    }

    #[test]
    fn null_is_absent_and_the_rest_is_verbatim() {
        let mut fields = Fields::parse(r#"{"a":null,"b":1.0,"c":"x"}"#).unwrap();
        assert!(fields.take("a").is_none());
        assert_eq!(fields.take_text("c").unwrap(), "x");
        assert_eq!(fields.rest(), r#"{"b":1.0}"#);
    }
}
