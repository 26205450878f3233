//! The media types of files that frontends may attach, found by their content.

/// A media type that is found by the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentType {
    /// `image/png`.
    Png,
    /// `image/jpeg`.
    Jpeg,
    /// `image/gif`.
    Gif,
    /// `image/webp`.
    Webp,
    /// `application/pdf`.
    Pdf,
    /// `text/plain`: UTF-8 without control characters other than white space.
    Text,
}

impl AttachmentType {
    /// Every type.
    pub const ALL: [Self; 6] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp, Self::Pdf, Self::Text];

    /// The media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
            Self::Text => "text/plain",
        }
    }

    /// The type with this name.
    #[must_use]
    pub fn parse(media_type: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|known| known.media_type() == media_type)
    }

    /// The type of a content; `None`: another one.
    #[must_use]
    pub fn of_content(content: &[u8]) -> Option<Self> {
        let begins = |signature: &[u8]| content.starts_with(signature);
        if begins(b"\x89PNG\r\n\x1a\n") {
            return Some(Self::Png);
        }
        if begins(b"\xff\xd8\xff") {
            return Some(Self::Jpeg);
        }
        if begins(b"GIF87a") || begins(b"GIF89a") {
            return Some(Self::Gif);
        }
        if begins(b"RIFF") && content.get(8..12) == Some(b"WEBP") {
            return Some(Self::Webp);
        }
        if begins(b"%PDF-") {
            return Some(Self::Pdf);
        }
        is_text(content).then_some(Self::Text)
    }
}

fn is_text(content: &[u8]) -> bool {
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 0x0e..=0x1f);
    !content.iter().any(is_control) && std::str::from_utf8(content).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &[u8], expected: Option<&str>) {
        let found = AttachmentType::of_content(content);
        assert_eq!(found.map(AttachmentType::media_type), expected, "{content:?}");
    }

    #[test]
    fn the_content_decides() {
        check(b"\x89PNG\r\n\x1a\n...", Some("image/png"));
        check(b"\xff\xd8\xff\xe0", Some("image/jpeg"));
        check(b"GIF89a;", Some("image/gif"));
        check(b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp"));
        check(b"%PDF-1.7", Some("application/pdf"));
        check("Grüße\n\t<html>".as_bytes(), Some("text/plain"));
        check(b"", Some("text/plain"));
        check(b"RIFF\x10\0\0\0WAVEfmt ", None);
        check(b"\x89PNG", None);
        check(b"MZ\x90\0", None);
        check(b"text \xff", None);
    }

    #[test]
    fn types_are_found_by_their_names() {
        for known in AttachmentType::ALL {
            assert_eq!(AttachmentType::parse(known.media_type()), Some(known));
        }
        assert_eq!(AttachmentType::parse("image/svg+xml"), None);
    }
}
