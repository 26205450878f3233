//! Pictures as a provider takes them, judged by their bytes: a picture that a provider rejects makes every later request of its
//! conversation fail (C6). A wrong media type is corrected, base64 is normalised, and other pictures become placeholders, for this provider only.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context::Transcript;
use domain::event::ToolOutput;
use domain::{AttachmentType, Label, MediaSource, Part, Version};

use crate::loss::{Loss, LostContent, Replacement, placeholder};
use crate::values::is_base64;

/// How many characters of base64 are decoded to find the type of a picture.
const SIGNATURE_CHARS: usize = 64;
const PNG: &str = "image/png";
const JPEG: &str = "image/jpeg";
const GIF: &str = "image/gif";
const WEBP: &str = "image/webp";
const HEIC: &str = "image/heic";
const HEIF: &str = "image/heif";
/// Other names of types.
const ALIASES: [(&str, &str); 3] = [("image/jpg", JPEG), ("image/pjpeg", JPEG), ("image/x-png", PNG)];

/// The pictures that a provider takes.
pub(crate) struct Accepted {
    /// The media types of data.
    types: &'static [&'static str],
    /// The schemes of URLs that it fetches.
    schemes: &'static [&'static str],
}

/// Of OpenAI, Anthropic and Ollama.
pub(crate) const COMMON: Accepted = Accepted { types: &[PNG, JPEG, GIF, WEBP], schemes: &["https://", "http://"] };
/// Of Gemini.
pub(crate) const GEMINI: Accepted =
    Accepted { types: &[PNG, JPEG, WEBP, HEIC, HEIF], schemes: &["https://", "http://", "gs://"] };

/// The transcript with pictures that the provider takes, and what was lost of the others.
pub(crate) fn prepared<'a>(accepted: &Accepted, transcript: &'a Transcript) -> (Cow<'a, Transcript>, Vec<Loss>) {
    let mut losses = Vec::new();
    let mut prepared = Cow::Borrowed(transcript);
    for (turn_index, turn) in transcript.turns.iter().enumerate() {
        for (index, part, loss) in changes(&turn.parts, turn.version, accepted) {
            losses.push(loss);
            if let Some(place) = prepared.to_mut().turns.get_mut(turn_index).and_then(|turn| turn.parts.get_mut(index))
            {
                *place = part;
            }
        }
        for (call_index, call) in turn.calls.iter().enumerate() {
            let ToolOutput::Parts(parts) = &call.answer.output else {
                continue;
            };
            for (index, part, loss) in changes(parts, call.version, accepted) {
                losses.push(loss);
                let turn = prepared.to_mut().turns.get_mut(turn_index);
                let output = turn.and_then(|turn| turn.calls.get_mut(call_index)).map(|call| &mut call.answer.output);
                if let Some(ToolOutput::Parts(parts)) = output
                    && let Some(place) = parts.get_mut(index)
                {
                    *place = part;
                }
            }
        }
    }
    (prepared, losses)
}

/// The parts to replace, by index.
fn changes<'a>(
    parts: &'a [Part],
    version: Version,
    accepted: &'a Accepted,
) -> impl Iterator<Item = (usize, Part, Loss)> + 'a {
    parts.iter().enumerate().filter_map(move |(index, part)| {
        let (part, lost, replacement) = change(part, accepted)?;
        Some((index, part, Loss { version, lost, replacement }))
    })
}

/// The replacement of a picture, or of a file that is declared as one, and what is lost; `None`: it stays.
fn change(part: &Part, accepted: &Accepted) -> Option<(Part, LostContent, Replacement)> {
    match part {
        Part::Image { source: MediaSource::Url(url), media_type, detail } => {
            let (part, replacement) = match judge(url, media_type.as_ref(), accepted) {
                Verdict::Accepted => return None,
                Verdict::Corrected { url, found } => {
                    let media_type = media_type.as_ref().and(found);
                    (
                        Part::Image { source: MediaSource::Url(url), media_type, detail: detail.clone() },
                        Replacement::OtherForm,
                    )
                }
                Verdict::Rejected { name } => (Part::Text(placeholder("image", name.as_ref())), Replacement::Text),
            };
            Some((part, LostContent::Image, replacement))
        }
        Part::File { source: MediaSource::Url(url), media_type, filename } if is_picture(url, media_type.as_ref()) => {
            let (part, replacement) = match judge(url, media_type.as_ref(), accepted) {
                Verdict::Accepted => return None,
                Verdict::Corrected { url, found } => {
                    let (source, media_type) = (MediaSource::Url(url), media_type.as_ref().and(found));
                    (Part::File { source, media_type, filename: filename.clone() }, Replacement::OtherForm)
                }
                Verdict::Rejected { name } => {
                    let name = filename.as_ref().or(name.as_ref());
                    (Part::Text(placeholder("file", name)), Replacement::Text)
                }
            };
            Some((part, LostContent::File, replacement))
        }
        Part::Image { .. }
        | Part::File { .. }
        | Part::Text(_)
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    }
}

