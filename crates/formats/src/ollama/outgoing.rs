//! The shapes of a request, in the order in which their fields are written.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// The part of a request that carries the context.
#[derive(Debug, Serialize)]
pub(super) struct Body<'a> {
    /// Never (L5).
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
        /// Base64 without its address.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        images: Vec<&'a str>,
    },
    Assistant {
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking: Option<Cow<'a, str>>,
        /// Empty beside calls or thoughts alone (L1).
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

/// A call's input: always an object (L2).
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Arguments<'a> {
    /// As recorded.
    Object(&'a RawValue),
    /// Any other JSON, as the one value of an object.
    Wrapped { input: &'a RawValue },
}
