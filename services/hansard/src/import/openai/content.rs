//! Parses the content of a message: a text, or a list of parts.

use domain::Violation;
use serde_json::value::RawValue;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::part::Kind;

use crate::import::fields::{Fields, malformed, missing, read};
use crate::import::text_parts;

/// The provider name of parts that are stored unparsed.
const PROVIDER: &str = "openai";

/// Parses the parts of a content, in order. A part of an unknown type is stored unparsed. An empty text has no part; an empty
/// text in a list of parts is rejected.
pub(super) fn parts(content: &RawValue) -> Result<Vec<proto::Part>, Violation> {
    let text = content.get();
    if text.starts_with('"') {
        return Ok(text_parts(read(text)?));
    }
    if !text.starts_with('[') {
        return Err(malformed("must be a text or a list of parts"));
    }
    let list: Vec<&RawValue> = read(text)?;
    list.into_iter()
        .enumerate()
        .map(|(index, part)| self::part(part.get()).map_err(|violation| violation.at(index)))
        .collect()
}

fn part(text: &str) -> Result<proto::Part, Violation> {
    let mut fields = Fields::parse(text)?;
    let kind = match fields.require_as::<String>("type")?.as_str() {
        "text" => Some(Kind::Text(fields.require_as("text")?)),
        "refusal" => Some(Kind::Refusal(fields.require_as("refusal")?)),
        "image_url" => image(&mut fields).map_err(|violation| violation.within("image_url"))?,
        "file" => file(&mut fields).map_err(|violation| violation.within("file"))?,
        _ => None,
    };
    // A part with unknown members is stored unparsed, so that nothing is lost.
    let kind = kind.filter(|_| fields.rest().is_empty()).or_else(|| {
        Some(Kind::ProviderItem(proto::ProviderItem { provider: PROVIDER.to_owned(), item_json: text.to_owned() }))
    });
    Ok(proto::Part { kind })
}

fn image(fields: &mut Fields<'_>) -> Result<Option<Kind>, Violation> {
    let value = fields.take("image_url").ok_or_else(missing)?;
    let mut image = Fields::parse(value.get())?;
    let url = image.require_as("url")?;
    let kind = Kind::Image(proto::Image {
        source: Some(source(proto::media_source::Kind::Url(url))),
        media_type: String::new(),
        detail: image.take_text("detail")?,
    });
    Ok(Some(kind).filter(|_| image.rest().is_empty()))
}

fn file(fields: &mut Fields<'_>) -> Result<Option<Kind>, Violation> {
    let value = fields.take("file").ok_or_else(missing)?;
    let mut file = Fields::parse(value.get())?;
    let filename = file.take_text("filename")?;
    let (id, data) = (file.take_text("file_id")?, file.take_text("file_data")?);
    let kind = match (id.as_str(), data.as_str()) {
        ("", "") => return Err(malformed("requires file_id or file_data")),
        (_, "") => proto::media_source::Kind::FileId(id),
        ("", _) => proto::media_source::Kind::Url(data),
        _ => return Ok(None),
    };
    let file_part = proto::File { source: Some(source(kind)), media_type: String::new(), filename };
    Ok(Some(Kind::File(file_part)).filter(|_| file.rest().is_empty()))
}

fn source(kind: proto::media_source::Kind) -> proto::MediaSource {
    proto::MediaSource { kind: Some(kind) }
}
