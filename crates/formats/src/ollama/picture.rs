//! Pictures as the server takes them: base64 without address or media type.

/// What the first characters of a picture's base64 tell of its media type.
const MAGIC: [(&str, &str); 4] = [
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];
/// The media type of a picture that does not tell its own.
const UNKNOWN_MEDIA_TYPE: &str = "application/octet-stream";

/// The base64 of a `data:` address; none for any other address, or where the server could not decode it.
pub(super) fn base64_of(url: &str) -> Option<&str> {
    let (head, base64) = url.strip_prefix("data:")?.split_once(',')?;
    (head.ends_with(";base64") && is_base64(base64)).then_some(base64)
}

/// The media type of a picture and its `data:` address.
pub(super) fn address_of(base64: &str) -> (&'static str, String) {
    let known = MAGIC.iter().find(|(magic, _)| base64.starts_with(magic));
    let media_type = known.map_or(UNKNOWN_MEDIA_TYPE, |(_, media_type)| media_type);
    (media_type, format!("data:{media_type};base64,{base64}"))
}

/// Padded base64 of the standard alphabet, as the server decodes it.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && !digits.is_empty()
        && digits.chars().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inline_base64_is_taken() {
        let check =
            |url: &str, expected: Option<&str>| assert_eq!(base64_of(url), expected, "{url}");
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
    fn addresses_tell_what_the_picture_tells() {
        let check = |base64: &str, expected: &str| assert_eq!(address_of(base64).1, expected);
        check("/9j/AAAA", "data:image/jpeg;base64,/9j/AAAA");
        check("AAAA", "data:application/octet-stream;base64,AAAA");
    }
}
