//! The structures of a request. The order of fields is the order of the bytes.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a request that contain the context. Stable fields come first.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_cache_key: Option<Cow<'a, str>>,
    pub(super) input: Vec<Item<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        content: Content<'a>,
    },
    FunctionCall {
        call_id: String,
        name: String,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: String,
        output: Content<'a>,
    },
    #[serde(untagged)]
    Verbatim(&'a RawValue),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        #[serde(skip_serializing_if = "Option::is_none")]
        image_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
        detail: &'a str,
    },
    InputFile {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_data: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_url: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        file_id: Option<&'a str>,
    },
    OutputText {
        text: Cow<'a, str>,
        annotations: [&'a str; 0],
    },
    Refusal {
        refusal: &'a str,
    },
}

impl<'a> Content<'a> {
    /// The content of a message: a single text as a string, which is the documented form of assistant messages without an id
    /// (R4); otherwise a list.
    pub(super) fn from_parts(mut parts: Vec<ContentPart<'a>>) -> Self {
        match (parts.pop(), parts.is_empty()) {
            (Some(ContentPart::InputText { text } | ContentPart::OutputText { text, .. }), true) => Self::Text(text),
            (last, _) => {
                parts.extend(last);
                Self::Parts(parts)
            }
        }
    }
}

impl<'a> Item<'a> {
    /// A user message with a text.
    pub(super) fn user_text(text: &'a str) -> Self {
        Self::Message { role: "user", phase: None, content: Content::Text(Cow::Borrowed(text)) }
    }
}
