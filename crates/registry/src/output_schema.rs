//! The JSON Schema that an agent's answers must match. A tenant writes it and a model writes the answers, so both are bounded: the
//! schema after its references are followed, its patterns when they are compiled, and the product of schema and answer.

mod patterns;

use std::collections::HashMap;

use boon::{Compiler, SchemaIndex, Schemas, SchemeUrlLoader};
use domain::{JsonText, Violation, ViolationReason};
use serde_json::{Value, json};
use wire::proto::operate::v1::AgentSettings;

pub use patterns::{SCHEMA_PATTERN_CHARS_MAX, SCHEMA_PATTERNS_BYTES_MAX, SCHEMA_PATTERNS_MAX};

/// Maximum bytes of the JSON Schema of answers.
pub const OUTPUT_SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// Maximum number of JSON values of a schema in which every reference is replaced by what it refers to.
pub const SCHEMA_NODES_MAX: u64 = 10_000;
/// Maximum steps of checking an answer: the JSON values of the schema times those of the answer, and the bytes of its compiled patterns
/// times those of the answer divided by `PATTERN_BYTES_PER_STEP`. A step takes at most a tenth of a microsecond.
pub const ANSWER_STEPS_MAX: u64 = 50_000_000;
/// A pattern reads a byte of an answer in a step for each of so many of its own bytes, at worst.
const PATTERN_BYTES_PER_STEP: u64 = 800;
/// Bytes of memory for each JSON value of a schema.
const NODE_BYTES: u64 = 1_024;
/// Most bytes of memory that a pattern takes when it reads an answer: its lazy automata, in both directions.
const PATTERN_BYTES: u64 = 4 * 1024 * 1024;

/// The base of references; nothing is read from it.
const LOCATION: &str = "https://hansard.invalid/answer";
/// The schema that an answer must not match: the negation of the other.
const NEGATION: &str = "https://hansard.invalid/no-answer";
/// Keywords that change what references refer to.
const REJECTED_KEYWORDS: [&str; 6] =
    ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"];

/// A JSON Schema of answers, compiled.
pub struct OutputSchema {
    schemas: Schemas,
    negation: SchemaIndex,
    weight: Weight,
}

impl OutputSchema {
    /// The schema of an agent's settings, not checked; `None`: answers are any text.
    ///
    /// # Errors
    /// It is no JSON object, or too large.
    pub fn text_of(settings: &AgentSettings) -> Result<Option<JsonText>, Violation> {
        let text = settings.output_schema_json.as_str();
        let parsed = (!text.is_empty()).then(|| JsonText::parse_metadata(text, OUTPUT_SCHEMA_BYTES_MAX));
        parsed.transpose()
    }

    /// Compiles a schema. This takes up to a second.
    ///
    /// # Errors
    /// It is not a JSON Schema, too large, recursive, or refers to another document.
    pub fn compile(text: &JsonText) -> Result<Self, Violation> {
        let schema: Value = serde_json::from_str(text.as_str()).map_err(|_| not_a_schema())?;
        let weight = Walk { root: &schema, weights: HashMap::new() }.weight(&schema)?;
        if weight.nodes > SCHEMA_NODES_MAX {
            let rule = format!(
                "has {} values after its references are followed: at most {SCHEMA_NODES_MAX} are accepted",
                weight.nodes
            );
            return Err(Violation::new(ViolationReason::OutOfRange, rule));
        }
        patterns::check(weight.patterns)?;
        let (schemas, negation) = compile(schema).ok_or_else(not_a_schema)?;
        Ok(Self { schemas, negation, weight })
    }

    /// Bytes of memory that it takes, at most.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.weight.nodes * NODE_BYTES + self.weight.patterns.count * PATTERN_BYTES
    }

    /// Whether a text is JSON that matches the schema, and takes at most [`ANSWER_STEPS_MAX`] to check.
    #[must_use]
    pub fn accepts(&self, text: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return false;
        };
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let of_values = self.weight.nodes.saturating_mul(values(&value));
        let of_patterns = self.weight.patterns.bytes.saturating_mul(bytes) / PATTERN_BYTES_PER_STEP;
        let steps = of_values.saturating_add(of_patterns);
        steps <= ANSWER_STEPS_MAX && self.schemas.validate(&value, self.negation).is_err()
    }
}

/// The number of values in a document.
fn values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(values).sum::<u64>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// Compiles the negation of a schema: inside `not`, a check ends at the first error and collects none. Patterns run in linear time,
/// and no document is loaded from anywhere.
fn compile(schema: Value) -> Option<(Schemas, SchemaIndex)> {
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(SchemeUrlLoader::new()));
    compiler.add_resource(LOCATION, schema).ok()?;
    compiler.add_resource(NEGATION, json!({ "not": { "$ref": LOCATION } })).ok()?;
    let mut schemas = Schemas::new();
    let negation = compiler.compile(NEGATION, &mut schemas).ok()?;
    Some((schemas, negation))
}

/// What a schema costs, after its references are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Weight {
    /// JSON values.
    nodes: u64,
    patterns: patterns::Weight,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.nodes = self.nodes.saturating_add(other.nodes);
        self.patterns.add(other.patterns);
    }
}

/// Weighs a schema.
struct Walk<'a> {
    root: &'a Value,
    /// By reference; `None` while the reference is followed.
    weights: HashMap<&'a str, Option<Weight>>,
}

