//! Images and files: the sources that Anthropic accepts, and placeholders for others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::{Label, MediaSource};

use super::blocks::Source;
use crate::values::is_base64;

/// The prefix of the ids of files that Anthropic stores.
const FILE_ID_PREFIX: &str = "file_";
/// The image types that it accepts as data.
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/// The document type that it accepts as data or by URL.
pub(super) const PDF: &str = "application/pdf";
/// The document type that it accepts as text.
pub(super) const PLAIN_TEXT: &str = "text/plain";

/// The source of an image, if Anthropic accepts it.
pub(super) fn image<'a>(source: &'a MediaSource, media_type: Option<&Label>) -> Option<Source<'a>> {
    let url = match source {
        MediaSource::FileId(file_id) => return kept_file(file_id),
        MediaSource::Url(url) => url,
    };
    let Some(data) = DataUrl::parse(url) else {
        return web_address(url);
    };
    let given = data.media_type(media_type);
    let media_type = IMAGE_TYPES.into_iter().find(|taken| taken.eq_ignore_ascii_case(given))?;
    data.base64().map(|data| Source::Base64 { media_type, data })
}

/// The source of a file, if Anthropic accepts it: PDF, or text as data.
pub(super) fn document<'a>(source: &'a MediaSource, media_type: Option<&Label>) -> Option<Source<'a>> {
    let url = match source {
        MediaSource::FileId(file_id) => return kept_file(file_id),
        MediaSource::Url(url) => url,
    };
    let Some(data) = DataUrl::parse(url) else {
        let is_pdf = media_type.map_or_else(|| ends_in_pdf(url), |given| given.as_str().eq_ignore_ascii_case(PDF));
        return web_address(url).filter(|_| is_pdf);
    };
    let given = data.media_type(media_type);
    if given.eq_ignore_ascii_case(PDF) {
        return data.base64().map(|data| Source::Base64 { media_type: PDF, data });
    }
    if !given.to_ascii_lowercase().starts_with("text/") {
        return None;
    }
    data.text().map(|data| Source::Text { media_type: PLAIN_TEXT, data })
}

/// Whether the source is a `data:` URL. Other sources do not contain a media type.
pub(super) fn is_data(source: &MediaSource) -> bool {
    matches!(source, MediaSource::Url(url) if DataUrl::parse(url).is_some())
}

/// The `data:` URL of a text.
pub(super) fn text_url(text: &str) -> String {
    data_url(PLAIN_TEXT, &STANDARD.encode(text))
}

/// The `data:` URL of data.
pub(super) fn data_url(media_type: &str, base64: &str) -> String {
    format!("data:{media_type};base64,{base64}")
}

fn kept_file(file_id: &str) -> Option<Source<'_>> {
    let is_anthropics = file_id.starts_with(FILE_ID_PREFIX);
    is_anthropics.then_some(Source::File { file_id })
}

fn web_address(url: &str) -> Option<Source<'_>> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web.then_some(Source::Url { url })
}

fn ends_in_pdf(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.to_ascii_lowercase().ends_with(".pdf")
}

/// A parsed `data:` URL.
struct DataUrl<'a> {
    media_type: &'a str,
    is_base64: bool,
    data: &'a str,
}

impl<'a> DataUrl<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_at_checked("data:".len())?;
        if !scheme.eq_ignore_ascii_case("data:") {
            return None;
        }
        let (header, data) = rest.split_once(',').unwrap_or((rest, ""));
        let mut words = header.split(';');
        let media_type = words.next().unwrap_or_default();
        let is_base64 = words.any(|word| word.eq_ignore_ascii_case("base64"));
        Some(Self { media_type, is_base64, data })
    }

    /// The media type of the URL, or `given` if it has none.
    fn media_type<'b>(&self, given: Option<&'b Label>) -> &'b str
    where
        'a: 'b,
    {
        match given {
            Some(given) if self.media_type.is_empty() => given.as_str(),
            _ => self.media_type,
        }
    }

    /// The data, if it is valid base64.
    fn base64(&self) -> Option<&'a str> {
        (self.is_base64 && is_base64(self.data)).then_some(self.data)
    }

    /// The text in the URL; `None` if it is blank.
    fn text(&self) -> Option<String> {
        let bytes = STANDARD.decode(self.base64()?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        (!text.trim().is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: Source<'_> = Source::Base64 { media_type: "image/png", data: "iVBORw==" };

    #[test]
    fn pictures() {
        check_image("data:image/png;base64,iVBORw==", None, Some(&PNG));
        check_image("DATA:IMAGE/PNG;charset=x;BASE64,iVBORw==", None, Some(&PNG));
        check_image("data:;base64,iVBORw==", Some("image/png"), Some(&PNG));
        check_image("data:;base64,iVBORw==", None, None);
        check_image("data:image/svg+xml;base64,iVBORw==", None, None);
        check_image("data:image/png;base64,iVBORw=", None, None);
        check_image("data:image/png;base64,====", None, None);
        check_image("data:image/png;base64,iV-_", None, None);
        check_image("data:image/png;base64,", None, None);
        check_image("data:image/png,iVBORw==", None, None);
        check_image("data:image/png", None, None);
        let url = "https://a.example/b";
        check_image(url, None, Some(&Source::Url { url }));
        check_image("gs://bucket/b.png", None, None);
        check_image("é", None, None);
    }

    fn check_image(url: &str, media_type: Option<&str>, expected: Option<&Source<'_>>) {
        let media_type = media_type.map(|text| Label::parse(text).unwrap());
        let source = MediaSource::Url(url.to_owned());
        assert_eq!(image(&source, media_type.as_ref()).as_ref(), expected, "{url}");
    }

    #[test]
    fn documents() {
        let pdf = "data:application/pdf;base64,JVBERg==";
        let expected = Source::Base64 { media_type: PDF, data: "JVBERg==" };
        check_document(pdf, None, Some(&expected));
        let text = Source::Text { media_type: PLAIN_TEXT, data: "a é".to_owned() };
        check_document(&text_url("a é"), None, Some(&text));
        check_document(&text_url(" "), None, None);
        check_document("data:text/csv;base64,/w==", None, None);
        check_document("data:application/zip;base64,UEsDBA==", None, None);
        let url = "https://a.example/b.PDF?c";
        check_document(url, None, Some(&Source::Url { url }));
        check_document(url, Some("text/html"), None);
        let url = "https://a.example/b";
        check_document(url, Some("application/pdf"), Some(&Source::Url { url }));
        check_document(url, None, None);
    }

    fn check_document(url: &str, media_type: Option<&str>, expected: Option<&Source<'_>>) {
        let media_type = media_type.map(|text| Label::parse(text).unwrap());
        let source = MediaSource::Url(url.to_owned());
        assert_eq!(document(&source, media_type.as_ref()).as_ref(), expected, "{url}");
    }

    #[test]
    fn files_of_other_providers_are_rejected() {
        for (file_id, taken) in [("file_011", true), ("file-abc", false), ("files/a", false)] {
            let source = MediaSource::FileId(file_id.to_owned());
            assert_eq!(image(&source, None).is_some(), taken, "{file_id}");
            assert_eq!(document(&source, None).is_some(), taken, "{file_id}");
        }
    }
}
