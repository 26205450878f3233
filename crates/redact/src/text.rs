//! Finds secrets in plain texts.

use std::ops::Range;

use crate::mark::{Form, Hit, marks};
use crate::patterns::AnchorMatches;
use crate::redactor::Redactor;
use crate::rule::Rule;
use crate::{assignment, card};

/// The secrets, in no order. They may overlap. Marks are not secrets.
pub(crate) fn hits(text: &str, redactor: &Redactor<'_>) -> Vec<Hit> {
    let rules = redactor.rules;
    let anchors = AnchorMatches::find(text);
    let mut found: Vec<(Range<usize>, Rule)> = anchors.secrets(text).collect();
    let mut searched_to = 0;
    for spelling in &anchors.keys {
        // A key inside a secret is redacted with it, so no text is searched repeatedly.
        let hit = (spelling.start >= searched_to).then(|| assignment::find_built_in(text, spelling, rules));
        if let Some((span, rule)) = hit.flatten() {
            searched_to = span.end;
            found.push((span, rule));
        }
    }
    let cards = card::spans(text).into_iter();
    found.extend(cards.map(|span| (span, Rule::Card)));
    found.retain(|(_, rule)| rules.has_built_in(*rule));
    if let Some(own) = &rules.keys {
        let keys = own.anywhere.find_iter(text);
        let values = keys.filter_map(|key| assignment::find_own(text, &key.range()));
        found.extend(values.map(|span| (span, Rule::Key)));
    }
    let matches = redactor.pattern_matches(text).into_iter();
    found.extend(matches.map(|span| (span, Rule::Pattern)));
    include_marks(text, found)
}

/// Drops ranges that contain nothing but marks, and extends others over the marks that they touch.
fn include_marks(text: &str, found: Vec<(Range<usize>, Rule)>) -> Vec<Hit> {
    if found.is_empty() {
        return Vec::new();
    }
    let marks = marks(text);
    let hits = found.into_iter().filter_map(|(found, rule)| {
        let first = marks.partition_point(|mark| mark.end <= found.start);
        let marks = marks.iter().skip(first);
        let (mut span, mut unmarked) = (found.clone(), found.len());
        for mark in marks.take_while(|mark| mark.start < found.end) {
            unmarked -= found.end.min(mark.end) - found.start.max(mark.start);
            span = span.start.min(mark.start)..span.end.max(mark.end);
        }
        let form = Form::Bare;
        (unmarked > 0).then_some(Hit { span, rule, form })
    });
    hits.collect()
}
