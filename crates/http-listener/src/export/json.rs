//! An export as one JSON document, with one event per line.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Conversation, Head, RecordedEvent, Version};
use serde::Serialize;

use api_json::conversation::ConversationBody;
use api_json::fact::EventBody;

/// The type and version of the document.
const FORMAT: &str = "hansard.export.v1";

#[derive(Serialize)]
struct Exported {
    #[serde(flatten)]
    event: EventBody,
    /// The bytes in the record, which the hash chain covers; absent if the agent does not disclose all of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<String>,
}

pub(super) fn start(conversation: &Conversation, chunk: &mut Vec<u8>) {
    chunk.extend_from_slice(b"{\"format\":\"");
    chunk.extend_from_slice(FORMAT.as_bytes());
    chunk.extend_from_slice(b"\",\n\"conversation\":");
    write(&ConversationBody::from(conversation), chunk);
    chunk.extend_from_slice(b",\n\"events\":[");
}

pub(super) fn event(event: &RecordedEvent, raw: Option<&[u8]>, chunk: &mut Vec<u8>) {
    let separator: &[u8] = if event.version == Version(1) { b"\n" } else { b",\n" };
    chunk.extend_from_slice(separator);
    let event = Exported { event: EventBody::from(event), raw: raw.map(|raw| STANDARD.encode(raw)) };
    write(&event, chunk);
}

pub(super) fn end(head: &Head, chunk: &mut Vec<u8>) {
    let end = format!("\n],\n\"version\":{},\n\"chain\":\"{}\"}}\n", head.version, head.chain);
    chunk.extend_from_slice(end.as_bytes());
}

fn write(value: &impl Serialize, chunk: &mut Vec<u8>) {
    // A buffer in memory takes every document that the record accepted.
    if let Err(error) = serde_json::to_writer(chunk, value) {
        tracing::error!(%error, "an event cannot be written as JSON");
    }
}
