//! Parts of events that callers append, as JSON: one struct for all types, as for events.

use domain::{Violation, ViolationReason};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as proto;

use api_json::content::json_text;

/// A part of a message or of an output. `type` decides which members it has; others are rejected.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NewPartBody {
    /// The type of the part.
    #[serde(rename = "type")]
    #[schema(inline)]
    kind: PartType,
    /// `text`, `thinking`, `refusal`: the text.
    text: Option<String>,
    /// `image`, `file`: a URL. This or `fileId` is required.
    url: Option<String>,
    /// `image`, `file`: an id at the provider that stores it.
    file_id: Option<String>,
    /// `image`, `file`: the media type.
    media_type: Option<String>,
    /// `image`: the detail in which the model should read it.
    detail: Option<String>,
    /// `file`: its name.
    filename: Option<String>,
    /// `thinking`: the provider's signature.
    signature: Option<String>,
    /// `redactedThinking`: the provider's text.
    data: Option<String>,
    /// `providerItem`: the provider.
    provider: Option<String>,
    /// `providerItem`: the item, any JSON, recorded verbatim.
    #[schema(value_type = Option<serde_json::Value>)]
    item: Option<Box<RawValue>>,
}

/// The types of parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum PartType {
    /// Plain text.
    #[default]
    Text,
    /// A picture, by reference.
    Image,
    /// Any other file, by reference.
    File,
    /// A thought of the model.
    Thinking,
    /// A thought that the provider returned encrypted.
    RedactedThinking,
    /// A refusal of the model.
    Refusal,
    /// An item of a provider that has no canonical form.
    ProviderItem,
}

impl NewPartBody {
    fn into_proto(mut self) -> Result<proto::Part, Violation> {
        use proto::part::Kind;
        let kind = match self.kind {
            PartType::Text => Kind::Text(required(self.text.take(), "text")?),
            PartType::Refusal => Kind::Refusal(required(self.text.take(), "text")?),
            PartType::Thinking => Kind::Thinking(proto::Thinking {
                text: self.text.take().unwrap_or_default(),
                signature: self.signature.take(),
            }),
            PartType::RedactedThinking => Kind::RedactedThinking(required(self.data.take(), "data")?),
            PartType::Image => Kind::Image(proto::Image {
                source: Some(self.take_source()?),
                media_type: self.media_type.take().unwrap_or_default(),
                detail: self.detail.take().unwrap_or_default(),
            }),
            PartType::File => Kind::File(proto::File {
                source: Some(self.take_source()?),
                media_type: self.media_type.take().unwrap_or_default(),
                filename: self.filename.take().unwrap_or_default(),
            }),
            PartType::ProviderItem => Kind::ProviderItem(proto::ProviderItem {
                provider: required(self.provider.take(), "provider")?,
                item_json: json_text(Some(required(self.item.take(), "item")?)),
            }),
        };
        check_rest(&[
            ("text", self.text.is_some()),
            ("url", self.url.is_some()),
            ("fileId", self.file_id.is_some()),
            ("mediaType", self.media_type.is_some()),
            ("detail", self.detail.is_some()),
            ("filename", self.filename.is_some()),
            ("signature", self.signature.is_some()),
            ("data", self.data.is_some()),
            ("provider", self.provider.is_some()),
            ("item", self.item.is_some()),
        ])?;
        Ok(proto::Part { kind: Some(kind) })
    }

    /// A second source stays and is rejected with the rest.
    fn take_source(&mut self) -> Result<proto::MediaSource, Violation> {
        use proto::media_source::Kind;
        let kind = match self.url.take() {
            Some(url) => Kind::Url(url),
            None => Kind::FileId(required(self.file_id.take(), "url")?),
        };
        Ok(proto::MediaSource { kind: Some(kind) })
    }
}

pub(super) fn parts(given: Vec<NewPartBody>, member: &str) -> Result<Vec<proto::Part>, Violation> {
    let parts = given
        .into_iter()
        .enumerate()
        .map(|(index, part)| part.into_proto().map_err(|violation| violation.at(index).within(member)));
    parts.collect()
}

pub(super) fn check_rest(members: &[(&str, bool)]) -> Result<(), Violation> {
    match members.iter().find(|(_, is_given)| *is_given) {
        Some((member, _)) => {
            let rule = "does not belong to this type: remove it";
            Err(violation(rule).within(*member))
        }
        None => Ok(()),
    }
}

pub(super) fn required<T>(value: Option<T>, member: &str) -> Result<T, Violation> {
    value.ok_or_else(|| missing(member))
}

pub(super) fn missing(member: &str) -> Violation {
    Violation::new(ViolationReason::Missing, "is missing: add it").within(member)
}

pub(super) fn violation(rule: &'static str) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}
