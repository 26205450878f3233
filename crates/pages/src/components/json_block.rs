//! A JSON document or another long text, collapsed, with its size.

use maud::{Markup, html};

use super::{bytes, copy_button};

/// Most bytes of a text that are shown; the rest is behind a link.
pub const JSON_HEAD_BYTES: usize = 4 * 1024;

/// A text that may be long.
#[derive(Debug, Clone, Copy)]
pub struct JsonBlock<'a> {
    /// The id of the element; unique on its page.
    pub id: &'a str,
    /// What it is, such as `Arguments`.
    pub label: &'a str,
    /// The text, whole or only its head.
    pub text: &'a str,
    /// Bytes of the whole text.
    pub size_bytes: usize,
    /// The URL of the whole text.
    pub whole: &'a str,
}

/// The head of a text, at most [`JSON_HEAD_BYTES`], with a link to the whole if there is more.
#[must_use]
pub fn json_block(block: JsonBlock<'_>) -> Markup {
    let head = head(block.text);
    let size_bytes = u64::try_from(block.size_bytes).unwrap_or(u64::MAX);
    html! {
        details.json {
            summary { (block.label) " " span.number { (bytes(size_bytes)) } }
            pre id=(block.id) tabindex="0" aria-label=(block.label) { code { (head) } }
            div.row {
                (copy_button(block.id))
                @if head.len() < block.size_bytes {
                    span.muted { "The first " (bytes(4 * 1024)) " are shown." }
                    a href=(block.whole) { "Show all" }
                }
            }
        }
    }
}

/// The text up to the bound, never within a character.
fn head(text: &str) -> &str {
    let end = (0..=JSON_HEAD_BYTES.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_show_their_head_and_a_link() {
        let check = |text: &str, head: usize| {
            let block = JsonBlock { id: "a", label: "Arguments", text, size_bytes: text.len(), whole: "/whole" };
            let html = json_block(block).into_string();
            assert_eq!(super::head(text).len(), head);
            assert_eq!(html.contains("/whole"), head < text.len());
        };
        check("", 0);
        check(&"x".repeat(JSON_HEAD_BYTES), JSON_HEAD_BYTES);
        check(&"x".repeat(JSON_HEAD_BYTES + 1), JSON_HEAD_BYTES);
        check(&format!("x{}", "ä".repeat(JSON_HEAD_BYTES)), JSON_HEAD_BYTES - 1);
    }
}
