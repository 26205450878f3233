//! Images in the form that the server accepts: base64 without URL or media type.

use crate::values::is_base64;

/// The first characters of the base64 of images, and their media types.
const MAGIC: [(&str, &str); 4] =
    [("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp")];
/// The media type of other images.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

/// The base64 of a `data:` URL; `None` for other URLs, and for data that the server cannot decode.
pub(super) fn base64_in(url: &str) -> Option<&str> {
    let (head, base64) = url.strip_prefix("data:")?.split_once(',')?;
    (head.ends_with(";base64") && is_base64(base64)).then_some(base64)
}

/// The media type of an image and its `data:` URL.
pub(super) fn data_url(base64: &str) -> (&'static str, String) {
    let known = MAGIC.iter().find(|(magic, _)| base64.starts_with(magic));
    let media_type = known.map_or(UNKNOWN_MEDIA_TYPE, |(_, media_type)| media_type);
    (media_type, format!("data:{media_type};base64,{base64}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inline_base64_is_accepted() {
        let check = |url: &str, expected: Option<&str>| assert_eq!(base64_in(url), expected, "{url}");
        check("data:image/png;base64,iVBORw==", Some("iVBORw=="));
        check("data:;base64,AAAA", Some("AAAA"));
        check("data:image/png;base64,AAA", None);
        check("data:image/png;base64,A===", None);
        check("data:image/png;base64,", None);
        check("data:image/png;base64,AA_-", None);
        check("data:image/svg+xml,%3Csvg/%3E", None);
        check("https://example.org/a.png", None);
    }

    #[test]
    fn urls_have_the_media_type_of_the_data() {
        let check = |base64: &str, expected: &str| assert_eq!(data_url(base64).1, expected);
        check("/9j/AAAA", "data:image/jpeg;base64,/9j/AAAA");
        check("AAAA", "data:application/octet-stream;base64,AAAA");
    }
}
