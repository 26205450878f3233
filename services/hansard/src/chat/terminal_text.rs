//! Texts of others, made safe for a terminal.

/// Removes everything that could control the terminal or disguise text: control characters except line breaks and tabs, which
/// start escape sequences, and characters that change the direction of text.
pub(super) fn printable(text: &str) -> String {
    let signs = text.chars().filter(|sign| *sign != '\r');
    signs.map(|sign| if is_unsafe(sign) { '\u{fffd}' } else { sign }).collect()
}

/// The same in one line of at most `chars_max` characters.
pub(super) fn line(text: &str, chars_max: usize) -> String {
    let text = printable(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    if text.chars().count() <= chars_max {
        return text;
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn is_unsafe(sign: char) -> bool {
    let is_direction = matches!(
        sign,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let is_separator = matches!(sign, '\u{2028}' | '\u{2029}');
    is_direction || is_separator || (sign.is_control() && !matches!(sign, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(printable(text), expected, "{text:?}");
        check("a\n\tb ü € 😀", "a\n\tb ü € 😀");
        check("a\r\nb\rc", "a\nbc");
        check("\u{1b}[2J\u{1b}]0;title\u{7}", "\u{fffd}[2J\u{fffd}]0;title\u{fffd}");
        check("\u{1b}]52;c;YQ==\u{1b}\\", "\u{fffd}]52;c;YQ==\u{fffd}\\");
        check("\u{9b}31m\u{9d}0;t\u{9c}\u{7f}\u{8}\u{0}", "\u{fffd}31m\u{fffd}0;t\u{fffd}\u{fffd}\u{fffd}\u{fffd}");
        check("\u{202e}gpj.exe\u{2066}\u{2028}", "\u{fffd}gpj.exe\u{fffd}\u{fffd}");
        // Every character, by the rule of the standard library.
        let all: String = (char::MIN..=char::MAX).collect();
        let unsafe_signs = |sign: char| sign.is_control() && sign != '\n' && sign != '\t';
        assert!(!printable(&all).contains(unsafe_signs));
    }

    #[test]
    fn lines_have_a_bound() {
        let check = |text: &str, expected: &str| assert_eq!(line(text, 5), expected, "{text}");
        check("12345", "12345");
        check("123456", "1234…");
        check(" 1\n2\t3 ", "1 2 3");
        check("\u{1b}[m", "\u{fffd}[m");
    }
}
