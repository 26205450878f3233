//! What a fact does not contain of its item, in the metadata of its event.

use std::collections::BTreeMap;

use domain::event::Event;
use domain::{JsonText, Violation};
use serde::{Deserialize, Serialize};

use super::members::Members;
use domain::bounds::METADATA_BYTES_MAX;

/// The rest of an item: the value of the metadata's key `openai_item`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Note {
    /// The client's id of the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether all parts of the message are its content. Otherwise a provider item of the assistant is an item of its own.
    #[serde(skip_serializing_if = "is_false")]
    pub whole: bool,
    /// Whether the output is a list, even if it is one text.
    #[serde(skip_serializing_if = "is_false")]
    pub list: bool,
    /// Members of the item.
    #[serde(skip_serializing_if = "Members::is_empty")]
    pub members: Members,
    /// Members of the parts of its content, by index.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<usize, Members>,
}

/// The metadata of an event, as far as it is about its item.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Metadata {
    openai_item: Note,
}

impl Note {
    /// The note of a recorded event; empty if it has none, or another form.
    pub(crate) fn of(event: &Event) -> Self {
        let text = event.metadata.as_ref().map(JsonText::as_str);
        let metadata = text.and_then(|text| serde_json::from_str::<Metadata>(text).ok());
        metadata.unwrap_or_default().openai_item
    }

    fn is_empty(&self) -> bool {
        self.id.is_none() && !self.whole && !self.list && self.members.is_empty() && self.parts.is_empty()
    }

    /// The metadata of the event; empty if the fact contains the whole item.
    ///
    /// # Errors
    /// More than [`METADATA_BYTES_MAX`], or U+0000.
    pub(crate) fn into_metadata(self) -> Result<String, Violation> {
        if self.is_empty() {
            return Ok(String::new());
        }
        let metadata = Metadata { openai_item: self };
        let text = serde_json::to_string(&metadata).unwrap_or_default();
        JsonText::parse_metadata(text, METADATA_BYTES_MAX).map(|text| text.as_str().to_owned())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