/// Whether a file is data that is declared as a picture.
fn is_picture(url: &str, media_type: Option<&Label>) -> bool {
    Data::parse(url).is_some_and(|data| data.declared(media_type).starts_with("image/"))
}

/// What a provider does with a picture.
enum Verdict {
    Accepted,
    /// It takes this URL, with this media type.
    Corrected {
        url: String,
        found: Option<Label>,
    },
    /// The placeholder has this name.
    Rejected {
        name: Option<Label>,
    },
}

fn judge(url: &str, media_type: Option<&Label>, accepted: &Accepted) -> Verdict {
    let Some(data) = Data::parse(url) else {
        let is_fetched = accepted.schemes.iter().any(|scheme| begins_with(url, scheme));
        return if is_fetched { Verdict::Accepted } else { Verdict::Rejected { name: media_type.cloned() } };
    };
    let declared = data.declared(media_type);
    match data.media_type(&declared) {
        Some(found) if accepted.types.contains(&&*found) => {
            let whole = format!("data:{found};base64,{}", data.base64);
            if whole == url {
                return Verdict::Accepted;
            }
            Verdict::Corrected { url: whole, found: Label::parse(found).ok() }
        }
        found => Verdict::Rejected { name: Label::parse(found.unwrap_or(declared)).ok() },
    }
}

fn begins_with(url: &str, scheme: &str) -> bool {
    url.split_at_checked(scheme.len()).is_some_and(|(head, _)| head.eq_ignore_ascii_case(scheme))
}

/// A `data:` URL.
struct Data<'a> {
    /// The type in the URL, without parameters; may be empty.
    named: &'a str,
    /// The content as padded base64 of the standard alphabet; empty: it is not base64, or there is none.
    base64: String,
}

impl<'a> Data<'a> {
    fn parse(url: &'a str) -> Option<Self> {
        if !begins_with(url, "data:") {
            return None;
        }
        let (head, content) = url.split_once(',').unwrap_or((url, ""));
        let mut words = head.get("data:".len()..).unwrap_or_default().split(';').map(str::trim);
        let named = words.next().unwrap_or_default();
        let is_base64 = words.any(|word| word.eq_ignore_ascii_case("base64"));
        Some(Self { named, base64: if is_base64 { normalised(content) } else { String::new() } })
    }

    /// The declared type, in lower case: that of the URL, or else that of the part.
    fn declared(&self, of_part: Option<&Label>) -> String {
        let named = if self.named.is_empty() { of_part.map_or("", Label::as_str) } else { self.named };
        let named = named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == named);
        alias.map_or(named, |(_, name)| (*name).to_owned())
    }

    /// The type of the content, by its first bytes; the declared one if they say nothing. `None`: the content is no picture.
    fn media_type(&self, declared: &str) -> Option<String> {
        let chars = self.base64.len().min(SIGNATURE_CHARS);
        let bytes = self.base64.get(..chars).and_then(|head| STANDARD.decode(head).ok()).unwrap_or_default();
        match signature(&bytes) {
            Signature::Picture(found) => Some(found.to_owned()),
            Signature::Unknown if !bytes.is_empty() => Some(declared.to_owned()),
            Signature::Unknown | Signature::NoPicture => None,
        }
    }
}

/// Base64 without white space, in the standard alphabet and padded; empty if it is none.
fn normalised(content: &str) -> String {
    let standard = |c: char| match c {
        '-' => '+',
        '_' => '/',
        c => c,
    };
    let mut base64: String = content.chars().filter(|c| !c.is_ascii_whitespace()).map(standard).collect();
    base64.truncate(base64.trim_end_matches('=').len());
    base64.extend(std::iter::repeat_n('=', base64.len().wrapping_neg() % 4));
    if is_base64(&base64) { base64 } else { String::new() }
}

