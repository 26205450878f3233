//! Snippets: the part of a text around its first match, split into matching and other parts. Plain text, never markup.

use std::ops::Range;

/// Maximum size of a snippet, in bytes of the text.
pub const SNIPPET_BYTES_MAX: usize = 240;
/// How much of the text before the first match a snippet shows, in bytes.
const BEFORE_BYTES: usize = 60;
/// The mark of omitted text.
const ELLIPSIS: &str = "…";

/// A part of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetPart {
    /// The text; never empty.
    pub text: String,
    /// Whether it matches.
    pub is_match: bool,
}

/// The snippet of a text. `ranges`: its matches, ascending and disjoint, at boundaries of characters.
#[must_use]
pub fn snippet(text: &str, ranges: &[Range<usize>]) -> Vec<SnippetPart> {
    let window = window(text, ranges.first());
    let mut parts = Vec::new();
    if window.start > 0 {
        push(&mut parts, ELLIPSIS, false);
    }
    let mut at = window.start;
    for range in ranges {
        let (start, end) = (range.start.max(at), range.end.min(window.end));
        if start >= end {
            continue;
        }
        push(&mut parts, text.get(at..start).unwrap_or_default(), false);
        push(&mut parts, text.get(start..end).unwrap_or_default(), true);
        at = end;
    }
    push(&mut parts, text.get(at..window.end).unwrap_or_default(), false);
    if window.end < text.len() {
        push(&mut parts, ELLIPSIS, false);
    }
    parts
}

/// The part of the text that the snippet shows.
fn window(text: &str, first: Option<&Range<usize>>) -> Range<usize> {
    let first = first.map_or(0, |range| range.start);
    let start = match first.checked_sub(BEFORE_BYTES) {
        // After a space, if there is one before the match.
        Some(start) => {
            let start = text.ceil_char_boundary(start);
            let before = text.get(start..first).unwrap_or_default();
            let space = before.find(char::is_whitespace);
            space.map_or(start, |space| text.ceil_char_boundary(start + space + 1))
        }
        None => 0,
    };
    start..text.floor_char_boundary(start.saturating_add(SNIPPET_BYTES_MAX))
}

/// Adds a text to the last part, if both match or both do not.
fn push(parts: &mut Vec<SnippetPart>, text: &str, is_match: bool) {
    if text.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(last) if last.is_match == is_match => last.text.push_str(text),
        _ => parts.push(SnippetPart { text: text.to_owned(), is_match }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::matches::Matcher;
    use crate::query::Query;

    /// The snippet with matches in brackets.
    fn shown(text: &str, query: &str) -> String {
        let query = Query::parse(query).unwrap();
        let matches = Matcher::new(&query, &[]).find(text).unwrap();
        let parts = snippet(text, &matches.ranges).into_iter();
        let part = |part: SnippetPart| {
            if part.is_match { format!("[{}]", part.text) } else { part.text }
        };
        parts.map(part).collect()
    }

    #[test]
    fn snippets_show_the_first_match() {
        assert_eq!(shown("my parcel", "parcel"), "my [parcel]");
        assert_eq!(shown("<b>parcel</b>", "parcel"), "<b>[parcel]</b>");
        assert_eq!(shown("hello", "role:user"), "hello");
        let long = format!("{} needle {}", "word ".repeat(50), "tail ".repeat(100));
        let snippet = shown(&long, "needle");
        assert!(snippet.starts_with("…word word"), "{snippet}");
        assert!(snippet.contains(" [needle] tail"), "{snippet}");
        assert!(snippet.ends_with('…'), "{snippet}");
    }

    proptest! {
        #[test]
        fn a_snippet_is_a_bounded_part_of_its_text(text in "[ab包é \u{1F600}]{0,600}", query in "[ab包é]{1,2}") {
            let Ok(query) = Query::parse(&query) else { return Ok(()) };
            let Some(matches) = Matcher::new(&query, &[]).find(&text) else { return Ok(()) };
            let parts = snippet(&text, &matches.ranges);
            let shown: String = parts.iter().map(|part| part.text.as_str()).collect();
            let inner = shown.trim_start_matches('…').trim_end_matches('…');
            prop_assert!(text.contains(inner));
            prop_assert!(inner.len() <= SNIPPET_BYTES_MAX);
            prop_assert!(parts.iter().any(|part| part.is_match));
            prop_assert!(parts.iter().all(|part| !part.text.is_empty()));
        }
    }
}