impl<'a> Walk<'a> {
    fn weight(&mut self, value: &'a Value) -> Result<Weight, Violation> {
        let mut sum = Weight { nodes: 1, ..Weight::default() };
        match value {
            Value::Array(items) => {
                for item in items {
                    sum.add(self.weight(item)?);
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
                    sum.add(weight);
                    sum.patterns.add(patterns::of_member(name, member)?);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        Ok(sum)
    }

    fn referred(&mut self, reference: &'a str) -> Result<Weight, Violation> {
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
        let settings = AgentSettings { output_schema_json: schema.to_owned(), ..AgentSettings::default() };
        OutputSchema::text_of(&settings)?.as_ref().map(OutputSchema::compile).transpose()
    }

    fn reason(schema: &str) -> Option<ViolationReason> {
        of(schema).err().map(|violation| violation.reason)
    }

    #[test]
    fn answers_match_or_do_not() {
        let schema = of(SCHEMA).unwrap().unwrap();
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
        assert!(of("").unwrap().is_none());
    }

    #[test]
    fn schemas_that_cannot_be_checked_are_rejected() {
        let check = |schema: &str, expected: ViolationReason| {
            assert_eq!(reason(schema), Some(expected), "{schema}");
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
        assert_eq!(reason(&padded(OUTPUT_SCHEMA_BYTES_MAX + 1)), Some(ViolationReason::TooLong));
        // The root, the list, and its items.
        let items = |count: u64| {
            let items: Vec<String> = (0..count - 2).map(|item| item.to_string()).collect();
            format!(r#"{{"enum": [{}]}}"#, items.join(","))
        };
        assert!(of(&items(SCHEMA_NODES_MAX)).is_ok());
        assert_eq!(reason(&items(SCHEMA_NODES_MAX + 1)), Some(ViolationReason::OutOfRange));
        // References that double 60 times.
        let doubled: Vec<String> = (0..60)
            .map(|level| {
                let next = level + 1;
                format!(r##""{level}": {{"allOf": [{{"$ref": "#/$defs/{next}"}}, {{"$ref": "#/$defs/{next}"}}]}}"##)
            })
            .chain([r#""60": {}"#.to_owned()])
            .collect();
        let doubled = format!(r##"{{"$ref": "#/$defs/0", "$defs": {{{}}}}}"##, doubled.join(","));
        assert_eq!(reason(&doubled), Some(ViolationReason::OutOfRange));
    }
    /// The first took gigabytes and a minute when it was compiled.
    #[test]
    fn patterns_at_their_bounds() {
        let properties = |count: usize, pattern: &str| {
            let members = (0..count).map(|index| (format!("p{index}"), json!({ "pattern": pattern })));
            json!({ "properties": Value::Object(members.collect()) }).to_string()
        };
        let check =
            |schema: String, expected: Option<ViolationReason>| assert_eq!(reason(&schema), expected, "{schema}");
        check(properties(200, r"\pL{200}N"), Some(ViolationReason::OutOfRange));
        check(properties(1, r"\pL{200}N"), Some(ViolationReason::OutOfRange));
        check(properties(32, r"^[A-Z]\d{3}\.\w+$"), None);
        check(properties(33, r"^[A-Z]\d{3}\.\w+$"), Some(ViolationReason::OutOfRange));
        check(properties(1, &"a".repeat(1_024)), None);
        check(properties(1, &"a".repeat(1_025)), Some(ViolationReason::OutOfRange));
        check(properties(4, r"\pL{4}"), None);
        check(properties(5, r"\pL{4}"), Some(ViolationReason::OutOfRange));
        let keys: Vec<String> = (0..33).map(|index| format!(r#""^k{index}":{{}}"#)).collect();
        check(format!(r#"{{"patternProperties":{{{}}}}}"#, keys.join(",")), Some(ViolationReason::OutOfRange));
        // A pattern that references repeat is matched as often.
        let repeated = vec![r##"{"$ref":"#/$defs/p"}"##; 33].join(",");
        check(
            format!(r#"{{"allOf":[{repeated}],"$defs":{{"p":{{"pattern":"a"}}}}}}"#),
            Some(ViolationReason::OutOfRange),
        );
        // Not a pattern.
        check(r#"{"properties":{"pattern":{"type":"string"}},"const":{"pattern":"("}}"#.to_owned(), None);
    }

    #[test]
    fn answers_that_take_too_long_are_not_accepted() {
        let all: Vec<String> =
            (0..1_000).map(|number| format!(r#"{{"items":{{"not":{{"const":"{number}"}}}}}}"#)).collect();
        let schema = of(&format!(r#"{{"allOf":[{}]}}"#, all.join(","))).unwrap().unwrap();
        let answer = |items: usize| format!("[{}]", vec!["0"; items].join(","));
        let items = usize::try_from(ANSWER_STEPS_MAX / schema.weight.nodes).unwrap() - 1;
        assert!(schema.accepts(&answer(items)));
        assert!(!schema.accepts(&answer(items + 1)));
        let schema = of(r#"{"items":{"pattern":"^[ab]*a[ab]{400}"}}"#).unwrap().unwrap();
        let bytes = usize::try_from(ANSWER_STEPS_MAX * PATTERN_BYTES_PER_STEP / schema.weight.patterns.bytes).unwrap();
        assert!(schema.accepts(&format!(r#"["{}"]"#, "a".repeat(bytes / 2))));
        assert!(!schema.accepts(&format!(r#"["{}"]"#, "a".repeat(bytes + 1_000))));
    }
}
