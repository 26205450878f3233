//! What is to be kept back of a plain text.

use std::ops::Range;

use crate::mark::{Form, Hit, marks};
use crate::patterns::Called;
use crate::rule::Rule;
use crate::rules::Rules;
use crate::{assignment, card};

/// What is found, in no order; hits may overlap, and none is of a mark alone.
pub(crate) fn hits(text: &str, rules: &Rules) -> Vec<Hit> {
    let called = Called::by(text);
    let mut found: Vec<(Range<usize>, Rule)> = called.hits(text).collect();
    let mut past = 0;
    for spelling in &called.keys {
        // What stands in a secret goes with it: so no text is looked through again and again.
        let hit = (spelling.start >= past).then(|| assignment::known(text, spelling, rules));
        if let Some((span, rule)) = hit.flatten() {
            past = span.end;
            found.push((span, rule));
        }
    }
    let cards = card::spans(text).into_iter();
    found.extend(cards.map(|span| (span, Rule::Card)));
    found.retain(|(_, rule)| rules.holds(*rule));
    if let Some(own) = &rules.keys {
        let keys = own.anywhere.find_iter(text);
        let values = keys.filter_map(|key| assignment::own(text, &key.range()));
        found.extend(values.map(|span| (span, Rule::Key)));
    }
    if let Some(own) = &rules.patterns {
        let matches = own.matching(text).flat_map(|regex| regex.find_iter(text));
        let matches = matches.filter(|matched| !matched.is_empty());
        found.extend(matches.map(|matched| (matched.range(), Rule::Pattern)));
    }
    around_marks(text, found)
}

/// A hit that is of marks alone is none; another takes the marks that it touches with it.
fn around_marks(text: &str, found: Vec<(Range<usize>, Rule)>) -> Vec<Hit> {
    if found.is_empty() {
        return Vec::new();
    }
    let marks = marks(text);
    let hits = found.into_iter().filter_map(|(span, rule)| {
        let first = marks.partition_point(|mark| mark.end <= span.start);
        let touched = marks
            .iter()
            .skip(first)
            .take_while(|mark| mark.start < span.end);
        let (mut whole, mut fresh) = (span.clone(), span.len());
        for mark in touched {
            let shared = span.end.min(mark.end) - span.start.max(mark.start);
            fresh -= shared;
            whole = whole.start.min(mark.start)..whole.end.max(mark.end);
        }
        let hit = Hit {
            span: whole,
            rule,
            form: Form::Bare,
        };
        (fresh > 0).then_some(hit)
    });
    hits.collect()
}
