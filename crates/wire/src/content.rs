//! Conversions of the parts of messages and tool results.

use domain::bounds::PARTS_MAX;
use domain::{JsonText, Label, MediaSource, Part, Violation, ViolationReason};

use crate::optional::{label, label_text};
use crate::proto::event::v1 as proto;

/// Parts as protobuf.
#[must_use]
pub fn to_proto(parts: &[Part]) -> Vec<proto::Part> {
    parts.iter().map(part_to_proto).collect()
}

/// Parts as domain types; the field of a violation begins with the part's index.
///
/// # Errors
/// The first part that breaks a rule, or [`ViolationReason::TooLong`] over [`PARTS_MAX`] parts.
pub fn from_proto(parts: Vec<proto::Part>) -> Result<Vec<Part>, Violation> {
    if parts.len() > PARTS_MAX {
        return Err(Violation::new(
            ViolationReason::TooLong,
            format!("has {} parts, at most {PARTS_MAX} are allowed", parts.len()),
        ));
    }
    let parts = parts.into_iter().enumerate();
    parts.map(|(index, part)| part_from_proto(part).map_err(|violation| violation.at(index))).collect()
}

fn part_to_proto(part: &Part) -> proto::Part {
    use proto::part::Kind;
    let kind = match part {
        Part::Text(text) => Kind::Text(text.clone()),
        Part::Image { source, media_type, detail } => Kind::Image(proto::Image {
            source: Some(source_to_proto(source)),
            media_type: label_text(media_type.as_ref()),
            detail: label_text(detail.as_ref()),
        }),
        Part::File { source, media_type, filename } => Kind::File(proto::File {
            source: Some(source_to_proto(source)),
            media_type: label_text(media_type.as_ref()),
            filename: label_text(filename.as_ref()),
        }),
        Part::Thinking { text, signature } => {
            Kind::Thinking(proto::Thinking { text: text.clone(), signature: signature.clone() })
        }
        Part::RedactedThinking(text) => Kind::RedactedThinking(text.clone()),
        Part::Refusal(text) => Kind::Refusal(text.clone()),
        Part::ProviderItem { provider, item } => Kind::ProviderItem(proto::ProviderItem {
            provider: provider.as_str().to_owned(),
            item_json: item.as_str().to_owned(),
        }),
    };
    proto::Part { kind: Some(kind) }
}

fn part_from_proto(part: proto::Part) -> Result<Part, Violation> {
    use proto::part::Kind;
    match part.kind {
        None => Err(Violation::new(
            ViolationReason::Missing,
            "has no kind: set text, image, file, thinking, redacted_thinking, refusal or provider_item",
        )),
        Some(Kind::Text(text)) => Ok(Part::Text(text)),
        Some(Kind::Image(image)) => image_from_proto(image).map_err(|violation| violation.within("image")),
        Some(Kind::File(file)) => file_from_proto(file).map_err(|violation| violation.within("file")),
        Some(Kind::Thinking(thinking)) => Ok(Part::Thinking { text: thinking.text, signature: thinking.signature }),
        Some(Kind::RedactedThinking(text)) => Ok(Part::RedactedThinking(text)),
        Some(Kind::Refusal(text)) => Ok(Part::Refusal(text)),
        Some(Kind::ProviderItem(item)) => item_from_proto(item).map_err(|violation| violation.within("provider_item")),
    }
}

fn image_from_proto(image: proto::Image) -> Result<Part, Violation> {
    Ok(Part::Image {
        source: source_from_proto(image.source)?,
        media_type: label(image.media_type, "media_type")?,
        detail: label(image.detail, "detail")?,
    })
}

fn file_from_proto(file: proto::File) -> Result<Part, Violation> {
    Ok(Part::File {
        source: source_from_proto(file.source)?,
        media_type: label(file.media_type, "media_type")?,
        filename: label(file.filename, "filename")?,
    })
}

fn item_from_proto(item: proto::ProviderItem) -> Result<Part, Violation> {
    Ok(Part::ProviderItem {
        provider: Label::parse(item.provider).map_err(|violation| violation.within("provider"))?,
        item: JsonText::parse(item.item_json).map_err(|violation| violation.within("item_json"))?,
    })
}

fn source_to_proto(source: &MediaSource) -> proto::MediaSource {
    use proto::media_source::Kind;
    let kind = match source {
        MediaSource::Url(url) => Kind::Url(url.clone()),
        MediaSource::FileId(id) => Kind::FileId(id.clone()),
    };
    proto::MediaSource { kind: Some(kind) }
}

fn source_from_proto(source: Option<proto::MediaSource>) -> Result<MediaSource, Violation> {
    use proto::media_source::Kind;
    match source.and_then(|source| source.kind) {
        Some(Kind::Url(url)) if !url.is_empty() => Ok(MediaSource::Url(url)),
        Some(Kind::FileId(id)) if !id.is_empty() => Ok(MediaSource::FileId(id)),
        _ => Err(Violation::new(ViolationReason::Missing, "is required: set url or file_id").within("source")),
    }
}
