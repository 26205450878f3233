//! Allowed web origins of API keys, in the format of browsers.

use domain::violation::check_length;
use domain::{Violation, ViolationReason};
use http::Uri;

/// Maximum origins of one key.
pub const ALLOWED_ORIGINS_MAX: usize = 50;
/// Maximum bytes of an origin.
pub const ORIGIN_BYTES_MAX: usize = 256;
/// Allows every origin.
const ANY_ORIGIN: &str = "*";

/// Ports that browsers omit.
const DEFAULT_PORTS: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// The web origins that may use a key, each exactly as browsers send it, so that text comparison suffices.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedOrigins(pub(crate) Vec<String>);

impl AllowedOrigins {
    /// Checks that each item is `*` or an origin, and keeps the order.
    ///
    /// # Errors
    /// Over [`ALLOWED_ORIGINS_MAX`] or [`ORIGIN_BYTES_MAX`], or not in the format of browsers; the path is `[index]`.
    pub fn parse(origins: Vec<String>) -> Result<Self, Violation> {
        if origins.len() > ALLOWED_ORIGINS_MAX {
            return Err(Violation::new(
                ViolationReason::OutOfRange,
                format!("has {} entries, but must have at most {ALLOWED_ORIGINS_MAX}", origins.len()),
            ));
        }
        for (index, origin) in origins.iter().enumerate() {
            check(origin).map_err(|violation| violation.at(index))?;
        }
        Ok(Self(origins))
    }

    /// Every origin.
    #[must_use]
    pub fn any() -> Self {
        Self(vec![ANY_ORIGIN.to_owned()])
    }
}

fn check(origin: &str) -> Result<(), Violation> {
    check_length(origin.len(), ORIGIN_BYTES_MAX)?;
    if origin == ANY_ORIGIN || is_origin(origin) {
        return Ok(());
    }
    Err(Violation::new(
        ViolationReason::Malformed,
        "is not a web origin: write scheme://host or scheme://host:port in lower case, without a path or a default port",
    ))
}

fn is_origin(text: &str) -> bool {
    let Ok(url) = text.parse::<Uri>() else {
        return false;
    };
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return false;
    };
    let is_default = DEFAULT_PORTS.iter().any(|(name, port)| *name == scheme && authority.port_u16() == Some(*port));
    // Equal to its canonical text: no path, query, user or capital letters.
    let canonical = format!("{scheme}://{authority}");
    text == canonical
        && text == text.to_ascii_lowercase()
        && !authority.as_str().contains('@')
        && !authority.host().is_empty()
        && !authority.as_str().ends_with(':')
        && !is_default
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origin: &str, expected: bool) {
        let taken = AllowedOrigins::parse(vec![origin.to_owned()]);
        assert_eq!(taken.is_ok(), expected, "{origin}");
    }

    #[test]
    fn valid_and_invalid_origins() {
        for origin in [
            "*",
            "https://shop.example",
            "http://localhost:3000",
            "http://[::1]:8080",
            "https://shop.example:8443",
            "capacitor://localhost",
            "chrome-extension://abcdefgh",
            "http://shop.example:443",
        ] {
            check(origin, true);
        }
        for other in [
            "",
            "null",
            "shop.example",
            "//shop.example",
            "https://",
            "https://shop.example/",
            "https://shop.example/x",
            "https://shop.example?x",
            "https://Shop.example",
            "HTTPS://shop.example",
            "https://shop.example:443",
            "http://shop.example:80",
            "https://*.example/",
            "https://a@shop.example",
            "https://shop.example:",
            "**",
            " ",
        ] {
            check(other, false);
        }
    }

    #[test]
    fn lists_and_lengths_at_their_bounds() {
        let list = |entries: usize| AllowedOrigins::parse(vec!["*".to_owned(); entries]);
        assert!(list(0).is_ok() && list(ALLOWED_ORIGINS_MAX).is_ok());
        assert_eq!(list(ALLOWED_ORIGINS_MAX + 1).unwrap_err().reason, ViolationReason::OutOfRange);
        let long = |bytes: usize| format!("https://{}", "a".repeat(bytes - 8));
        check(&long(ORIGIN_BYTES_MAX), true);
        check(&long(ORIGIN_BYTES_MAX + 1), false);
        let second = AllowedOrigins::parse(vec!["*".to_owned(), "x".to_owned()]);
        assert_eq!(second.unwrap_err().field, "[1]");
    }
}
