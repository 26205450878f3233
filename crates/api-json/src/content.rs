//! Parts of messages, and JSON that is written as it was recorded.

use domain::{JsonText, Label, MediaSource, Part};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A part of a message.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum PartBody {
    /// Plain text.
    #[serde(rename_all = "camelCase")]
    Text {
        /// The text.
        text: String,
    },
    /// A picture, by reference.
    #[serde(rename_all = "camelCase")]
    Image {
        /// The location.
        #[serde(flatten)]
        source: SourceBody,
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// The detail in which the model should read it.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Any other file, by reference.
    #[serde(rename_all = "camelCase")]
    File {
        /// The location.
        #[serde(flatten)]
        source: SourceBody,
        /// Its media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// Its name.
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
    },
    /// A thought of the model.
    #[serde(rename_all = "camelCase")]
    Thinking {
        /// The thought.
        text: String,
        /// The provider's signature of the thought.
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A thought that the provider returned encrypted.
    #[serde(rename_all = "camelCase")]
    RedactedThinking {
        /// The provider's text.
        data: String,
    },
    /// A refusal of the model.
    #[serde(rename_all = "camelCase")]
    Refusal {
        /// The text.
        text: String,
    },
    /// An item of a provider.
    #[serde(rename_all = "camelCase")]
    ProviderItem {
        /// The provider.
        provider: String,
        /// The item.
        item: Verbatim,
    },
}

/// The location of a picture or file: exactly one is set.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum SourceBody {
    /// A URL.
    Url(String),
    /// An id at the provider that stores it.
    FileId(String),
}

/// JSON text as it was given; empty if absent.
#[must_use]
pub fn json_text(json: Option<Box<RawValue>>) -> String {
    json.map(|json| Box::<str>::from(json).into_string()).unwrap_or_default()
}

/// What the parts contain as plain text: texts and refusals.
pub fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Refusal(text) => Some(text.as_str()),
        Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::ProviderItem { .. } => None,
    })
}

/// The text of a label.
pub(crate) fn text(label: Option<&Label>) -> Option<String> {
    label.map(|label| label.as_str().to_owned())
}

/// A document as it was recorded.
pub(crate) fn json(json: &JsonText) -> Verbatim {
    Verbatim(json.clone())
}

impl From<&Part> for PartBody {
    fn from(part: &Part) -> Self {
        match part {
            Part::Text(text) => Self::Text { text: text.clone() },
            Part::Image { source, media_type, detail } => Self::Image {
                source: source.into(),
                media_type: text(media_type.as_ref()),
                detail: text(detail.as_ref()),
            },
            Part::File { source, media_type, filename } => Self::File {
                source: source.into(),
                media_type: text(media_type.as_ref()),
                filename: text(filename.as_ref()),
            },
            Part::Thinking { text, signature } => Self::Thinking { text: text.clone(), signature: signature.clone() },
            Part::RedactedThinking(data) => Self::RedactedThinking { data: data.clone() },
            Part::Refusal(text) => Self::Refusal { text: text.clone() },
            Part::ProviderItem { provider, item } => {
                Self::ProviderItem { provider: provider.as_str().to_owned(), item: json(item) }
            }
        }
    }
}

impl From<&MediaSource> for SourceBody {
    fn from(source: &MediaSource) -> Self {
        match source {
            MediaSource::Url(url) => Self::Url(url.clone()),
            MediaSource::FileId(id) => Self::FileId(id.clone()),
        }
    }
}

/// A JSON document, byte for byte as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, ToSchema)]
#[schema(value_type = serde_json::Value)]
pub struct Verbatim(pub JsonText);

impl Serialize for Verbatim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document: &RawValue =
            serde_json::from_str(self.0.as_str()).map_err(|_| S::Error::custom("a recorded document is not JSON"))?;
        document.serialize(serializer)
    }
}
