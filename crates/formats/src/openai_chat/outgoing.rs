//! The structures of a request. The order of fields is the order of the bytes.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// Maximum characters of a `prompt_cache_key`. A longer key is replaced by its SHA-256 in hexadecimal.
pub const CACHE_KEY_CHARS_MAX: usize = 64;

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
    Kept {
        file_id: &'a str,
    },
    Inline {
        filename: &'a str,
        file_data: &'a str,
    },
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

/// The cache key in the form that the provider accepts; `None` for an empty key.
pub(super) fn prompt_cache_key(key: &str) -> Option<Cow<'_, str>> {
    if key.is_empty() {
        return None;
    }
    if key.chars().count() <= CACHE_KEY_CHARS_MAX {
        return Some(Cow::Borrowed(key));
    }
    Some(Cow::Owned(hex::encode(Sha256::digest(key))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_keys_at_their_bound() {
        let check = |key: &str, expected: Option<&str>| {
            assert_eq!(prompt_cache_key(key).as_deref(), expected);
        };
        check("", None);
        let longest = "ü".repeat(CACHE_KEY_CHARS_MAX);
        check(&longest, Some(&longest));
        let digest = "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9";
        check(&"x".repeat(CACHE_KEY_CHARS_MAX + 1), Some(digest));
        assert_eq!(digest.len(), CACHE_KEY_CHARS_MAX);
    }
}
