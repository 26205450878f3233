//! Compares texts with a query: decides whether a text matches, and where.

use std::ops::Range;

use crate::language::Language;
use crate::query::{Clause, Query};
use crate::token::{Token, TokenKind, tokens};

/// A query that texts are compared with.
#[derive(Debug)]
pub struct Matcher<'q> {
    required: Vec<Pattern<'q>>,
    excluded: Vec<Pattern<'q>>,
    languages: &'q [Language],
}

/// The places where a text matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// Byte ranges of the text, ascending and disjoint. Empty if the query has only filters.
    pub ranges: Vec<Range<usize>>,
    /// The number of matches of each required clause.
    pub counts: Vec<usize>,
    /// The number of tokens of the text.
    pub tokens: usize,
}

/// A clause, and the stems of its only word.
#[derive(Debug)]
struct Pattern<'q> {
    clause: &'q Clause,
    stems: Vec<String>,
}

impl<'q> Matcher<'q> {
    /// The matcher of a query. `languages`: those of the agents that it may find.
    #[must_use]
    pub fn new(query: &'q Query, languages: &'q [Language]) -> Self {
        let patterns = |clauses: &'q [Clause]| clauses.iter().map(|clause| Pattern::new(clause, languages)).collect();
        Self { required: patterns(&query.required), excluded: patterns(&query.excluded), languages }
    }

    /// The matches of a text; `None`: it does not match.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Matches> {
        let tokens: Vec<Token<'_>> = tokens(text).collect();
        if self.excluded.iter().any(|pattern| self.places(pattern, &tokens).next().is_some()) {
            return None;
        }
        let (mut ranges, mut counts) = (Vec::new(), Vec::new());
        for pattern in &self.required {
            let before = ranges.len();
            ranges.extend(self.places(pattern, &tokens));
            if ranges.len() == before {
                return None;
            }
            counts.push(ranges.len() - before);
        }
        Some(Matches { ranges: merged(ranges), counts, tokens: tokens.len() })
    }

    fn places<'t>(
        &'t self,
        pattern: &'t Pattern<'q>,
        tokens: &'t [Token<'_>],
    ) -> impl Iterator<Item = Range<usize>> + 't {
        tokens
            .windows(pattern.clause.tokens.len().max(1))
            .filter(|window| self.is_match(pattern, window))
            .filter_map(|window| Some(window.first()?.start..window.last()?.end))
    }

    fn is_match(&self, pattern: &Pattern<'_>, window: &[Token<'_>]) -> bool {
        let wanted = &pattern.clause.tokens;
        let mut pairs = window.iter().zip(wanted);
        if pairs.all(|(found, wanted)| found.form == wanted.form) && is_adjoined(window, wanted) {
            return true;
        }
        let [found] = window else { return false };
        let mut stems = self.languages.iter().zip(&pattern.stems);
        found.kind == TokenKind::Word && stems.any(|(language, stem)| language.stem(&found.form) == *stem)
    }
}

impl<'q> Pattern<'q> {
    fn new(clause: &'q Clause, languages: &[Language]) -> Self {
        let word = match clause.tokens.as_slice() {
            [word] if word.kind == TokenKind::Word && !clause.is_exact => Some(word),
            _ => None,
        };
        let stems = word.map(|word| {
            let stems = languages.iter().map(|language| language.stem(&word.form));
            stems.map(String::from).collect()
        });
        Self { clause, stems: stems.unwrap_or_default() }
    }
}

/// Whether the characters that adjoin in the query adjoin in the text, too, as the pairs of the index do.
fn is_adjoined(found: &[Token<'_>], wanted: &[Token<'_>]) -> bool {
    let gaps = |tokens: &[Token<'_>]| -> Vec<bool> {
        let pairs = tokens.iter().zip(tokens.iter().skip(1));
        let are_characters =
            |one: &Token<'_>, next: &Token<'_>| one.kind == TokenKind::Character && next.kind == TokenKind::Character;
        pairs.map(|(one, next)| are_characters(one, next) && one.end == next.start).collect()
    };
    gaps(wanted).into_iter().zip(gaps(found)).all(|(wanted, found)| !wanted || found)
}

/// The ranges in order; overlapping ones become one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The matching parts of a text; `None`: no match.
    fn found<'t>(text: &'t str, query: &str, languages: &[Language]) -> Option<Vec<&'t str>> {
        let query = Query::parse(query).unwrap();
        let matches = Matcher::new(&query, languages).find(text)?;
        Some(matches.ranges.into_iter().map(|range| &text[range]).collect())
    }

    #[test]
    fn matches_are_parts_of_the_text() {
        let check = |text: &str, query: &str, expected: Option<&[&str]>| {
            let found = found(text, query, &[]);
            assert_eq!(found.as_deref(), expected, "{text}: {query}");
        };
        check("Where is my PARCEL?", "parcel", Some(&["PARCEL"]));
        check("a parcel, the parcel", "parcel", Some(&["parcel", "parcel"]));
        check("Where is my parcel?", "\"my parcel\" where", Some(&["Where", "my parcel"]));
        check("my old parcel", "\"my parcel\"", None);
        check("my parcel", "my -parcel", None);
        check("my parcel", "my -\"parcel my\"", Some(&["my"]));
        check("a b a b a", "\"a b a\"", Some(&["a b a b a"]));
        check("Crème brûlée", "creme", Some(&["Crème"]));
        check("我的包裹在哪里", "包裹", Some(&["包裹"]));
        check("包，裹", "包裹", None);
        check("طلبتُ كتابًا", "كتابا", Some(&["كتابًا"]));
        check("anything", "role:user", Some(&[]));
        check("refunds", "refund", None);
    }

    #[test]
    fn inflections_match_unless_quoted() {
        let check = |text: &str, query: &str, expected: Option<&[&str]>| {
            let found = found(text, query, &[Language::German, Language::English]);
            assert_eq!(found.as_deref(), expected, "{text}: {query}");
        };
        check("We refunded it", "refunds", Some(&["refunded"]));
        check("We refunded it", "\"refunds\"", None);
        check("zwei Pakete", "paket", Some(&["Pakete"]));
        check("refunds", "-refund refunds", None);
        check("refunds", "-\"refund\" refunds", Some(&["refunds"]));
    }

    proptest! {
        #[test]
        fn ranges_are_ordered_and_disjoint(text in "[ab ,包裹é]{0,60}", query in "[ab包裹é]{1,4}( [ab\"]{1,5}){0,3}") {
            let Ok(query) = Query::parse(&query) else { return Ok(()) };
            let Some(matches) = Matcher::new(&query, &[Language::English]).find(&text) else { return Ok(()) };
            let mut end = 0;
            for range in matches.ranges {
                prop_assert!(end <= range.start && range.start < range.end);
                prop_assert!(text.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
