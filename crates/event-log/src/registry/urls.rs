//! URLs that services of ours call by themselves, because an operator said so.

use std::net::IpAddr;

use domain::violation::check_length;
use domain::{Violation, ViolationReason};
use http::Uri;

/// Most bytes of a URL.
pub const URL_BYTES_MAX: usize = 2 * 1024;

/// A URL that JWK sets are fetched from: `https://`, or `http://` on loopback, where nobody stands between.
///
/// # Errors
/// Too long, no such URL, or one with a user's name or a fragment.
pub fn check_jwks_url(text: &str) -> Result<(), Violation> {
    let url = parse(text)?;
    match url.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if url.host().is_some_and(is_loopback) => Ok(()),
        _ => Err(malformed(
            "is no https:// URL, nor an http:// one of loopback",
        )),
    }
}

/// A URL that calls of tools are posted to: `https://` or `http://`.
pub(super) fn check_webhook_url(text: &str) -> Result<(), Violation> {
    match parse(text)?.scheme_str() {
        Some("https" | "http") => Ok(()),
        _ => Err(malformed("is no https:// or http:// URL")),
    }
}

fn parse(text: &str) -> Result<Uri, Violation> {
    check_length(text.len(), URL_BYTES_MAX)?;
    let url: Uri = text.parse().map_err(|_| malformed("is no URL"))?;
    let host = url.host().unwrap_or_default();
    let authority = url.authority().map(http::uri::Authority::as_str);
    if host.is_empty() || authority.is_some_and(|authority| authority.contains('@')) {
        return Err(malformed("is a URL without a host, or with a user's name"));
    }
    // The parser drops it without a word.
    if text.contains('#') {
        return Err(malformed(
            "has a fragment, which is sent to nobody: leave it out",
        ));
    }
    Ok(url)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

fn malformed(rule: &str) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, jwks: bool, webhook: bool) {
        let taken = (
            check_jwks_url(text).is_ok(),
            check_webhook_url(text).is_ok(),
        );
        assert_eq!(taken, (jwks, webhook), "{text}");
    }

    #[test]
    fn where_may_be_called() {
        check("https://id.example/.well-known/jwks.json?x=1", true, true);
        check("https://id.example:8443", true, true);
        check("http://127.0.0.1:8080/jwks", true, true);
        check("http://[::1]/jwks", true, true);
        check("http://localhost/jwks", true, true);
        check("http://id.example/jwks", false, true);
        check("http://127.0.0.1.example/jwks", false, true);
        check("http://10.0.0.1/jwks", false, true);
        for neither in [
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
            check(neither, false, false);
        }
    }

    #[test]
    fn urls_at_their_length_and_one_past() {
        let long = |bytes: usize| format!("https://a.example/{}", "x".repeat(bytes - 18));
        check(&long(URL_BYTES_MAX), true, true);
        check(&long(URL_BYTES_MAX + 1), false, false);
    }
}
