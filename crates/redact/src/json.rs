//! What is to be kept back of a JSON document: the values of secret keys, and what its texts hold.

use std::ops::Range;

use domain::json_string::decode;

use crate::keys::Takes;
use crate::mark::{Form, Hit, mark_length};
use crate::rule::Rule;
use crate::rules::Rules;
use crate::{card, text};

/// Whether escapes may hide from a search of the document as it is written what its texts say.
pub(crate) fn hides(document: &str) -> bool {
    document.contains("\\u00") || document.contains("\\/")
}

/// What is found, in order. Of what is no JSON document, something.
pub(crate) fn hits(document: &str, rules: &Rules) -> Vec<Hit> {
    let (mut found, mut at) = (Vec::new(), 0);
    let bytes = document.as_bytes();
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => text_at(document, at, rules, &mut found),
            b'-' | b'0'..=b'9' => number_at(document, at, rules, &mut found),
            _ => at + 1,
        };
    }
    found
}

/// Looks into the text that starts here, and, when it is the key of a secret, past its value. Returns where to go on.
fn text_at(document: &str, start: usize, rules: &Rules, found: &mut Vec<Hit>) -> usize {
    let end = text_end(document, start);
    let inside = start + 1..end.saturating_sub(1);
    let Some(written) = document.get(inside.clone()) else {
        return end;
    };
    let decoded = decode(written);
    found.extend(text::hits(&decoded.text, rules).into_iter().map(|hit| {
        let span = hit.span;
        let span = decoded.written_at(span.start)..decoded.written_at(span.end);
        Hit {
            span: inside.start + span.start..inside.start + span.end,
            ..hit
        }
    }));
    let Some(value) = value_after(document, end) else {
        return end;
    };
    let secret = secret_value(document, value, &decoded.text, rules);
    secret.map_or(value, |(span, rule)| {
        let end = span.end;
        let form = Form::Quoted;
        found.push(Hit { span, rule, form });
        end
    })
}

/// The value of this key, when it is to be kept back whole.
fn secret_value(
    document: &str,
    value: usize,
    key: &str,
    rules: &Rules,
) -> Option<(Range<usize>, Rule)> {
    // A key with a mark in it got its words from the mark.
    if key.contains("[redacted:") {
        return None;
    }
    let (rule, takes) = rules.classify(key)?;
    let end = value_end(document, value);
    let written = document.get(value..end)?;
    let kept_back = match written.as_bytes() {
        [b'"', .., b'"'] => {
            let said = written.get(1..written.len() - 1)?;
            !said.is_empty() && mark_length(said) != Some(said.len())
        }
        [b'[', ..] => match takes {
            Takes::Any => holds_something(written),
            Takes::Texts => written.get(1..)?.trim_start().starts_with('"'),
        },
        [b'{', ..] => takes == Takes::Any && holds_something(written),
        [b'-' | b'0'..=b'9', ..] => takes == Takes::Any,
        _ => false,
    };
    kept_back.then_some((value..end, rule))
}

/// Whether an array or object is not empty.
fn holds_something(written: &str) -> bool {
    let inside = written.get(1..written.len() - 1);
    inside.is_some_and(|inside| !inside.trim().is_empty())
}

fn number_at(document: &str, start: usize, rules: &Rules, found: &mut Vec<Hit>) -> usize {
    let end = value_end(document, start).max(start + 1);
    let written = document.get(start..end).unwrap_or_default();
    if rules.holds(Rule::Card) && card::is_one(written) {
        found.push(Hit {
            span: start..end,
            rule: Rule::Card,
            form: Form::Quoted,
        });
    }
    end
}

/// Where the value starts when the text that ends here is a key.
fn value_after(document: &str, end: usize) -> Option<usize> {
    let rest = document.get(end..)?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    Some(document.len() - value.len())
}

/// Where the text that starts here ends, its closing quote included.
fn text_end(document: &str, start: usize) -> usize {
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

/// Where the value that starts here ends.
fn value_end(document: &str, start: usize) -> usize {
    let bytes = document.as_bytes();
    let (mut at, mut depth) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = text_end(document, at);
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
