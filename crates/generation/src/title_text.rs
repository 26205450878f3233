//! The texts of titles. Pure.

/// The default of the maximum number of characters of a title.
pub const TITLE_CHARS_DEFAULT: u32 = 60;
/// Maximum bytes of the message that a model reads for a title; more is cut.
pub const TITLE_MESSAGE_BYTES_MAX: usize = 4 * 1024;

/// The mark after a title that was cut; it counts as one character.
const ELLIPSIS: char = '…';
/// Quotation marks that models put around a title.
const QUOTES: [char; 6] = ['"', '\'', '“', '”', '«', '»'];

/// The request to the model of titles for a conversation that begins with this message.
pub(super) fn title_request(message: &str, chars_max: u32) -> String {
    let end = message.floor_char_boundary(TITLE_MESSAGE_BYTES_MAX);
    let message = message.get(..end).unwrap_or_default();
    format!(
        "Write a title of at most {chars_max} characters for a conversation that begins with the message below, in the \
         message's language. Do not answer the message. Write only the title.\n\n{message}"
    )
}

/// The title from the first line with text of a model's reply; `None`: there is none.
pub(super) fn title_of_reply(reply: &str, chars_max: u32) -> Option<String> {
    let line = reply.lines().find(|line| !line.trim().is_empty())?;
    title(line.trim().trim_matches(QUOTES), chars_max)
}

/// The beginning of a text: white space is one space, control characters are omitted, and what is longer than
/// `chars_max` characters ends at a word boundary with an ellipsis; `None`: the text has no visible character.
pub(super) fn title(text: &str, chars_max: u32) -> Option<String> {
    let chars_max = usize::try_from(chars_max).unwrap_or(usize::MAX).max(1);
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.chars().nth(chars_max).is_some() {
            break;
        }
        let visible: String = word.chars().filter(|char| !char.is_control()).collect();
        if !words.is_empty() && !visible.is_empty() {
            words.push(' ');
        }
        words.push_str(&visible);
    }
    if words.chars().count() <= chars_max {
        return (!words.is_empty()).then_some(words);
    }
    let kept: String = words.chars().take(chars_max - 1).collect();
    let is_boundary = words.chars().nth(chars_max - 1) == Some(' ');
    let end = kept.rfind(' ').filter(|_| !is_boundary);
    let kept = kept
        .get(..end.unwrap_or(kept.len()))
        .unwrap_or_default()
        .trim_end_matches(|char: char| char.is_whitespace() || char.is_ascii_punctuation());
    Some(format!("{kept}{ELLIPSIS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cut_at_words() {
        let check = |text: &str, chars_max: u32, expected: Option<&str>| {
            let actual = title(text, chars_max);
            assert_eq!(actual.as_deref(), expected, "{text}");
            let chars = actual.map_or(0, |title| title.chars().count());
            assert!(chars <= usize::try_from(chars_max).unwrap());
        };
        check("  Where is\n\tmy order?  ", 60, Some("Where is my order?"));
        check("", 60, None);
        check(" \u{7}\n", 60, None);
        check("a\0b", 60, Some("ab"));
        // At the bound, and one past it.
        check("abc def ghi", 11, Some("abc def ghi"));
        check("abc def ghij", 11, Some("abc def…"));
        check("abc def ghi", 8, Some("abc def…"));
        check("abc, def", 6, Some("abc…"));
        check("abcdefghij", 5, Some("abcd…"));
        check("éééééé", 5, Some("éééé…"));
        check("ab", 1, Some("…"));
    }

    #[test]
    fn replies_of_models_become_one_line() {
        let check = |reply: &str, expected: Option<&str>| {
            assert_eq!(title_of_reply(reply, 20).as_deref(), expected, "{reply}");
        };
        check("\n \"Late order\"\nand more", Some("Late order"));
        check("«Commande»", Some("Commande"));
        check("a title that is much too long", Some("a title that is…"));
        check(" \n ", None);
        check("\"\"", None);
    }

    #[test]
    fn long_messages_are_cut_in_requests() {
        let request = |bytes: usize| title_request(&"x".repeat(bytes), 60).matches('x').count();
        let others = request(0);
        assert_eq!(request(TITLE_MESSAGE_BYTES_MAX) - others, TITLE_MESSAGE_BYTES_MAX);
        assert_eq!(request(TITLE_MESSAGE_BYTES_MAX + 1) - others, TITLE_MESSAGE_BYTES_MAX);
    }
}
