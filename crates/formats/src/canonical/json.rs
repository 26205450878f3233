//! The JSON of the canonical format: one struct per object, with fields in the order of the bytes.

use std::borrow::Cow;

use domain::event::ToolOutcome;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context<'a> {
    #[serde(default, borrow)]
    pub(super) instructions: Vec<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) opening: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) turns: Vec<Turn<'a>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) closing: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn<'a> {
    pub(super) version: u64,
    #[serde(with = "Role")]
    pub(super) role: domain::event::Role,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) author: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part<'a>>,
    #[serde(default, borrow, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Call<'a>>,
}

/// The names of [`domain::event::Role`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "domain::event::Role", rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
    System,
    Developer,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Part<'a> {
    Text {
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    Image {
        #[serde(borrow)]
        source: Source<'a>,
        #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
        media_type: Option<Cow<'a, str>>,
        #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
        detail: Option<Cow<'a, str>>,
    },
    File {
        #[serde(borrow)]
        source: Source<'a>,
        #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
        media_type: Option<Cow<'a, str>>,
        #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
        filename: Option<Cow<'a, str>>,
    },
    Thinking {
        #[serde(borrow)]
        text: Cow<'a, str>,
        #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
        signature: Option<Cow<'a, str>>,
    },
    RedactedThinking {
        #[serde(borrow)]
        data: Cow<'a, str>,
    },
    Refusal {
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    /// The item is JSON text in a string, because serde cannot keep raw JSON in a tagged object.
    ProviderItem {
        #[serde(borrow)]
        provider: Cow<'a, str>,
        #[serde(borrow)]
        item_json: Cow<'a, str>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Source<'a> {
    Url(#[serde(borrow)] Cow<'a, str>),
    FileId(#[serde(borrow)] Cow<'a, str>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call<'a> {
    pub(super) version: u64,
    #[serde(rename = "call_id", borrow)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) tool_name: Cow<'a, str>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) signature: Option<Cow<'a, str>>,
    pub(super) input: Box<RawValue>,
    #[serde(borrow)]
    pub(super) result: CallResult<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallResult<'a> {
    pub(super) origin: Origin,
    /// The version of the recorded result; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<u64>,
    #[serde(with = "Outcome")]
    pub(super) outcome: ToolOutcome,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<Box<RawValue>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<Vec<Part<'a>>>,
}

/// A field that is present. `null` is a document.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(deserializer).map(Some)
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    Recorded,
    Cleared,
    Pending,
    Interrupted,
}

/// The names of [`ToolOutcome`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolOutcome", rename_all = "snake_case")]
enum Outcome {
    Succeeded,
    Failed,
}
