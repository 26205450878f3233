//! The JSON Schema that an agent's answers must match. A schema is bounded, also after its references are followed, so that
//! a check ends soon.

use std::collections::HashMap;

use boon::{Compiler, SchemaIndex, Schemas, SchemeUrlLoader};
use domain::{JsonText, Violation, ViolationReason};
use serde_json::Value;
use wire::proto::operate::v1::AgentSettings;

/// Maximum bytes of the JSON Schema of answers.
pub const OUTPUT_SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of JSON values of a schema in which every reference is replaced by what it refers to.
pub const SCHEMA_NODES_MAX: u64 = 10_000;

/// The base of references; nothing is read from it.
const LOCATION: &str = "https://hansard.invalid/answer";
/// Keywords that change what references refer to.
const REJECTED_KEYWORDS: [&str; 6] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

/// A JSON Schema of answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSchema(JsonText);

impl OutputSchema {
    /// The schema of an agent's settings; `None`: answers are any text.
    ///
    /// # Errors
    /// It is not a JSON object, not a JSON Schema, too large, recursive, or refers to another document.
    pub fn of(settings: &AgentSettings) -> Result<Option<Self>, Violation> {
        let text = settings.output_schema_json.as_str();
        if text.is_empty() {
            return Ok(None);
        }
        let text = JsonText::parse_metadata(text, OUTPUT_SCHEMA_BYTES_MAX)?;
        let schema: Value = serde_json::from_str(text.as_str()).map_err(|_| not_a_schema())?;
        let mut walk = Walk { root: &schema, weights: HashMap::new() };
        let nodes = walk.weight(&schema)?;
        if nodes > SCHEMA_NODES_MAX {
            let rule = format!(
                "has {nodes} values after its references are followed: at most {SCHEMA_NODES_MAX} are accepted"
            );
            return Err(Violation::new(ViolationReason::OutOfRange, rule));
        }
        compile(schema).ok_or_else(not_a_schema)?;
        Ok(Some(Self(text)))
    }

    /// The schema, byte for byte.
    #[must_use]
    pub fn text(&self) -> &JsonText {
        &self.0
    }

    /// Whether a text is JSON that matches the schema.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        let schema = serde_json::from_str(self.0.as_str()).ok();
        let compiled = schema.and_then(compile);
        let value: Option<Value> = serde_json::from_str(text).ok();
        compiled.zip(value).is_some_and(|((schemas, index), value)| schemas.validate(&value, index).is_ok())
    }
}

/// Patterns run in linear time, and no document is loaded from anywhere.
fn compile(schema: Value) -> Option<(Schemas, SchemaIndex)> {
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(SchemeUrlLoader::new()));
    compiler.add_resource(LOCATION, schema).ok()?;
    let mut schemas = Schemas::new();
    let index = compiler.compile(LOCATION, &mut schemas).ok()?;
    Some((schemas, index))
}

/// Counts the values of a schema.
struct Walk<'a> {
    root: &'a Value,
    /// By reference; `None` while the reference is followed.
    weights: HashMap<&'a str, Option<u64>>,
}

impl<'a> Walk<'a> {
    fn weight(&mut self, value: &'a Value) -> Result<u64, Violation> {
        let mut sum: u64 = 1;
        match value {
            Value::Array(items) => {
                for item in items {
                    sum = sum.saturating_add(self.weight(item)?);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let weight = match (name.as_str(), member) {
                        ("$ref", Value::String(reference)) => self.referred(reference)?,
                        _ if REJECTED_KEYWORDS.contains(&name.as_str()) => {
                            return Err(malformed("contains $id, an anchor or a dynamic reference: use $ref with #/…"));
                        }
                        _ => self.weight(member)?,
                    };
                    sum = sum.saturating_add(weight);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(sum)
    }

    fn referred(&mut self, reference: &'a str) -> Result<u64, Violation> {
        match self.weights.get(reference) {
            Some(Some(weight)) => return Ok(*weight),
            Some(None) => return Err(recursive()),
            None => {}
        }
        let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
        let target = pointer
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| malformed("has a $ref to what it does not contain: use #/ and a path"))?;
        if std::ptr::eq(target, self.root) {
            return Err(recursive());
        }
        self.weights.insert(reference, None);
        let weight = self.weight(target)?;
        self.weights.insert(reference, Some(weight));
        Ok(weight)
    }
}

fn recursive() -> Violation {
    malformed("is recursive: write out the levels that answers may have")
}

fn not_a_schema() -> Violation {
    malformed("is not a JSON Schema: check its keywords and patterns")
}

fn malformed(rule: &str) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"],
        "additionalProperties": false, "$defs": {"n": {"type": "integer", "minimum": 0}}}"##;

