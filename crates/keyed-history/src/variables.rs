//! The variables of templates: a JSON object of the caller, with `results`, `configurable`, `inputs`, `thread_id` or others.

use std::collections::BTreeMap;

use domain::violation::check_length;
use domain::{JsonText, Violation, ViolationReason};
use serde_json::value::RawValue;

/// Most bytes of the JSON text of the variables.
pub const VARIABLES_BYTES_MAX: usize = 64 * 1_024;

/// The variables of one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Variables(BTreeMap<String, Variable>);

/// One value; only [`Variable::Text`] can be part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Variable {
    /// A text, or a number or boolean verbatim: an id above 2^53 keeps all of its digits.
    Text(String),
    Object(BTreeMap<String, Variable>),
    /// A list or null.
    Other,
}

impl Variables {
    /// Parses a JSON object; an empty text is an empty object. If a name occurs twice, the last value is used.
    ///
    /// # Errors
    /// [`ViolationReason::TooLong`] over [`VARIABLES_BYTES_MAX`], [`ViolationReason::InvalidJson`] if it is not an object.
    pub fn parse(json: &str) -> Result<Self, Violation> {
        if json.is_empty() {
            return Ok(Self::default());
        }
        check_length(json.len(), VARIABLES_BYTES_MAX)?;
        // This also bounds the levels, and so the recursion of `Variable::of`.
        let json = JsonText::parse(json)?;
        object(json.as_str())
            .map(Self)
            .ok_or_else(|| Violation::new(ViolationReason::InvalidJson, "is not a JSON object"))
    }

    /// The value at a path of names; `None` if it is not a text, number or boolean.
    #[must_use]
    pub fn text<'names>(&self, path: impl IntoIterator<Item = &'names str>) -> Option<&str> {
        let mut path = path.into_iter();
        let mut found = self.0.get(path.next()?)?;
        for name in path {
            let Variable::Object(object) = found else {
                return None;
            };
            found = object.get(name)?;
        }
        match found {
            Variable::Text(text) => Some(text),
            Variable::Object(_) | Variable::Other => None,
        }
    }
}

impl Variable {
    fn of(json: &RawValue) -> Self {
        let json = json.get();
        let variable = match json.bytes().next() {
            Some(b'{') => object(json).map(Self::Object),
            Some(b'"') => serde_json::from_str(json).ok().map(Self::Text),
            Some(b'[' | b'n') | None => None,
            Some(_) => Some(Self::Text(json.to_owned())),
        };
        variable.unwrap_or(Self::Other)
    }
}

fn object(json: &str) -> Option<BTreeMap<String, Variable>> {
    let object: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let fields = object.into_iter();
    Some(fields.map(|(name, json)| (name, Variable::of(json))).collect())
}

#[cfg(test)]
mod tests {
    use domain::bounds::JSON_DEPTH_MAX;

    use super::*;

    fn check(json: &str, path: &str, expected: Option<&str>) {
        let variables = Variables::parse(json).expect(json);
        assert_eq!(variables.text(path.split('.')), expected, "{path} of {json}");
    }

    #[test]
    fn texts_numbers_and_booleans_are_found_as_they_were_written() {
        let json = r#" {"a": {"text":"t\u00e9", "big" : 123456789012345678901234567890, "small":-1.50, "yes": true,
            "none":null, "list":["x"], "object":{}}, "a":{"last":"wins"}, "": "unnamed"} "#;
        check(json, "a.last", Some("wins"));
        check(json, "a.text", None);
        check(json, "", Some("unnamed"));
        let json = json.replace(r#", "a":{"last":"wins"}"#, "");
        for (path, expected) in [
            ("a.text", Some("té")),
            ("a.big", Some("123456789012345678901234567890")),
            ("a.small", Some("-1.50")),
            ("a.yes", Some("true")),
            ("a.none", None),
            ("a.list", None),
            ("a.list.0", None),
            ("a.object", None),
            ("a.text.more", None),
            ("a", None),
            ("b", None),
        ] {
            check(&json, path, expected);
        }
        check("", "a", None);
    }

    #[test]
    fn only_an_object_within_its_bounds_is_taken() {
        let refused = |json: &str| Variables::parse(json).err().map(|violation| violation.reason);
        for json in ["[]", "1", "null", "{", "{}{}", " "] {
            assert_eq!(refused(json), Some(ViolationReason::InvalidJson), "{json}");
        }
        let sized = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        assert_eq!(refused(&sized(VARIABLES_BYTES_MAX)), None);
        assert_eq!(refused(&sized(VARIABLES_BYTES_MAX + 1)), Some(ViolationReason::TooLong));
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        check(&nested(JSON_DEPTH_MAX), &vec!["a"; JSON_DEPTH_MAX].join("."), Some("1"));
        assert_eq!(refused(&nested(JSON_DEPTH_MAX + 1)), Some(ViolationReason::InvalidJson));
    }
}
