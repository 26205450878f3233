//! The difference between two contexts, line by line.

use std::time::Duration;

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use crate::components::indented_json;

/// Most bytes of the two bodies together that are compared.
pub const DIFF_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Most lines of a difference that are shown.
pub const DIFF_LINES_MAX: usize = 2_000;
/// Most bytes of a line that are shown.
const LINE_BYTES_MAX: usize = 2_000;
/// Lines around a change.
const CONTEXT_LINES: usize = 2;
/// After this time, the rest counts as replaced.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// They are equal.
    Equal,
    /// They are larger than [`DIFF_BYTES_MAX`].
    TooLarge,
    /// The changed lines, with lines around them.
    Lines {
        /// The lines, in order.
        lines: Vec<Line>,
        /// Whether there are more lines than [`DIFF_LINES_MAX`].
        has_more: bool,
    },
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `+`, `-` or a blank.
    pub sign: char,
    /// Its text.
    pub text: String,
}

impl Difference {
    /// The difference between two JSON documents.
    #[must_use]
    pub fn between(before: &str, after: &str) -> Self {
        if before == after {
            return Self::Equal;
        }
        if before.len().saturating_add(after.len()) > DIFF_BYTES_MAX {
            return Self::TooLarge;
        }
        let (before, after) = (indented_json(before), indented_json(after));
        let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(&before, &after);
        let mut lines = Vec::new();
        let mut has_more = false;
        for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
            for change in hunk.iter_changes() {
                if lines.len() == DIFF_LINES_MAX {
                    has_more = true;
                    break;
                }
                lines.push(line(change.tag(), change.value()));
            }
        }
        Self::Lines { lines, has_more }
    }
}

fn line(tag: ChangeTag, text: &str) -> Line {
    let text = text.trim_end_matches('\n');
    let end = text.floor_char_boundary(LINE_BYTES_MAX);
    let cut = if end < text.len() { "…" } else { "" };
    Line {
        sign: match tag {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        },
        text: format!("{}{cut}", text.get(..end).unwrap_or_default()),
    }
}

pub(super) fn difference(difference: &Difference) -> Markup {
    html! {
        @match difference {
            Difference::Equal => p { "The bodies are equal." },
            Difference::TooLarge => p { "The bodies are too large to compare: together at most 2 MB." },
            Difference::Lines { lines, has_more } => {
                pre.diff tabindex="0" aria-label="Difference" {
                    @for line in lines {
                        @match line.sign {
                            '+' => ins { "+ " (line.text) "\n" },
                            '-' => del { "- " (line.text) "\n" },
                            _ => span { "  " (line.text) "\n" },
                        }
                    }
                }
                @if *has_more { p.muted { "More lines differ than are shown." } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_their_surroundings() {
        let difference = Difference::between(r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#);
        let Difference::Lines { lines, has_more } = difference else {
            panic!("{difference:?}");
        };
        let lines: Vec<(char, &str)> = lines.iter().map(|l| (l.sign, l.text.as_str())).collect();
        let expected = [(' ', "{"), (' ', "  \"a\": 1,"), ('-', "  \"b\": 2"), ('+', "  \"b\": 3"), (' ', "}")];
        assert_eq!(lines, expected);
        assert!(!has_more);
        assert_eq!(Difference::between("{}", "{}"), Difference::Equal);
    }

    #[test]
    fn differences_are_bounded() {
        let long = "x".repeat(DIFF_BYTES_MAX + 1);
        assert_eq!(Difference::between(&long, ""), Difference::TooLarge);
        let many = |value: u32| format!("[{}]", vec![value.to_string(); DIFF_LINES_MAX].join(","));
        let Difference::Lines { lines, has_more } = Difference::between(&many(1), &many(2)) else {
            panic!("no lines");
        };
        assert_eq!((lines.len(), has_more), (DIFF_LINES_MAX, true));
        let wide = format!("[\"{}\"]", "ä".repeat(LINE_BYTES_MAX));
        let Difference::Lines { lines, .. } = Difference::between("[]", &wide) else {
            panic!("no lines");
        };
        assert!(lines.iter().all(|line| line.text.len() <= LINE_BYTES_MAX + '…'.len_utf8()));
    }
}
