//! Characters that are safe to show.

/// Whether a character shows what it is: it neither controls a terminal nor hides or reorders the text around it. Line breaks and
/// tabs do not count as such.
///
/// The others are the control characters (categories Cc, with C1), the marks, embeddings, overrides and isolates of direction
/// (UAX #9), and the separators of lines and paragraphs.
#[must_use]
pub fn is_printable(character: char) -> bool {
    let is_direction = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let is_separator = matches!(character, '\u{2028}' | '\u{2029}');
    !(is_direction || is_separator || character.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_controls_or_disguises_is_not_printable() {
        for printable in ['a', ' ', 'ü', '€', '😀', 'ש', '\u{a0}', '\u{2027}', '\u{202f}', '\u{2065}', '\u{206a}']
        {
            assert!(is_printable(printable), "{printable:?}");
        }
        for other in [
            '\0', '\t', '\n', '\r', '\u{1b}', '\u{7f}', '\u{80}', '\u{9b}', '\u{9f}', '\u{61c}', '\u{200e}', '\u{200f}',
        ] {
            assert!(!is_printable(other), "{other:?}");
        }
        for other in ('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}').chain(['\u{2028}', '\u{2029}']) {
            assert!(!is_printable(other), "{other:?}");
        }
    }
}
