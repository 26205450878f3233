//! The content of events. Everything that people, models and tools wrote is text, and nothing of it is loaded or linked.

use domain::{MediaSource, Part};
use maud::{Markup, html};

use super::path;
use crate::components::{JSON_HEAD_BYTES, JsonBlock, Tone, badge, bytes, indented_json, json_block};

/// Most bytes of a URL that are shown.
const URL_BYTES_SHOWN: usize = 200;

/// Where an event is, for links and ids of its elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) conversation: &'a str,
    pub(super) version: u64,
}

impl At<'_> {
    /// The page of the whole event.
    fn whole(self) -> String {
        format!("{}/events/{}", path(self.conversation), self.version)
    }
}

/// The parts of a message or a result.
pub(super) fn parts(at: At<'_>, parts: &[Part]) -> Markup {
    html! {
        @for (index, part) in (0_usize..).zip(parts) {
            (self::part(at, index, part))
        }
    }
}

fn part(at: At<'_>, index: usize, part: &Part) -> Markup {
    let key = format!("p{index}");
    match part {
        Part::Text(written) => text(at, written),
        Part::Image { source, .. } => media("picture", None, source),
        Part::File { source, filename, .. } => media("file", filename.as_ref().map(domain::Label::as_str), source),
        Part::Thinking { text: thought, .. } => html! {
            details.thinking { summary { "Thinking" } (text(at, thought)) }
        },
        Part::RedactedThinking(data) => {
            html! { p.muted { "Thinking, encrypted by its provider, " (size(data)) } }
        }
        Part::Refusal(refusal) => html! { (badge(Tone::Warn, "refusal")) (text(at, refusal)) },
        Part::ProviderItem { provider, item } => {
            let label = format!("Item of {provider}");
            document(at, &key, &label, item.as_str())
        }
    }
}

/// A picture or a file, by its reference. Nothing is loaded and nothing is a link: strangers chose the URL.
fn media(kind: &str, name: Option<&str>, source: &MediaSource) -> Markup {
    let (MediaSource::Url(place) | MediaSource::FileId(place)) = source;
    html! {
        p.media {
            (badge(Tone::Neutral, kind)) " "
            @if let Some(name) = name { bdi { (name) } " " }
            code { (head(place, URL_BYTES_SHOWN)) } " " span.muted { (size(place)) }
        }
    }
}

/// A text of any length: its head, and a link to the whole.
pub(super) fn text(at: At<'_>, text: &str) -> Markup {
    let head = head(text, JSON_HEAD_BYTES);
    html! {
        div.text dir="auto" { (head) }
        @if head.len() < text.len() {
            p.muted {
                "The first " (bytes(4 * 1024)) " of " (size(text)) " are shown. "
                a href=(at.whole()) { "Show all" }
            }
        }
    }
}

/// A JSON document of any length.
pub(super) fn document(at: At<'_>, key: &str, label: &str, json: &str) -> Markup {
    let id = format!("{key}-{}", at.version);
    let text = indented_json(head(json, JSON_HEAD_BYTES));
    let is_whole = json.len() <= JSON_HEAD_BYTES && text.len() <= JSON_HEAD_BYTES;
    json_block(JsonBlock {
        id: &id,
        label,
        text: &text,
        // With its line breaks a document may be too long to be shown whole.
        size_bytes: json.len().max(if is_whole { 0 } else { text.len() }),
        whole: &at.whole(),
    })
}

fn size(text: &str) -> String {
    bytes(u64::try_from(text.len()).unwrap_or(u64::MAX))
}

/// The start of a text, never within a character.
fn head(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}
