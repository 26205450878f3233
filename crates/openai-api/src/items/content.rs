//! Parts of messages and outputs, as OpenAI writes them.

use domain::{MediaSource, Part};
use serde_json::value::RawValue;

use super::PROVIDER;
use super::members::{Members, put};

/// The prefix that a `data:` URL got from bare base64.
const BARE_CONTENT: &str = "data:application/octet-stream;base64,";

/// Who wrote the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// The model: texts are `output_text`.
    Model,
    /// Anyone else: texts are `input_text`.
    Client,
}

/// A part of a content; `None`: OpenAI has no form for it.
pub(super) fn content_part(part: &Part, author: Author) -> serde_json::Result<Option<Members>> {
    let mut members = Members::new();
    match part {
        Part::Text(text) => {
            put(&mut members, "text", text)?;
            if author == Author::Model {
                put(&mut members, "type", "output_text")?;
                put(&mut members, "annotations", &[(); 0])?;
                put(&mut members, "logprobs", &[(); 0])?;
            } else {
                put(&mut members, "type", "input_text")?;
            }
        }
        Part::Refusal(refusal) => {
            put(&mut members, "type", "refusal")?;
            put(&mut members, "refusal", refusal)?;
        }
        Part::Image { source, detail, .. } => {
            put(&mut members, "type", "input_image")?;
            let detail = detail.as_ref().map_or("auto", |detail| detail.as_str());
            put(&mut members, "detail", detail)?;
            match source {
                MediaSource::Url(url) => put(&mut members, "image_url", url)?,
                MediaSource::FileId(id) => put(&mut members, "file_id", id)?,
            }
        }
        Part::File { source, filename, .. } => {
            put(&mut members, "type", "input_file")?;
            if let Some(filename) = filename {
                put(&mut members, "filename", filename.as_str())?;
            }
            file(&mut members, source)?;
        }
        Part::ProviderItem { provider, item } if provider.as_str() == PROVIDER => {
            return serde_json::from_str(item.as_str()).map(Some);
        }
        Part::ProviderItem { .. } | Part::Thinking { .. } | Part::RedactedThinking(_) => {
            return Ok(None);
        }
    }
    Ok(Some(members))
}

fn file(members: &mut Members, source: &MediaSource) -> serde_json::Result<()> {
    match source {
        MediaSource::Url(url) => match url.strip_prefix(BARE_CONTENT) {
            Some(bare) => put(members, "file_data", bare),
            None if url.starts_with("data:") => put(members, "file_data", url),
            None => put(members, "file_url", url),
        },
        MediaSource::FileId(id) => put(members, "file_id", id),
    }
}

/// The entries of a list; `None`: it is not a list of objects.
pub(super) fn entries(list: &RawValue) -> Option<Vec<Members>> {
    serde_json::from_str(list.get()).ok()
}
