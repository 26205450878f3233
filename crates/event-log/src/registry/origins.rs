//! Web origins, as browsers write them.

use domain::violation::check_length;
use domain::{Violation, ViolationReason};
use http::Uri;

/// Most origins of one key.
pub const ALLOWED_ORIGINS_MAX: usize = 50;
/// Most bytes of an origin.
pub const ORIGIN_BYTES_MAX: usize = 256;
/// Stands for every origin.
pub(super) const ANY_ORIGIN: &str = "*";

/// Ports that browsers leave out.
const DEFAULT_PORTS: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// The web origins that may use a key: each in the form in which browsers send it, so that a comparison of texts is enough.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Takes the list if each is `*` or an origin; its order is kept.
    ///
    /// # Errors
    /// Over [`ALLOWED_ORIGINS_MAX`] or [`ORIGIN_BYTES_MAX`], or not as browsers write it; the path is `[index]`.
    pub fn parse(origins: Vec<String>) -> Result<Self, Violation> {
        if origins.len() > ALLOWED_ORIGINS_MAX {
            return Err(Violation::new(
                ViolationReason::OutOfRange,
                format!(
                    "has {} entries, at most {ALLOWED_ORIGINS_MAX} are taken",
                    origins.len()
                ),
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

    pub(super) fn into_vec(self) -> Vec<String> {
        self.0
    }
}

fn check(origin: &str) -> Result<(), Violation> {
    check_length(origin.len(), ORIGIN_BYTES_MAX)?;
    if origin == ANY_ORIGIN || is_origin(origin) {
        return Ok(());
    }
    Err(Violation::new(
        ViolationReason::Malformed,
        "is no web origin: write scheme://host or scheme://host:port, in small letters, without a path or a default port",
    ))
}

fn is_origin(text: &str) -> bool {
    let Ok(url) = text.parse::<Uri>() else {
        return false;
    };
    let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return false;
    };
    let is_default = DEFAULT_PORTS
        .iter()
        .any(|(of, port)| *of == scheme && authority.port_u16() == Some(*port));
    // The same text again: no path, no query, no user's name, no capital letter that a browser would make small.
    let plain = format!("{scheme}://{authority}");
    text == plain
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
    fn what_is_an_origin() {
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
        assert_eq!(
            list(ALLOWED_ORIGINS_MAX + 1).unwrap_err().reason,
            ViolationReason::OutOfRange
        );
        let long = |bytes: usize| format!("https://{}", "a".repeat(bytes - 8));
        check(&long(ORIGIN_BYTES_MAX), true);
        check(&long(ORIGIN_BYTES_MAX + 1), false);
        let second = AllowedOrigins::parse(vec!["*".to_owned(), "x".to_owned()]);
        assert_eq!(second.unwrap_err().field, "[1]");
    }
}
