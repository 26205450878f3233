//! Texts in `data:` URLs. A model reads them like any text, so they are counted and redacted like texts.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use domain::{Label, MediaSource};
use percent_encoding::percent_decode_str;

/// The scheme of a URL that contains its content.
const SCHEME: &str = "data:";
/// The parameter for content in base64.
const BASE64: &str = "base64";
/// As lenient as the most lenient provider, so that every text that a provider reads is found.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A text in a `data:` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedText<'a> {
    /// The text.
    pub text: String,
    /// The media type and parameters of the URL.
    header: &'a str,
}

/// The kind of content of a media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ContentKind {
    Text,
    /// A picture, a sound, a PDF.
    Binary,
    Unknown,
}

impl<'a> EmbeddedText<'a> {
    /// The text of a picture or file; `None` if the URL does not contain it, or if it is not a text. `media_type` is that of
    /// the part, for a URL without one.
    #[must_use]
    pub fn of(source: &'a MediaSource, media_type: Option<&Label>) -> Option<Self> {
        let MediaSource::Url(url) = source else {
            return None;
        };
        let (scheme, rest) = url.split_at_checked(SCHEME.len())?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return None;
        }
        let (header, content) = rest.split_once(',').unwrap_or((rest, ""));
        let own_type = header.split(';').next().unwrap_or_default();
        let kind = match media_type {
            Some(media_type) if own_type.is_empty() => content_kind(media_type.as_str()),
            _ => content_kind(own_type),
        };
        if kind == ContentKind::Binary {
            return None;
        }
        let text = text(bytes(header, content)?, kind)?;
        Some(Self { text, header })
    }

    /// The URL with another text.
    #[must_use]
    pub fn address(&self, text: &str) -> String {
        let words = self.header.split(';');
        let mut header: Vec<&str> = words.filter(|word| !is_base64(word)).collect();
        header.push(BASE64);
        format!("{SCHEME}{},{}", header.join(";"), STANDARD.encode(text))
    }
}

/// Whether the source is a `data:` URL.
pub(crate) fn is_data_url(source: &MediaSource) -> bool {
    let MediaSource::Url(url) = source else {
        return false;
    };
    let scheme = url.get(..SCHEME.len());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

fn is_base64(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case(BASE64)
}

fn bytes(header: &str, content: &str) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = percent_decode_str(content).collect();
    if !header.split(';').skip(1).any(is_base64) {
        return Some(bytes);
    }
    let digits = bytes.into_iter().filter_map(|byte| match byte {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        b'=' => None,
        _ => (!byte.is_ascii_whitespace()).then_some(byte),
    });
    LENIENT.decode(digits.collect::<Vec<u8>>()).ok()
}

/// A text that is not UTF-8 is decoded as Latin-1, so that its words in ASCII are found.
fn text(bytes: Vec<u8>, kind: ContentKind) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if kind == ContentKind::Text => Some(error.as_bytes().iter().copied().map(char::from).collect()),
        Err(_) => None,
    }
}

fn content_kind(media_type: &str) -> ContentKind {
    let media_type = media_type.trim().to_ascii_lowercase();
    let (main, name) = media_type.split_once('/').unwrap_or_default();
    let is_structured = name.ends_with("+xml") || name.ends_with("+json");
    match (main, name) {
        ("text", _) | ("application", "json" | "xml") => ContentKind::Text,
        _ if is_structured => ContentKind::Text,
        ("image" | "audio" | "video" | "font", _) | ("application", "pdf") => ContentKind::Binary,
        _ => ContentKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_however_they_are_written() {
        for (url, expected) in [
            ("data:text/csv;base64,YSxiCg==", Some("a,b\n")),
            ("DATA:Text/CSV;charset=utf-8;BASE64,YSxiCg", Some("a,b\n")),
            ("data:text/plain;base64,YSx\r\n iCg==", Some("a,b\n")),
            ("data:text/plain;base64,YSxiCg%3D%3D", Some("a,b\n")),
            ("data:text/plain;base64,Pj4-Pz8_", Some(">>>???")),
            ("data:text/plain;base64,YSxiCh==", Some("a,b\n")),
            ("data:text/plain,a%20b", Some("a b")),
            ("data:text/plain", Some("")),
            ("data:,a", Some("a")),
            ("data:;base64,YQ==", Some("a")),
            ("data:application/x-yaml;base64,YTogYgo=", Some("a: b\n")),
            ("data:application/zip;base64,UEsDBP8=", None),
            ("data:image/svg+xml;base64,PHN2Zy8+", Some("<svg/>")),
            ("data:image/png;base64,YQ==", None),
            ("data:application/pdf;base64,YQ==", None),
            ("data:audio/wav;base64,YQ==", None),
            ("data:text/plain;base64,6Q==", Some("é")),
            ("data:application/octet-stream;base64,6Q==", None),
            ("data:text/plain;base64,Y", None),
            ("data:text/plain;base64,é", None),
            ("https://example.org/a.txt", None),
            ("é", None),
        ] {
            check(url, None, expected);
        }
        check("data:;base64,YQ==", Some("image/png"), None);
        check("data:text/plain,a", Some("image/png"), Some("a"));
        let kept = MediaSource::FileId("file_1".to_owned());
        assert_eq!(EmbeddedText::of(&kept, None), None);
    }

    fn check(url: &str, media_type: Option<&str>, expected: Option<&str>) {
        let source = MediaSource::Url(url.to_owned());
        let media_type = media_type.map(|name| Label::parse(name).unwrap());
        let carried = EmbeddedText::of(&source, media_type.as_ref());
        let text = carried.as_ref().map(|carried| carried.text.as_str());
        assert_eq!(text, expected, "{url}");
        assert!(carried.is_none() || is_data_url(&source), "{url}");
    }

    #[test]
    fn an_address_keeps_what_it_says_beside_its_text() {
        for (url, expected) in [
            ("data:text/csv;charset=utf-8;base64,YQ==", "data:text/csv;charset=utf-8;base64,w6k="),
            ("data:text/csv,a", "data:text/csv;base64,w6k="),
            ("data:,a", "data:;base64,w6k="),
        ] {
            let source = MediaSource::Url(url.to_owned());
            let carried = EmbeddedText::of(&source, None).unwrap();
            assert_eq!(carried.address("é"), expected);
            check(expected, None, Some("é"));
        }
    }
}
