//! `/dashboard/conversations/{id}/events/{version}`: one event, whole.

use domain::Version;
use maud::{Markup, html};

use super::transcript::{event_url, path};
use crate::components::{bytes, copy_button, indented_json};
use crate::layout::{Frame, Freshness, Person, Section, document};

/// Most bytes of an event that the page shows. Larger texts stop browsers; the rest is in the download.
pub const EVENT_BYTES_SHOWN_MAX: usize = 300 * 1024;

/// The values of the page.
#[derive(Clone, Copy)]
pub struct EventPage<'a> {
    /// The signed-in person.
    pub person: Person<'a>,
    /// The conversation.
    pub conversation: &'a str,
    /// The version of the event.
    pub version: Version,
    /// The event as JSON.
    pub json: &'a str,
}

/// The event.
#[must_use]
pub fn event(page: EventPage<'_>) -> Markup {
    let (conversation, version) = (page.conversation, page.version);
    let title = format!("Event {version}");
    let frame = Frame {
        title: &title,
        person: Some(page.person),
        section: Some(Section::Conversations),
        freshness: Freshness::Current,
    };
    let end = page.json.floor_char_boundary(EVENT_BYTES_SHOWN_MAX);
    let shown = page.json.get(..end).unwrap_or_default();
    let size = |text: &str| bytes(u64::try_from(text.len()).unwrap_or(u64::MAX));
    // A longer text stays as it was recorded: line breaks would lengthen it.
    let text = if shown.len() < page.json.len() { shown.to_owned() } else { indented_json(shown) };
    let main = html! {
        p { a data-back href=(event_url(conversation, version)) { "Back to the transcript" } }
        div.row {
            (copy_button("event"))
            a.button href={ (path(conversation)) "/events/" (version) "/download" } download { "Download" }
            span.muted { (size(page.json)) }
            @if shown.len() < page.json.len() {
                span.muted { "The first " (size(shown)) " are shown: download the event for the rest." }
            }
        }
        pre.card #event tabindex="0" aria-label="Event" { code { (text) } }
    };
    document(&frame, &main)
}
