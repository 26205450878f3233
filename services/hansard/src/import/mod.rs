//! Conversations from elsewhere, as write requests. One file a format, and each format is pure: text in, a
//! [`Dialogue`] or the reason why not out. [`plan`] turns a dialogue into requests whose ids follow from the data
//! set alone, so that importing twice changes nothing; [`source`] reads, [`run`] sends.

mod check;
pub mod chitchat;
mod fields;
mod instant;
pub mod openai;
pub mod plan;
pub mod run;
pub mod source;

use wire::proto::event::v1 as proto;

/// A conversation as a format's parser reads it, whole and in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialogue {
    /// Names it in its data set; its ids follow from it.
    pub key: String,
    /// Who it belongs to.
    pub owner: proto::owner::Kind,
    /// Its title; empty: none.
    pub title: String,
    /// Its metadata: JSON text of an object; empty: none.
    pub metadata_json: String,
    /// What was said, oldest first.
    pub events: Vec<PlacedEvent>,
    /// What is kept in another form than it was given in, a line each; no content.
    pub remarks: Vec<String>,
}

/// An event, and the message of the source that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedEvent {
    /// The message's place in the source's list, from 0.
    pub message: usize,
    /// The event.
    pub event: proto::Event,
}

/// The parts of a message that says a text. An empty text is no part: the message is kept without one.
fn text_parts(text: String) -> Vec<proto::Part> {
    if text.is_empty() {
        return Vec::new();
    }
    vec![text_part(text)]
}

fn text_part(text: impl Into<String>) -> proto::Part {
    proto::Part {
        kind: Some(proto::part::Kind::Text(text.into())),
    }
}
