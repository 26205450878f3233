//! One setting from one source, and its check against the type of the configuration.
//!
//! serde stops at the first error. Each setting is therefore deserialized alone, together with the defaults.

use figment::error::Kind;
use figment::value::{Dict, Value};
use serde::de::DeserializeOwned;

use super::error::{ErrorKind, Origin};

/// Maximum edit distance of a suggested key.
const SUGGESTION_EDITS_MAX: usize = 3;

pub(super) struct Leaf {
    pub(super) path: Vec<String>,
    pub(super) origin: Origin,
    /// Possible values, tried in order: an environment variable may be a text or a literal.
    pub(super) candidates: Vec<Value>,
}

impl Leaf {
    pub(super) fn key(&self) -> String {
        self.path.join(".")
    }

    /// The first candidate that `T` accepts at this path; all other settings have their defaults.
    pub(super) fn accepted<T: DeserializeOwned>(&self, defaults: &Value) -> Result<Value, ErrorKind> {
        let mut last = ErrorKind::Invalid("has no value; give it one".to_owned());
        for candidate in &self.candidates {
            let mut tree = defaults.clone();
            set(&mut tree, &self.path, candidate.clone());
            match tree.deserialize::<T>() {
                Ok(_) => return Ok(candidate.clone()),
                Err(error) => last = explain(candidate, error.kind),
            }
        }
        Err(last)
    }
}

pub(super) fn set(tree: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *tree = value;
        return;
    };
    if !matches!(tree, Value::Dict(..)) {
        *tree = Dict::new().into();
    }
    if let Value::Dict(_, dict) = tree {
        set(dict.entry(first.clone()).or_insert_with(|| Dict::new().into()), rest, value);
    }
}

/// Checks that the defaults have a setting at `path`. An empty map in the defaults accepts any key.
///
/// # Errors
/// [`ErrorKind::UnknownKey`] with a suggestion.
pub(super) fn check_known(defaults: &Value, path: &[String]) -> Result<(), ErrorKind> {
    let mut here = defaults;
    for name in path {
        let Value::Dict(_, dict) = here else {
            return Ok(());
        };
        if dict.is_empty() {
            return Ok(());
        }
        here = dict.get(name).ok_or_else(|| ErrorKind::UnknownKey(suggest(name, dict)))?;
    }
    Ok(())
}

fn suggest(name: &str, known: &Dict) -> String {
    let nearest = known
        .keys()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(edits, _)| *edits <= SUGGESTION_EDITS_MAX);
    if let Some((_, candidate)) = nearest {
        return format!("did you mean `{candidate}`?");
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    format!("remove it, or use one of: {}", names.join(", "))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other kinds contain the value, which may be secret")]
fn explain(candidate: &Value, kind: Kind) -> ErrorKind {
    match kind {
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) | Kind::InvalidLength(_, expected) => {
            ErrorKind::WrongType { found: type_name(candidate), expected: with_range(expected) }
        }
        Kind::UnknownField(name, allowed) => {
            ErrorKind::Invalid(format!("has no `{name}`; use one of: {}", allowed.join(", ")))
        }
        Kind::UnknownVariant(_, allowed) => {
            ErrorKind::WrongType { found: "an unknown word", expected: format!("one of {allowed:?}") }
        }
        Kind::Message(reason) => ErrorKind::Invalid(format!("is invalid: {reason}; correct it")),
        Kind::MissingField(name) => ErrorKind::Invalid(format!("needs `{name}`; add it")),
        _ => ErrorKind::WrongType { found: type_name(candidate), expected: "a value of another type".to_owned() },
    }
}

/// Replaces the name of a Rust integer by its range.
fn with_range(expected: String) -> String {
    let max = match expected.as_str() {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" => u64::MAX,
        _ => return expected,
    };
    format!("a whole number from 0 to {max}")
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(..) | Value::Char(..) => "a text",
        Value::Bool(..) => "a boolean",
        Value::Num(..) => "a number",
        Value::Empty(..) => "empty",
        Value::Dict(..) => "a section",
        Value::Array(..) => "a list",
    }
}
