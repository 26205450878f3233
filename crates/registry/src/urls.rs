//! Validation of URLs that our services call because an operator configured them.

use domain::violation::check_length;
use domain::{Violation, ViolationReason};
use http::Uri;

/// Maximum bytes of a URL.
pub const URL_BYTES_MAX: usize = 2 * 1024;

/// Checks a URL of a JWK set or a webhook: `https://` or `http://`. The deployment's egress policy decides which hosts may be
/// called.
///
/// # Errors
/// Too long, not such a URL, or with a user or a fragment.
pub fn check_url(text: &str) -> Result<(), Violation> {
    match parse(text)?.scheme_str() {
        Some("https" | "http") => Ok(()),
        _ => Err(malformed("is not an https:// or http:// URL")),
    }
}

fn parse(text: &str) -> Result<Uri, Violation> {
    check_length(text.len(), URL_BYTES_MAX)?;
    let url: Uri = text.parse().map_err(|_| malformed("is not a URL"))?;
    let host = url.host().unwrap_or_default();
    let authority = url.authority().map(http::uri::Authority::as_str);
    if host.is_empty() || authority.is_some_and(|authority| authority.contains('@')) {
        return Err(malformed("must have a host and no user name"));
    }
    // The parser drops fragments silently.
    if text.contains('#') {
        return Err(malformed("has a fragment, which is never sent: remove it"));
    }
    Ok(url)
}

fn malformed(rule: &str) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: bool) {
        assert_eq!(check_url(text).is_ok(), expected, "{text}");
    }

    #[test]
    fn urls_are_checked() {
        check("https://id.example/.well-known/jwks.json?x=1", true);
        check("https://id.example:8443", true);
        check("http://127.0.0.1:8080/jwks", true);
        check("http://[::1]/jwks", true);
        for wrong in [
            "",
            "id.example",
            "/jwks",
            "ftp://id.example/",
            "file:///etc/passwd",
            "https://",
            "https:///x",
            "https://ada:pw@id.example/",
            "https://id.example/#x",
            "https://a b/",
        ] {
            check(wrong, false);
        }
    }

    #[test]
    fn urls_at_their_length_and_one_past() {
        let long = |bytes: usize| format!("https://a.example/{}", "x".repeat(bytes - 18));
        check(&long(URL_BYTES_MAX), true);
        check(&long(URL_BYTES_MAX + 1), false);
    }
}
