//! Images and files: inline in base64, or by URL.

use std::borrow::Cow;

use domain::{Label, MediaSource, Part};
use serde::Deserialize;

use super::FILES_ADDRESS;
use super::body::{Blob, FileRef, OutData};
use crate::ParseError;

/// The prefix of the ids of the provider's files.
const FILE_ID_MARK: &str = "files/";
/// The scheme of URLs that contain data.
const DATA_MARK: &str = "data:";
/// The suffix of the header of a `data:` URL with base64.
const BASE64_MARK: &str = ";base64";
/// The prefix of the media types of images.
const IMAGE_MARK: &str = "image/";

/// Renders media; `None` if the provider cannot fetch it, or if its media type is unknown.
pub(super) fn written<'a>(source: &'a MediaSource, media_type: Option<&'a Label>) -> Option<OutData<'a>> {
    let media_type = media_type.map(Label::as_str);
    match source {
        MediaSource::Url(url) => match after_data_mark(url) {
            Some(data_url) => inline(data_url, media_type),
            None => by_url(Cow::Borrowed(url), media_type),
        },
        MediaSource::FileId(id) if id.starts_with(FILE_ID_MARK) => {
            by_url(Cow::Owned(format!("{FILES_ADDRESS}{id}")), media_type)
        }
        MediaSource::FileId(_) => None,
    }
}

/// The text after `data:` in any case.
fn after_data_mark(url: &str) -> Option<&str> {
    let (mark, rest) = url.split_at_checked(DATA_MARK.len())?;
    mark.eq_ignore_ascii_case(DATA_MARK).then_some(rest)
}

fn inline<'a>(data_url: &'a str, media_type: Option<&'a str>) -> Option<OutData<'a>> {
    let (head, data) = data_url.split_once(',')?;
    let named = head.strip_suffix(BASE64_MARK)?;
    let is_named = !named.is_empty() && !named.starts_with(';');
    let mime_type = if is_named { named } else { media_type? };
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
    let sound = !data.is_empty() && data.bytes().all(is_base64);
    sound.then_some(OutData::Inline { inline_data: Blob { mime_type, data } })
}

fn by_url<'a>(file_uri: Cow<'a, str>, media_type: Option<&'a str>) -> Option<OutData<'a>> {
    let mime_type = media_type?;
    (!file_uri.is_empty()).then_some(OutData::File { file_data: FileRef { mime_type, file_uri } })
}

/// Parsed inline content.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReadBlob {
    #[serde(alias = "mime_type")]
    mime_type: String,
    data: String,
}

/// Parsed content by URL.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReadFileRef {
    #[serde(default, alias = "mime_type")]
    mime_type: Option<String>,
    #[serde(alias = "file_uri")]
    file_uri: String,
}

impl ReadBlob {
    pub(super) fn part(self, field: &str) -> Result<Part, ParseError> {
        let Self { mime_type, data } = self;
        let url = format!("{DATA_MARK}{mime_type}{BASE64_MARK},{data}");
        medium(MediaSource::Url(url), Some(mime_type), field)
    }
}

impl ReadFileRef {
    pub(super) fn part(self, field: &str) -> Result<Part, ParseError> {
        let id = self.file_uri.strip_prefix(FILES_ADDRESS);
        let source = match id.filter(|id| id.starts_with(FILE_ID_MARK)) {
            Some(id) => MediaSource::FileId(id.to_owned()),
            None => MediaSource::Url(self.file_uri),
        };
        medium(source, self.mime_type, field)
    }
}

fn medium(source: MediaSource, mime: Option<String>, field: &str) -> Result<Part, ParseError> {
    let media_type = mime
        .filter(|mime| !mime.is_empty())
        .map(Label::parse)
        .transpose()
        .map_err(|violation| ParseError::unusable(format!("{field}.mimeType"), violation))?;
    let pictures = |label: &Label| label.as_str().starts_with(IMAGE_MARK);
    Ok(if media_type.as_ref().is_some_and(pictures) {
        Part::Image { source, media_type, detail: None }
    } else {
        Part::File { source, media_type, filename: None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_travels_along_or_stands_at_an_address() {
        let png = "data:image/png;base64,iVBO+/-_Rw0=";
        check(&url(png), None, "image/png iVBO+/-_Rw0=");
        check(&url("DATA:image/png;base64,AA"), None, "image/png AA");
        check(&url("data:audio/pcm;rate=8000;base64,AA"), None, "audio/pcm;rate=8000 AA");
        check(&url("data:;base64,AA"), Some("image/gif"), "image/gif AA");
        check(&url("data:;charset=utf-8;base64,AA"), Some("text/csv"), "text/csv AA");
        let there = "https://example.org/a.png";
        check(&url(there), Some("image/png"), "image/png @https://example.org/a.png");
        let id = MediaSource::FileId("files/abc".to_owned());
        let address = format!("application/pdf @{FILES_ADDRESS}files/abc");
        check(&id, Some("application/pdf"), &address);
    }

    #[test]
    fn what_cannot_be_reached_or_named_is_not_written() {
        for address in [
            "data:;base64,AA",
            "data:image/png;base64,",
            "data:image/png;base64,A A",
            "data:text/plain,hello",
            "data:",
            "https://example.org/a.png",
        ] {
            check(&url(address), None, "nothing");
        }
        check(&url(""), Some("image/png"), "nothing");
        let foreign = MediaSource::FileId("file-abc".to_owned());
        check(&foreign, Some("image/png"), "nothing");
    }

    fn check(source: &MediaSource, media_type: Option<&str>, expected: &str) {
        let media_type = media_type.map(|name| Label::parse(name).unwrap());
        let found = match written(source, media_type.as_ref()) {
            Some(OutData::Inline { inline_data: blob }) => {
                format!("{} {}", blob.mime_type, blob.data)
            }
            Some(OutData::File { file_data: file }) => {
                format!("{} @{}", file.mime_type, file.file_uri)
            }
            _ => "nothing".to_owned(),
        };
        assert_eq!(found, expected, "{source:?}");
    }

    fn url(text: &str) -> MediaSource {
        MediaSource::Url(text.to_owned())
    }
}
