//! Redacts texts and JSON documents.
//!
//! A document is searched until nothing more is found, and marks are not searched. So redacting a redacted document changes
//! nothing, with any patterns.

use domain::JsonText;
use tokens::count_text;

use crate::mark::{Form, Hit, mark};
use crate::redactor::Redactor;
use crate::rule::Rule;
use crate::{Counts, json, text};

/// Maximum number of searches of a document. If the last one still finds secrets, a mark replaces the whole document.
const PASSES_MAX: usize = 6;
/// Maximum number of tokens that a split adds: a token across the edge of a secret, or of a mark, becomes two.
const EDGES_TOKENS: i64 = 4;

/// The text with marks; `None` if it contains no secret. A JSON document remains a JSON document.
pub fn redact_text(text: &str, redactor: &Redactor<'_>, found: &mut Counts) -> Option<String> {
    let like_json = text.trim_start().starts_with(['{', '[']);
    if like_json && redactor.rules.may_match_json(text) && JsonText::parse(text).is_ok() {
        return redact_passes(text, Form::Quoted, found, |text| json::hits(text, redactor));
    }
    if !redactor.rules.may_match(text) {
        return None;
    }
    redact_passes(text, Form::Bare, found, |text| text::hits(text, redactor))
}

/// The JSON document with marks, still a JSON document; `None` if it contains no secret.
pub fn redact_json(document: &str, redactor: &Redactor<'_>, found: &mut Counts) -> Option<String> {
    if !redactor.rules.may_match_json(document) {
        return None;
    }
    redact_passes(document, Form::Quoted, found, |text| json::hits(text, redactor))
}

fn redact_passes(document: &str, whole: Form, found: &mut Counts, find: impl Fn(&str) -> Vec<Hit>) -> Option<String> {
    let mut hits = merge_overlaps(find(document));
    if hits.is_empty() {
        return None;
    }
    let mut redacted = document.to_owned();
    for _ in 0..PASSES_MAX {
        for hit in &hits {
            let secret = redacted.get(hit.span.clone()).unwrap_or_default();
            found.count(hit.rule, tokens_added(secret, &mark(hit.rule, hit.form)));
        }
        redacted = insert_marks(&redacted, &hits);
        hits = merge_overlaps(find(&redacted));
        if hits.is_empty() {
            return Some(redacted);
        }
    }
    let rule = hits.first().map_or(Rule::Pattern, |hit| hit.rule);
    let whole = mark(rule, whole);
    found.count(rule, tokens_added("", &whole));
    Some(whole)
}

/// Upper bound of the tokens that a text gains when the mark replaces the secret. May be negative.
fn tokens_added(secret: &str, mark: &str) -> i64 {
    EDGES_TOKENS + i64::from(count_text(mark)) - i64::from(count_text(secret))
}

/// The hits in order. Hits that overlap become one, with the rule of the first.
fn merge_overlaps(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.span.start, usize::MAX - hit.span.end, hit.rule));
    let mut merged: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match merged.last_mut() {
            Some(last) if hit.span.start < last.span.end => {
                last.span.end = last.span.end.max(hit.span.end);
            }
            _ => merged.push(hit),
        }
    }
    merged
}

fn insert_marks(text: &str, hits: &[Hit]) -> String {
    let (mut result, mut at) = (String::with_capacity(text.len()), 0);
    for hit in hits {
        result.push_str(text.get(at..hit.span.start).unwrap_or_default());
        result.push_str(&mark(hit.rule, hit.form));
        at = hit.span.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}