/// What the first bytes of a content say.
enum Signature {
    Picture(&'static str),
    NoPicture,
    Unknown,
}

fn signature(bytes: &[u8]) -> Signature {
    let brand = bytes.get(4..12).unwrap_or_default();
    match brand {
        b"ftypheic" | b"ftypheix" | b"ftyphevc" => return Signature::Picture(HEIC),
        b"ftypmif1" | b"ftypmsf1" => return Signature::Picture(HEIF),
        _ => {}
    }
    let others: [&[u8]; 4] = [b"II*\0", b"MM\0*", b"BM", b"\0\0\x01\0"];
    if others.iter().any(|other| bytes.starts_with(other)) {
        return Signature::NoPicture;
    }
    // The end may cut a character.
    let whole = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or_default(),
        Ok(_) | Err(_) => bytes,
    };
    match AttachmentType::of_content(whole) {
        Some(AttachmentType::Png) => Signature::Picture(PNG),
        Some(AttachmentType::Jpeg) => Signature::Picture(JPEG),
        Some(AttachmentType::Gif) => Signature::Picture(GIF),
        Some(AttachmentType::Webp) => Signature::Picture(WEBP),
        Some(AttachmentType::Pdf) => Signature::NoPicture,
        Some(AttachmentType::Text) if !whole.is_empty() => Signature::NoPicture,
        Some(AttachmentType::Text) | None => Signature::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG_DATA: &str = "iVBORw0KGgo=";
    const JPEG_DATA: &str = "/9j/4AAQSkZJRgAB";

    /// A picture for a provider: its URL, or the text of its placeholder.
    fn check(accepted: &Accepted, url: &str, expected: &str) {
        let part = Part::Image { source: MediaSource::Url(url.to_owned()), media_type: None, detail: None };
        let seen = match change(&part, accepted) {
            None => url.to_owned(),
            Some((Part::Image { source: MediaSource::Url(url), .. }, LostContent::Image, Replacement::OtherForm)) => {
                url
            }
            Some((Part::Text(text), LostContent::Image, Replacement::Text)) => text,
            Some(other) => panic!("{other:?}"),
        };
        assert_eq!(seen, expected, "{url}");
    }

    #[test]
    fn bytes_decide() {
        let jpeg = format!("data:image/jpeg;base64,{JPEG_DATA}");
        let png = format!("data:image/png;base64,{PNG_DATA}");
        for accepted in [&COMMON, &GEMINI] {
            for declared in ["image/png", "image/jpg", "IMAGE/JPEG", "image/tiff", "application/octet-stream", ""] {
                check(accepted, &format!("data:{declared};base64,{JPEG_DATA}"), &jpeg);
            }
            check(accepted, &format!("DATA:image/png;charset=utf-8;base64,{PNG_DATA}"), &png);
            check(accepted, &png, &png);
            check(accepted, "data:image/png;base64,iVBORw0K\nGgo", &png);
            check(accepted, "data:image/jpg;base64,AAEC", "data:image/jpeg;base64,AAEC");
            check(accepted, "data:image/webp;base64,__8A", "data:image/webp;base64,//8A");
            check(accepted, "https://a.example/b.tiff", "https://a.example/b.tiff");
            for (url, placeholder) in [
                ("data:image/svg+xml;base64,PHN2Zy8+", "[image: image/svg+xml]"),
                ("data:image/svg+xml,%3Csvg/%3E", "[image: image/svg+xml]"),
                ("data:image/png;base64,PHN2Zy8+", "[image: image/png]"),
                ("data:image/tiff;base64,SUkqAA==", "[image: image/tiff]"),
                ("data:image/png;base64,SUkqAA==", "[image: image/png]"),
                ("data:text/plain;base64,aGk=", "[image: text/plain]"),
                ("data:image/png;base64,JVBERi0xLjc=", "[image: image/png]"),
                ("data:image/png;base64,", "[image: image/png]"),
                ("data:image/png;base64,@@not base64@@", "[image: image/png]"),
                ("data:image/png;base64,AAAAA", "[image: image/png]"),
                ("data:", "[image]"),
                ("file:///srv/a.png", "[image]"),
                ("/uploads/a.png", "[image]"),
                ("", "[image]"),
            ] {
                check(accepted, url, placeholder);
            }
        }
    }

    #[test]
    fn providers_take_different_types() {
        let gif = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
        let heic = "data:image/heic;base64,AAAAGGZ0eXBoZWlj";
        check(&GEMINI, gif, "[image: image/gif]");
        check(&COMMON, gif, gif);
        check(&GEMINI, heic, heic);
        check(&COMMON, heic, "[image: image/heic]");
        check(&GEMINI, "gs://bucket/a.png", "gs://bucket/a.png");
        check(&COMMON, "gs://bucket/a.png", "[image]");
    }
}
