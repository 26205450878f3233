//! Marks: what stands where something was kept back, and how it gets there.
//!
//! A document is looked through until nothing more is found in it, and a mark is never looked into: so redacting what was
//! redacted changes nothing, whatever the patterns are.

use std::ops::Range;

use domain::JsonText;
use tokens::count_text;

use crate::rules::{Rule, Rules};
use crate::{Counts, json, text};

/// How often a document is looked through; when there is more even then, it is kept back whole.
const PASSES_MAX: usize = 6;
/// Most bytes of a rule's name.
const NAME_BYTES_MAX: usize = 16;
/// By how many tokens the texts before and after a place weigh more than as parts of one text, at most: a token that reaches
/// over the edge of a secret comes apart, and so does one that would reach over the edge of a mark.
const EDGES_TOKENS: i64 = 4;
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

/// The text with marks; `None`: it holds no secret. A text that is a JSON document stays one.
pub fn redact_text(text: &str, rules: &Rules, found: &mut Counts) -> Option<String> {
    let like_json = text.trim_start().starts_with(['{', '[']);
    let suspect = rules.suspect(text) || (like_json && json::hides(text));
    if !suspect {
        return None;
    }
    if like_json && JsonText::parse(text).is_ok() {
        return marked(text, Form::Quoted, found, |text| json::hits(text, rules));
    }
    marked(text, Form::Bare, found, |text| text::hits(text, rules))
}

/// The JSON document with marks, still a JSON document; `None`: it holds no secret.
pub fn redact_json(document: &str, rules: &Rules, found: &mut Counts) -> Option<String> {
    if !rules.suspect(document) && !json::hides(document) {
        return None;
    }
    marked(document, Form::Quoted, found, |text| {
        json::hits(text, rules)
    })
}

fn marked(
    document: &str,
    whole: Form,
    found: &mut Counts,
    hits_of: impl Fn(&str) -> Vec<Hit>,
) -> Option<String> {
    let mut hits = apart(hits_of(document));
    if hits.is_empty() {
        return None;
    }
    let mut redacted = document.to_owned();
    for _ in 0..PASSES_MAX {
        for hit in &hits {
            let secret = redacted.get(hit.span.clone()).unwrap_or_default();
            found.count(hit.rule, added(secret, &mark(hit.rule, hit.form)));
        }
        redacted = spliced(&redacted, &hits);
        hits = apart(hits_of(&redacted));
        if hits.is_empty() {
            return Some(redacted);
        }
    }
    let rule = hits.first().map_or(Rule::Pattern, |hit| hit.rule);
    let whole = mark(rule, whole);
    found.count(rule, added("", &whole));
    Some(whole)
}

/// By how many tokens a text grows, at most, when a mark takes a secret's place in it; less than nothing where it shrinks.
fn added(secret: &str, mark: &str) -> i64 {
    EDGES_TOKENS + i64::from(count_text(mark)) - i64::from(count_text(secret))
}

/// The hits in order, those that overlap as one by the name of the first.
fn apart(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.span.start, usize::MAX - hit.span.end, hit.rule));
    let mut apart: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match apart.last_mut() {
            Some(last) if hit.span.start < last.span.end => {
                last.span.end = last.span.end.max(hit.span.end);
            }
            _ => apart.push(hit),
        }
    }
    apart
}

fn spliced(text: &str, hits: &[Hit]) -> String {
    let (mut result, mut at) = (String::with_capacity(text.len()), 0);
    for hit in hits {
        result.push_str(text.get(at..hit.span.start).unwrap_or_default());
        result.push_str(&mark(hit.rule, hit.form));
        at = hit.span.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

fn mark(rule: Rule, form: Form) -> String {
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
