//! Request ids: from the caller, if they are well-formed, or a new UUIDv7.
//!
//! `tower_http` sets the id and adds it to the response. It accepts any id of a caller, so that a malformed one is removed
//! first (the test `every_response_has_the_request_id`).

use http::{HeaderMap, HeaderName, HeaderValue, Request};
use tower_http::request_id::{MakeRequestId, RequestId};
use uuid::Uuid;

/// The header of the id, in requests and responses.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum size of a caller's id, in bytes; a longer one is replaced.
const REQUEST_ID_BYTES_MAX: usize = 64;

/// Creates a UUIDv7 for a request without an id.
#[derive(Debug, Clone, Copy)]
pub(super) struct MakeUuidV7;

impl MakeRequestId for MakeUuidV7 {
    fn make_request_id<B>(&mut self, _: &Request<B>) -> Option<RequestId> {
        let id = HeaderValue::try_from(Uuid::now_v7().to_string()).ok()?;
        Some(RequestId::new(id))
    }
}

/// Removes an id that does not have 1 to 64 letters, digits, `-`, `_` and `.`.
pub(super) fn remove_malformed(headers: &mut HeaderMap) {
    let id = headers.get(REQUEST_ID_HEADER);
    if id.is_some_and(|id| !is_well_formed(id.as_bytes())) {
        headers.remove(REQUEST_ID_HEADER);
    }
}

fn is_well_formed(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_well_formed_id_is_kept() {
        let (longest, too_long) = ("x".repeat(64), "x".repeat(65));
        for (given, is_kept) in [
            ("a-B_9.z", true),
            (longest.as_str(), true),
            (too_long.as_str(), false),
            ("", false),
            ("a b", false),
            ("a\"b", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID_HEADER, given.parse().unwrap());
            remove_malformed(&mut headers);
            assert_eq!(headers.contains_key(REQUEST_ID_HEADER), is_kept, "{given:?}");
        }
    }

    #[test]
    fn a_new_id_is_well_formed() {
        let id = MakeUuidV7.make_request_id(&Request::new(())).unwrap();
        assert!(is_well_formed(id.header_value().as_bytes()), "{id:?}");
    }
}
