//! Imports conversations of other systems. Each format has a pure parser: text in, a [`Dialogue`] or an error out. [`source`]
//! reads data sets, [`plan`] converts a dialogue to write requests whose ids depend only on the data set, so that a repeated
//! import changes nothing, and `run` sends them.

mod check;
mod chitchat;
mod fields;
mod instant;
mod openai;
pub mod plan;
pub(crate) mod run;
pub mod source;

use wire::proto::event::v1 as proto;

/// A parsed conversation of a data set, complete and in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialogue {
    /// Its key in the data set, from which all ids are computed.
    pub key: String,
    /// Its owner.
    pub owner: proto::owner::Kind,
    /// Its title; may be empty.
    pub title: String,
    /// Its metadata: the JSON text of an object; may be empty.
    pub metadata_json: String,
    /// Its events, oldest first.
    pub events: Vec<SourceEvent>,
    /// One line per value that is stored in another form, without content.
    pub remarks: Vec<String>,
}

/// An event, and the message of the source that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceEvent {
    /// The index of the message in the source, from 0.
    pub message: usize,
    /// The event.
    pub event: proto::Event,
}

/// The parts of a text message; none for an empty text.
fn text_parts(text: String) -> Vec<proto::Part> {
    let text = Some(text).filter(|text| !text.is_empty());
    text.map(text_part).into_iter().collect()
}

fn text_part(text: impl Into<String>) -> proto::Part {
    proto::Part { kind: Some(proto::part::Kind::Text(text.into())) }
}
