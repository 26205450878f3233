//! The structures of a request. The order of fields is the order of the bytes.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a request that contain the context.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    /// Always false (L5).
    pub(super) truncate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<ModelOptions>,
    pub(super) messages: Vec<Message<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct ModelOptions {
    /// Tokens.
    pub(super) num_ctx: u32,
}

#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        content: Cow<'a, str>,
        /// Base64 without a `data:` URL.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<&'a str>,
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<Cow<'a, str>>,
        /// Empty if there are only calls or thoughts (L1).
        content: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
    },
    Tool {
        tool_name: String,
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct ToolCall<'a> {
    pub(super) id: String,
    pub(super) function: Function<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: String,
    pub(super) arguments: Arguments<'a>,
}

/// The input of a call: always an object (L2).
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Arguments<'a> {
    /// As recorded.
    Object(&'a RawValue),
    /// Other JSON, in an object with one field.
    Wrapped { input: &'a RawValue },
}
