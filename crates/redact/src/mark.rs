//! Marks: what stands where something was kept back.

use std::ops::Range;

use crate::rule::Rule;

/// Most bytes of a rule's name.
const NAME_BYTES_MAX: usize = 16;
const START: &str = "[redacted:";

/// Something to keep back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Where it stands, in bytes; not empty.
    pub(crate) span: Range<usize>,
    /// By which rule.
    pub(crate) rule: Rule,
    /// What stands in its place.
    pub(crate) form: Form,
}

/// How a mark is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Bare,
    /// As a JSON string, in the place of a JSON value.
    Quoted,
}

/// A mark as it is written.
pub(crate) fn mark(rule: Rule, form: Form) -> String {
    match form {
        Form::Bare => format!("{START}{rule}]"),
        Form::Quoted => format!("\"{START}{rule}]\""),
    }
}

/// Where marks stand in a text, in order. What only looks like one is none: its name must be that of a rule.
pub(crate) fn marks(text: &str) -> Vec<Range<usize>> {
    let starts = text.match_indices(START);
    let marks = starts.filter_map(|(start, _)| {
        let length = mark_length(text.get(start..)?)?;
        Some(start..start + length)
    });
    marks.collect()
}

/// The length of the mark that a text starts with.
pub(crate) fn mark_length(text: &str) -> Option<usize> {
    let named = text.strip_prefix(START)?;
    let near = named.get(..named.floor_char_boundary(NAME_BYTES_MAX + 1))?;
    let (name, _) = near.split_once(']')?;
    Rule::named(name)?;
    Some(START.len() + name.len() + 1)
}
