//! JSON objects whose values stay verbatim.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The members of an object, each verbatim.
pub(super) type Members = BTreeMap<String, Box<RawValue>>;

/// Adds a member.
pub(super) fn put(members: &mut Members, name: &str, value: &(impl Serialize + ?Sized)) -> serde_json::Result<()> {
    members.insert(name.to_owned(), to_raw_value(value)?);
    Ok(())
}

/// The text of a member; `None`: it is absent or not a string.
pub(super) fn text(members: &Members, name: &str) -> Option<String> {
    let raw = members.get(name)?;
    serde_json::from_str(raw.get()).ok()
}

/// The given members that the rendered object lacks or has otherwise. A `null` does not replace a rendered value.
pub(super) fn extras(given: &Members, rendered: &Members, without: &[&str]) -> Members {
    let kept = given.iter().filter(|(name, value)| {
        if without.contains(&name.as_str()) {
            return false;
        }
        match rendered.get(*name) {
            Some(rendered) => value.get() != "null" && !is_same(value, rendered),
            None => true,
        }
    });
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether two documents have the same value. Numbers outside the range of `f64` are only the same if their texts are.
fn is_same(one: &RawValue, other: &RawValue) -> bool {
    if one.get() == other.get() {
        return true;
    }
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).ok();
    matches!((value(one), value(other)), (Some(one), Some(other)) if one == other)
}
