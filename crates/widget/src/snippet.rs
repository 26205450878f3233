//! The HTML that shows the chat on a page.

use crate::release::release;
use crate::{LOADER, ROOT};

/// A tag that loads the widget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The URL of the loader.
    pub src: String,
    /// Its integrity; `None`: the page runs whatever the gateway serves.
    pub integrity: Option<&'static str>,
    /// The API key, which is public.
    pub api_key: String,
}

impl Snippet {
    /// The tag for a gateway, given as its public URL.
    #[must_use]
    pub fn new(gateway: &str, api_key: &str) -> Self {
        Self {
            src: format!("{}{ROOT}/{LOADER}", gateway.trim_end_matches('/')),
            integrity: Some(&release().loader.integrity),
            api_key: api_key.to_owned(),
        }
    }

    /// A floating chat.
    #[must_use]
    pub fn html(&self) -> String {
        let integrity = self
            .integrity
            .map_or_else(String::new, |integrity| format!("\n  integrity=\"{integrity}\" crossorigin=\"anonymous\""));
        let src = attribute(&self.src);
        let key = attribute(&self.api_key);
        format!("<script type=\"module\" src=\"{src}\"{integrity}\n  data-api-key=\"{key}\"></script>")
    }
}

/// A text as the value of an attribute, between double quotes.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_has_the_integrity_of_the_loader() {
        let snippet = Snippet::new("https://chat.example/", "hp_\"><script>");
        let integrity = &release().loader.integrity;
        let expected = format!(
            "<script type=\"module\" src=\"https://chat.example/widget/1/hansard-chat.js\"\n  integrity=\"{integrity}\" crossorigin=\"anonymous\"\n  data-api-key=\"hp_&quot;&gt;&lt;script&gt;\"></script>"
        );
        assert_eq!(snippet.html(), expected);
    }

    #[test]
    fn a_page_can_follow_the_gateway() {
        let snippet = Snippet { integrity: None, ..Snippet::new("https://chat.example", "hp_x") };
        let expected = "<script type=\"module\" src=\"https://chat.example/widget/1/hansard-chat.js\"\n  data-api-key=\"hp_x\"></script>";
        assert_eq!(snippet.html(), expected);
    }
}
