//! One setting from one source, and whether it fits the shape of the configuration.
//!
//! serde stops at the first error, so each setting is tried alone upon the defaults.

use figment::error::Kind;
use figment::value::{Dict, Value};
use serde::de::DeserializeOwned;

use super::error::{Fault, Origin};

/// The largest edit distance at which another key is suggested.
const SUGGESTION_EDITS_MAX: usize = 3;

/// A setting as a source holds it.
pub(super) struct Leaf {
    pub(super) path: Vec<String>,
    pub(super) origin: Origin,
    /// The ways to read it, tried in order: an environment variable may be text or a literal.
    pub(super) candidates: Vec<Value>,
}

impl Leaf {
    pub(super) fn key(&self) -> String {
        self.path.join(".")
    }

    /// The first candidate that `T` takes at this path, every other setting being a default.
    pub(super) fn fit<T: DeserializeOwned>(&self, defaults: &Value) -> Result<Value, Fault> {
        let mut fault = Fault::Invalid("has no value; give it one".to_owned());
        for candidate in &self.candidates {
            let mut tree = defaults.clone();
            set(&mut tree, &self.path, candidate.clone());
            match tree.deserialize::<T>() {
                Ok(_) => return Ok(candidate.clone()),
                Err(error) => fault = explain(candidate, error.kind),
            }
        }
        Err(fault)
    }
}

/// Puts `value` at `path`, replacing what is there.
pub(super) fn set(tree: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *tree = value;
        return;
    };
    if !matches!(tree, Value::Dict(..)) {
        *tree = Dict::new().into();
    }
    if let Value::Dict(_, dict) = tree {
        set(
            dict.entry(first.clone())
                .or_insert_with(|| Dict::new().into()),
            rest,
            value,
        );
    }
}

/// Looks `path` up in the defaults; stops early where the defaults accept any value.
///
/// # Errors
/// The unknown key with its path, and the nearest known name.
pub(super) fn known(defaults: &Value, path: &[String]) -> Result<(), Fault> {
    let mut here = defaults;
    for name in path {
        let Value::Dict(_, dict) = here else {
            return Ok(());
        };
        if dict.is_empty() {
            return Ok(());
        }
        here = dict
            .get(name)
            .ok_or_else(|| Fault::UnknownKey(suggest(name, dict)))?;
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

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the other kinds quote the value, which may be secret"
)]
fn explain(candidate: &Value, kind: Kind) -> Fault {
    match kind {
        Kind::InvalidType(_, expected)
        | Kind::InvalidValue(_, expected)
        | Kind::InvalidLength(_, expected) => Fault::WrongType {
            found: kind_of(candidate),
            expected: in_words(expected),
        },
        Kind::UnknownField(name, allowed) => Fault::Invalid(format!(
            "has no `{name}`; use one of: {}",
            allowed.join(", ")
        )),
        Kind::UnknownVariant(_, allowed) => Fault::WrongType {
            found: "another word",
            expected: format!("one of {allowed:?}"),
        },
        Kind::Message(reason) => Fault::Invalid(format!("is refused: {reason}; correct it")),
        Kind::MissingField(name) => Fault::Invalid(format!("lacks `{name}`; add it")),
        _ => Fault::WrongType {
            found: kind_of(candidate),
            expected: "another kind of value".to_owned(),
        },
    }
}

/// Names the range where serde names a Rust type.
fn in_words(expected: String) -> String {
    let most = match expected.as_str() {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        "u64" | "usize" => u64::MAX,
        _ => return expected,
    };
    format!("a whole number from 0 to {most}")
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::String(..) | Value::Char(..) => "a text",
        Value::Bool(..) => "a boolean",
        Value::Num(..) => "another number",
        Value::Empty(..) => "nothing",
        Value::Dict(..) => "a section",
        Value::Array(..) => "a list",
    }
}