    fn of(schema: &str) -> Result<Option<OutputSchema>, Violation> {
        OutputSchema::of(&AgentSettings { output_schema_json: schema.to_owned(), ..AgentSettings::default() })
    }

    #[test]
    fn answers_match_or_do_not() {
        let schema = of(SCHEMA).unwrap().unwrap();
        assert_eq!(schema.text().as_str(), SCHEMA);
        for (text, expected) in [
            (r#" {"n": 1} "#, true),
            (r#"{"n": -1}"#, false),
            (r#"{"n": 1, "m": 1}"#, false),
            (r#"{"n": 1"#, false),
            (r#"{"n": 1} and more"#, false),
            ("", false),
        ] {
            assert_eq!(schema.accepts(text), expected, "{text}");
        }
        assert_eq!(of("").unwrap(), None);
    }

    #[test]
    fn schemas_that_cannot_be_checked_are_rejected() {
        let check = |schema: &str, expected: ViolationReason| {
            assert_eq!(of(schema).unwrap_err().reason, expected, "{schema}");
        };
        check("[]", ViolationReason::InvalidJson);
        for schema in [
            r#"{"type": "text"}"#,
            r#"{"pattern": "("}"#,
            r#"{"pattern": "(?=a)b"}"#,
            r##"{"$ref": "#"}"##,
            r##"{"properties": {"a": {"$ref": "#/properties/a"}}}"##,
            r##"{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"items": {"$ref": "#/$defs/a"}}}}"##,
            r##"{"$ref": "#/$defs/none"}"##,
            r##"{"$id": "x", "$ref": "#/$defs/a", "$defs": {"a": {}}}"##,
            r#"{"$ref": "https://json-schema.org/draft/2020-12/schema"}"#,
            r##"{"$dynamicRef": "#a"}"##,
            r#"{"$schema": "file:///schema.json"}"#,
        ] {
            check(schema, ViolationReason::Malformed);
        }
    }

    #[test]
    fn sizes_at_their_bounds() {
        let padded = |bytes: usize| format!("{{}}{}", " ".repeat(bytes - 2));
        assert!(of(&padded(OUTPUT_SCHEMA_BYTES_MAX)).is_ok());
        let reason = of(&padded(OUTPUT_SCHEMA_BYTES_MAX + 1)).unwrap_err().reason;
        assert_eq!(reason, ViolationReason::TooLong);
        // The root, the list, and its items.
        let items = |count: u64| {
            let items: Vec<String> = (0..count - 2).map(|item| item.to_string()).collect();
            format!(r#"{{"enum": [{}]}}"#, items.join(","))
        };
        assert!(of(&items(SCHEMA_NODES_MAX)).is_ok());
        let reason = of(&items(SCHEMA_NODES_MAX + 1)).unwrap_err().reason;
        assert_eq!(reason, ViolationReason::OutOfRange);
        // References that double 60 times.
        let doubled: Vec<String> = (0..60)
            .map(|level| {
                let next = level + 1;
                format!(r##""{level}": {{"allOf": [{{"$ref": "#/$defs/{next}"}}, {{"$ref": "#/$defs/{next}"}}]}}"##)
            })
            .chain([r#""60": {}"#.to_owned()])
            .collect();
        let doubled = format!(r##"{{"$ref": "#/$defs/0", "$defs": {{{}}}}}"##, doubled.join(","));
        assert_eq!(of(&doubled).unwrap_err().reason, ViolationReason::OutOfRange);
    }
}
