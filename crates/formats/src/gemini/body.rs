//! The structures of a request. The order of fields is the order of the bytes.

use std::borrow::Cow;

use domain::JsonText;
use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a request that contain the context. Instructions come first, because they are the most stable.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system_instruction: Option<Instruction<'a>>,
    pub(super) contents: Vec<Content<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Instruction<'a> {
    pub(super) parts: Vec<OutPart<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: Side,
    pub(super) parts: Vec<OutPart<'a>>,
}

/// The two roles (G1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Side {
    User,
    Model,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutPart<'a> {
    Made(MadePart<'a>),
    /// A provider item, verbatim.
    Verbatim(&'a RawValue),
}

/// A part with its signature.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MadePart<'a> {
    #[serde(flatten)]
    pub(super) data: OutData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thought_signature: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(super) enum OutData<'a> {
    Text { text: Cow<'a, str> },
    Thought { text: &'a str, thought: bool },
    Inline { inline_data: Blob<'a> },
    File { file_data: FileRef<'a> },
    Call { function_call: OutCall<'a> },
    Answer { function_response: OutAnswer<'a> },
}

/// Inline content in base64.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    pub(super) mime_type: &'a str,
    pub(super) data: &'a str,
}

/// Content at a URL.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileRef<'a> {
    pub(super) mime_type: &'a str,
    pub(super) file_uri: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct OutCall<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: OutArgs<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutArgs<'a> {
    Object(&'a RawValue),
    /// An input that is not an object, in a field of an object.
    Wrapped {
        input: OutJson<'a>,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct OutAnswer<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) response: OutResponse<'a>,
}

/// A result is an object (G4).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum OutResponse<'a> {
    Output(OutJson<'a>),
    Error(OutJson<'a>),
}

/// A document verbatim, or a text.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum OutJson<'a> {
    Raw(&'a RawValue),
    Text(Cow<'a, str>),
}

impl<'a> OutJson<'a> {
    /// The document verbatim, or as text if it is not JSON.
    pub(super) fn from_json(json: &'a JsonText) -> Self {
        match serde_json::from_str(json.as_str()) {
            Ok(raw) => Self::Raw(raw),
            Err(_) => Self::Text(Cow::Borrowed(json.as_str())),
        }
    }
}

impl<'a> OutPart<'a> {
    /// A part without a signature.
    pub(super) fn unsigned(data: OutData<'a>) -> Self {
        Self::Made(MadePart { data, thought_signature: None })
    }

    /// A text; `None` if it is empty (G2).
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        (!text.is_empty()).then(|| Self::unsigned(OutData::Text { text }))
    }
}
