//! Images and files in the provider's format, and their placeholders.

use std::borrow::Cow;

use domain::{Label, MediaSource, Version};

use crate::loss::LostContent;

use super::body::ContentPart;
use super::draft::Draft;

/// The default detail level of images.
pub(super) const DETAIL_DEFAULT: &str = "auto";
/// The other detail levels.
const DETAILS: [&str; 2] = ["low", "high"];
/// The name of an inline file without one, because the provider requires a name.
pub(super) const UNNAMED_FILE: &str = "file";
/// The scheme of URLs that contain data.
pub(super) const DATA_SCHEME: &str = "data:";
/// The placeholder text of media without name and media type.
const UNKNOWN: &str = "unknown";

/// An image in a user message or in the output of a tool.
///
/// Only `data:` URLs contain a media type; otherwise it is lost.
pub(super) fn image<'a>(
    draft: &mut Draft<'_>,
    version: Version,
    source: &'a MediaSource,
    media_type: Option<&Label>,
    detail: Option<&'a Label>,
) -> ContentPart<'a> {
    if media_type.is_some() && !carries_content(source) {
        draft.notes.change_form(version, LostContent::Image);
    }
    let requested = detail.map_or(DETAIL_DEFAULT, Label::as_str);
    let known = requested == DETAIL_DEFAULT || DETAILS.contains(&requested);
    if !known {
        draft.notes.omit(version, LostContent::ImageDetail);
    }
    let (image_url, file_id) = match source {
        MediaSource::Url(url) => (Some(url.as_str()), None),
        MediaSource::FileId(id) => (None, Some(id.as_str())),
    };
    ContentPart::InputImage { image_url, file_id, detail: if known { requested } else { DETAIL_DEFAULT } }
}

/// A file in a user message or in the output of a tool.
///
/// Only inline files have a name, and only `data:` URLs contain a media type; otherwise they are lost.
pub(super) fn file<'a>(
    draft: &mut Draft<'_>,
    version: Version,
    source: &'a MediaSource,
    media_type: Option<&Label>,
    filename: Option<&'a Label>,
) -> ContentPart<'a> {
    if (media_type.is_some() || filename.is_some()) && !carries_content(source) {
        draft.notes.change_form(version, LostContent::File);
    }
    let (mut file_data, mut file_url, mut file_id, mut name) = (None, None, None, None);
    match source {
        MediaSource::Url(url) if carries_content(source) => {
            file_data = Some(url.as_str());
            name = Some(filename.map_or(UNNAMED_FILE, Label::as_str));
        }
        MediaSource::Url(url) => file_url = Some(url.as_str()),
        MediaSource::FileId(id) => file_id = Some(id.as_str()),
    }
    ContentPart::InputFile { filename: name, file_data, file_url, file_id }
}

/// Whether the URL or the id is empty. The provider rejects such sources.
pub(super) fn is_empty_source(source: &MediaSource) -> bool {
    match source {
        MediaSource::Url(text) | MediaSource::FileId(text) => text.is_empty(),
    }
}

fn carries_content(source: &MediaSource) -> bool {
    match source {
        MediaSource::Url(url) => url.starts_with(DATA_SCHEME),
        MediaSource::FileId(_) => false,
    }
}

/// The placeholder of an image.
pub(super) fn image_text(media_type: Option<&Label>) -> Cow<'static, str> {
    format!("[image: {}]", media_type.map_or(UNKNOWN, Label::as_str)).into()
}

/// The placeholder of a file.
pub(super) fn file_text(filename: Option<&Label>, media_type: Option<&Label>) -> Cow<'static, str> {
    let named = filename.or(media_type);
    format!("[file: {}]", named.map_or(UNKNOWN, Label::as_str)).into()
}

#[cfg(test)]
mod tests {
    use domain::Part;
    use domain::event::Role;
    use domain::event::Role::{Assistant, System, User};

    use crate::tests::openai_responses::{Case, label, message_turn, text};

    use super::*;

    #[test]
    fn images_are_rendered_in_inputs() {
        check_turn(
            User,
            vec![picture("data:image/png;base64,AA", Some("low"))],
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"low"}]}"#,
            ],
        );
        check_turn(
            User,
            vec![picture("https://a/b.png", Some("closely"))],
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"https://a/b.png","detail":"auto"}]}"#,
                "lost 1 image other_form",
                "lost 1 image_detail nothing",
            ],
        );
        check_turn(
            Assistant,
            vec![picture("https://a/b.png", None)],
            &[r#"{"type":"message","role":"assistant","content":"[image: image/png]"}"#, "lost 1 image text"],
        );
        check_turn(
            User,
            vec![picture("", None)],
            &[r#"{"type":"message","role":"user","content":"[image: image/png]"}"#, "lost 1 image text"],
        );
    }

    #[test]
    fn files_are_rendered_in_inputs() {
        let url = |url: &str| MediaSource::Url(url.to_owned());
        check_turn(
            User,
            vec![document(url("data:text/plain;base64,AA"), None)],
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_file","filename":"file","file_data":"data:text/plain;base64,AA"}]}"#,
            ],
        );
        check_turn(
            User,
            vec![document(MediaSource::FileId("f".to_owned()), None)],
            &[r#"{"type":"message","role":"user","content":[{"type":"input_file","file_id":"f"}]}"#],
        );
        check_turn(
            User,
            vec![document(url("https://a/b"), Some("b.pdf"))],
            &[
                r#"{"type":"message","role":"user","content":[{"type":"input_file","file_url":"https://a/b"}]}"#,
                "lost 1 file other_form",
            ],
        );
        let late = vec![
            message_turn(User, vec![text("a")]),
            message_turn(System, vec![document(url("https://a/b"), Some("b.pdf"))]),
        ];
        Case::of(late).check(&[
            r#"{"type":"message","role":"user","content":"a"}"#,
            r#"{"type":"message","role":"system","content":"[file: b.pdf]"}"#,
            "lost 2 file text",
        ]);
    }

    fn check_turn(role: Role, parts: Vec<Part>, expected: &[&str]) {
        Case::of(vec![message_turn(role, parts)]).check(expected);
    }

    fn picture(url: &str, detail: Option<&str>) -> Part {
        Part::Image {
            source: MediaSource::Url(url.to_owned()),
            media_type: Some(label("image/png")),
            detail: detail.map(label),
        }
    }

    fn document(source: MediaSource, filename: Option<&str>) -> Part {
        Part::File { source, media_type: None, filename: filename.map(label) }
    }
}
