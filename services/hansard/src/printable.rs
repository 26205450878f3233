//! Texts of others, made safe for a terminal.

use domain::is_printable;

/// Replaces every character that could control the terminal or disguise text by its escape in JSON, such as `\u001b`: so a JSON
/// value keeps its meaning. Tabs and line breaks stay.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// The same in a cell of a table, without tabs and line breaks.
pub(crate) fn cell(text: &str) -> String {
    escaped(text, |_| false)
}

/// The words of a text in one line of at most `chars_max` characters.
pub(crate) fn line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = cell(&words.join(" "));
    if text.chars().count() <= chars_max {
        return text;
    }
    let kept: String = text.chars().take(chars_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut made = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_line_break = character == '\r' && is_kept('\n') && characters.peek() == Some(&'\n');
        if is_printable(character) || is_kept(character) || is_line_break {
            made.push(character);
        } else {
            let escape = format!("\\u{:04x}", u32::from(character));
            made.push_str(&escape);
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(printable(text), expected, "{text:?}");
        check("a\n\tb ü € 😀", "a\n\tb ü € 😀");
        check("a\r\nb\rc", "a\r\nb\\u000dc");
        check("\u{1b}[2J\u{1b}]0;title\u{7}", r"\u001b[2J\u001b]0;title\u0007");
        check("\u{9b}31m\u{9c}\u{7f}\u{0}", r"\u009b31m\u009c\u007f\u0000");
        check("\u{202e}gpj.exe\u{2066}\u{2028}", r"\u202egpj.exe\u2066\u2028");
        // Every character, by the rule of the standard library.
        let all: String = (char::MIN..=char::MAX).filter(|character| *character != '\r').collect();
        assert!(!printable(&all).contains(|sign: char| sign.is_control() && sign != '\n' && sign != '\t'));
        assert!(!cell(&all).contains(char::is_control));
        assert_eq!(cell("a\r\n\tb"), r"a\u000d\u000a\u0009b");
    }

    #[test]
    fn lines_have_a_bound() {
        let check = |text: &str, expected: &str| assert_eq!(line(text, 5), expected, "{text}");
        check("12345", "12345");
        check("123456", "1234…");
        check(" 1\r\n2\t3 ", "1 2 3");
        check("\u{1b}[m", r"\u00…");
    }
}
