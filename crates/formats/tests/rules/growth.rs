//! A new turn only appends: successive contexts share their prefix, and nothing before a thought changes (A7).

use std::collections::BTreeMap;

use context::Transcript;
use domain::event::Role;
use formats::{Format, RenderOptions, render};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::reading;

/// The field of Anthropic's cache breakpoints, which may move.
const MARK: &str = "cache_control";

/// The changes of a rendering by its last turn that are not allowed.
pub(crate) fn changed(format: Format, transcript: &Transcript, options: &RenderOptions) -> Vec<String> {
    let longer = Transcript { closing: None, ..transcript.clone() };
    let mut shorter = longer.clone();
    if shorter.turns.pop().is_none() {
        return Vec::new();
    }
    let instructs = |role: Role| matches!(role, Role::System | Role::Developer);
    let leading = longer.turns.iter().all(|turn| instructs(turn.role));
    let (before, after) = (render(format, &shorter, options).body, render(format, &longer, options).body);
    let mut changed = changed_list(format, &reading::elements(format, &before), &reading::elements(format, &after));
    let other_fields = |body| -> BTreeMap<String, Value> {
        let mut fields = reading::fields(body);
        fields.remove(reading::list_field(format));
        fields.into_iter().map(|(name, raw)| (name, unmarked(raw))).collect()
    };
    if !leading && other_fields(&before) != other_fields(&after) {
        changed.push("fields beside the list changed".to_owned());
    }
    changed
}

fn changed_list(format: Format, before: &[&RawValue], after: &[&RawValue]) -> Vec<String> {
    let ends_in_filler = before.last().is_some_and(|element| is_filler_alone(&unmarked(element)));
    let kept = before.len() - usize::from(ends_in_filler);
    let before = before.get(..kept).unwrap_or_default();
    let same = |index: usize| {
        let (old, new) = (before.get(index), after.get(index));
        let texts = old.map(|raw| raw.get()) == new.map(|raw| raw.get());
        let marks = format == Format::Anthropic;
        texts || (marks && old.map(|raw| unmarked(raw)) == new.map(|raw| unmarked(raw)))
    };
    let Some((last, last_element)) = before.iter().enumerate().next_back() else {
        return Vec::new();
    };
    let mut changed: Vec<String> =
        (0..last).filter(|index| !same(*index)).map(|index| format!("element {index} changed")).collect();
    let new = after.get(last).map_or(Value::Null, |raw| unmarked(raw));
    if !same(last) && !has_grown(&unmarked(last_element), &new) {
        changed.push(format!("element {last}, the last, was not only added to"));
    }
    changed
}

/// Whether an element contains only the text that the format adds at the end of the list.
fn is_filler_alone(element: &Value) -> bool {
    matches!(blocks(element).as_slice(), [block] if is_filler(block))
}

/// Whether the new element starts with the blocks of the old one, without a filler at its end.
fn has_grown(old: &Value, new: &Value) -> bool {
    let (mut old_blocks, new_blocks) = (blocks(old), blocks(new));
    if old_blocks.last().is_some_and(is_filler) {
        old_blocks.pop();
    }
    old["role"] == new["role"] && new_blocks.starts_with(&old_blocks)
}

fn blocks(element: &Value) -> Vec<Value> {
    let list = |field: &str| element[field].as_array().cloned();
    let text = || element["content"].as_str().map(|text| vec![Value::String(text.to_owned())]);
    list("content").or_else(|| list("parts")).or_else(text).unwrap_or_else(|| vec![element.clone()])
}

/// Whether the format added the block. Texts of random transcripts contain a number in angle brackets; added texts do not.
fn is_filler(block: &Value) -> bool {
    let text = block.as_str().or_else(|| block["text"].as_str());
    text.is_some_and(|text| !text.contains('<'))
}

pub(crate) fn unmarked(raw: &RawValue) -> Value {
    let mut value = reading::value(raw);
    remove_marks(&mut value);
    value
}

fn remove_marks(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(remove_marks),
        Value::Object(fields) => {
            fields.remove(MARK);
            fields.values_mut().for_each(remove_marks);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
