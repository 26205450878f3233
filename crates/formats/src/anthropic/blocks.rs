//! The structures of a request. The order of fields determines the bytes and must not change.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a request that contain the context.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) system: Vec<Block<'a>>,
    pub(super) messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: Speaker,
    pub(super) content: Vec<Block<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Assistant,
}

/// One block of content.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Content(Content<'a>),
    Thought(Thought<'a>),
    /// A block of Anthropic without a canonical form.
    Verbatim(Cow<'a, RawValue>),
}

/// A block that can have a cache breakpoint.
#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    #[serde(flatten)]
    pub(super) kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Kind<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a RawValue>,
    },
    Image {
        source: Source<'a>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Output<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thought<'a> {
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
}

/// The source of an image or a document.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: &'static str, data: &'a str },
    Text { media_type: &'static str, data: String },
    Url { url: &'a str },
    File { file_id: &'a str },
}

/// A call's input: an object (A3).
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    Object(Cow<'a, RawValue>),
    Wrapped { input: Cow<'a, RawValue> },
}

/// The content of a result: a JSON document as text, or parts as blocks.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

/// A cache breakpoint.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum CacheControl {
    Ephemeral,
}

impl<'a> Block<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::from(Kind::Text { text: text.into(), citations: None })
    }

    pub(super) fn is_thought(&self) -> bool {
        matches!(self, Self::Thought(_))
    }
}

impl<'a> From<Kind<'a>> for Block<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self::Content(Content { kind, cache_control: None })
    }
}
