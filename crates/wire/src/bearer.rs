//! The bearer token of a call.

use http::HeaderMap;
use tonic::metadata::MetadataMap;

/// The name of the scheme and a space; matched in any case (RFC 9110, 11.1).
const SCHEME: &str = "bearer ";

/// The token in the `authorization: Bearer …` metadata of a gRPC call.
#[must_use]
pub fn from_metadata(metadata: &MetadataMap) -> Option<&str> {
    token(metadata.get("authorization")?.to_str().ok()?)
}

/// The token in the `authorization: Bearer …` header of an HTTP request.
#[must_use]
pub fn from_headers(headers: &HeaderMap) -> Option<&str> {
    token(headers.get("authorization")?.to_str().ok()?)
}

fn token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: Option<&str>, expected: Option<&str>) {
        let mut metadata = MetadataMap::new();
        if let Some(header) = header {
            metadata.insert("authorization", header.parse().expect("a header value"));
        }
        assert_eq!(from_metadata(&metadata), expected, "{header:?}");
    }

    #[test]
    fn bearers() {
        check(Some("Bearer hs_1"), Some("hs_1"));
        check(Some("bearer  hs_1 "), Some("hs_1"));
        check(Some("Basic hs_1"), None);
        check(Some("hs_1"), None);
        check(None, None);
    }
}
