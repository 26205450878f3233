//! Redacts texts and JSON documents.
//!
//! A document is looked through until nothing more is found in it, and a mark is never looked into: so redacting what was
//! redacted changes nothing, whatever the patterns are.

use domain::JsonText;
use tokens::count_text;

use crate::mark::{Form, Hit, mark};
use crate::rule::Rule;
use crate::rules::Rules;
use crate::{Counts, json, text};

/// How often a document is looked through; when there is more even then, it is kept back whole.
const PASSES_MAX: usize = 6;
/// By how many tokens the texts before and after a place weigh more than as parts of one text, at most: a token that reaches
/// over the edge of a secret comes apart, and so does one that would reach over the edge of a mark.
const EDGES_TOKENS: i64 = 4;

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
