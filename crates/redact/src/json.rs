//! Finds secrets in JSON documents: the values of secret keys, and secrets inside strings.

use std::ops::Range;

use domain::json_string::decode;

use crate::keys::ValueKinds;
use crate::mark::{Form, Hit, mark_length};
use crate::redactor::Redactor;
use crate::rule::Rule;
use crate::{card, text};

/// The secrets in order. For a text that is not a JSON document the result is a best effort.
pub(crate) fn hits(document: &str, redactor: &Redactor<'_>) -> Vec<Hit> {
    let (mut found, mut at) = (Vec::new(), 0);
    let bytes = document.as_bytes();
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => find_in_string(document, at, redactor, &mut found),
            b'-' | b'0'..=b'9' => find_in_number(document, at, redactor, &mut found),
            _ => at + 1,
        };
    }
    found
}

/// Searches the string at `start`, and its value if the string is the key of a secret. Returns where the search continues.
fn find_in_string(document: &str, start: usize, redactor: &Redactor<'_>, found: &mut Vec<Hit>) -> usize {
    let end = string_end(document, start);
    let inside = start + 1..end.saturating_sub(1);
    let Some(written) = document.get(inside.clone()) else {
        return end;
    };
    let decoded = decode(written);
    found.extend(text::hits(&decoded.text, redactor).into_iter().map(|hit| {
        let decoded_span = hit.span;
        let span = decoded.encoded_offset(decoded_span.start)..decoded.encoded_offset(decoded_span.end);
        Hit { span: inside.start + span.start..inside.start + span.end, ..hit }
    }));
    let Some(value) = value_after(document, end) else {
        return end;
    };
    let secret = secret_value(document, value, &decoded.text, redactor);
    secret.map_or(value, |(span, rule)| {
        let end = span.end;
        let form = Form::Quoted;
        found.push(Hit { span, rule, form });
        end
    })
}

/// The value of this key if all of it is redacted.
fn secret_value(document: &str, value: usize, key: &str, redactor: &Redactor<'_>) -> Option<(Range<usize>, Rule)> {
    // The words of a key that contains a mark come from the mark.
    if key.contains("[redacted:") {
        return None;
    }
    let (rule, kinds) = redactor.rules.classify(key)?;
    let end = value_end(document, value);
    let written = document.get(value..end)?;
    let is_secret = match written.as_bytes() {
        [b'"', .., b'"'] => {
            let text = written.get(1..written.len() - 1)?;
            !text.is_empty() && mark_length(text) != Some(text.len())
        }
        [b'[', ..] => match kinds {
            ValueKinds::Any => has_members(written),
            ValueKinds::Texts => written.get(1..)?.trim_start().starts_with('"'),
        },
        [b'{', ..] => kinds == ValueKinds::Any && has_members(written),
        [b'-' | b'0'..=b'9', ..] => kinds == ValueKinds::Any,
        _ => false,
    };
    is_secret.then_some((value..end, rule))
}

/// Whether an array or object is not empty.
fn has_members(written: &str) -> bool {
    let inside = written.get(1..written.len() - 1);
    inside.is_some_and(|inside| !inside.trim().is_empty())
}

fn find_in_number(document: &str, start: usize, redactor: &Redactor<'_>, found: &mut Vec<Hit>) -> usize {
    let end = value_end(document, start).max(start + 1);
    let written = document.get(start..end).unwrap_or_default();
    let rule = if redactor.rules.has_built_in(Rule::Card) && card::is_whole(written) {
        Some(Rule::Card)
    } else {
        (!redactor.pattern_matches(written).is_empty()).then_some(Rule::Pattern)
    };
    if let Some(rule) = rule {
        let (span, form) = (start..end, Form::Quoted);
        found.push(Hit { span, rule, form });
    }
    end
}

/// The start of the value if the string that ends at `end` is a key.
fn value_after(document: &str, end: usize) -> Option<usize> {
    let rest = document.get(end..)?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    Some(document.len() - value.len())
}

/// The end of the string at `start`, including its closing quote.
fn string_end(document: &str, start: usize) -> usize {
    let mut at = start + 1;
    let bytes = document.as_bytes();
    loop {
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

/// The end of the value at `start`.
fn value_end(document: &str, start: usize) -> usize {
    let bytes = document.as_bytes();
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(document, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth <= 1 => return at + depth,
            b']' | b'}' => depth -= 1,
            b',' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
