//! The structures of a request. The order of fields is the order of the bytes.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a request that contain the context.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<Cow<'a, str>>,
    pub(super) messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System(TextMessage<'a>),
    Developer(TextMessage<'a>),
    User(TextMessage<'a>),
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
        /// `null` if there are only calls (O2).
        content: Option<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        refusal: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Content<'a>,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct TextMessage<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) content: Content<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    /// Never empty (O1).
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
    },
    File {
        file: File<'a>,
    },
    Refusal {
        refusal: String,
    },
    /// One of the provider's own parts, verbatim.
    #[serde(untagged)]
    Item(&'a RawValue),
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum File<'a> {
    Kept { file_id: &'a str },
    Inline { filename: &'a str, file_data: &'a str },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "function")]
pub(super) struct ToolCall<'a> {
    pub(super) id: String,
    pub(super) function: Function<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: String,
    /// JSON text in a string (O4), as recorded.
    pub(super) arguments: &'a str,
}
