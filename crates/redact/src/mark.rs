//! Marks, which replace secrets: `[redacted:<rule>]`.

use std::ops::Range;

use crate::rule::Rule;

/// Maximum bytes of the name of a rule.
const NAME_BYTES_MAX: usize = 16;
const START: &str = "[redacted:";

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Its range in bytes; not empty.
    pub(crate) span: Range<usize>,
    /// The rule that found it.
    pub(crate) rule: Rule,
    /// How its mark is written.
    pub(crate) form: Form,
}

/// How a mark is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Without quotes.
    Bare,
    /// As a JSON string, which replaces a JSON value.
    Quoted,
}

/// The text of a mark.
pub(crate) fn mark(rule: Rule, form: Form) -> String {
    match form {
        Form::Bare => format!("{START}{rule}]"),
        Form::Quoted => format!("\"{START}{rule}]\""),
    }
}

/// The ranges of the marks in a text, in order. A mark contains the name of a rule.
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
    Rule::from_name(name)?;
    Some(START.len() + name.len() + 1)
}
