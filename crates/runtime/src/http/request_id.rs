//! The name of one request: the caller's own, or one that is made here.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// Where the id stands in requests and answers.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The most bytes of a caller's id; a longer one is replaced.
const REQUEST_ID_BYTES_MAX: usize = 64;

/// The id of a request: an extension of every request, and a header of every answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The caller's id if it is sane (1 to 64 letters, digits, `-`, `_`, `.`), or a new one.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let given = headers
            .get(REQUEST_ID_HEADER)
            .filter(|value| is_sane(value.as_bytes()));
        Self(given.cloned().unwrap_or_else(made))
    }

    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn made() -> HeaderValue {
    let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
    let text = Uuid::now_v7().hyphenated().encode_lower(&mut text);
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static("none"))
}

fn is_sane(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&id.len())
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sane_id_is_taken() {
        let (longest, too_long) = ("x".repeat(64), "x".repeat(65));
        for (given, kept) in [
            (Some("a-B_9.z"), true),
            (Some(longest.as_str()), true),
            (Some(too_long.as_str()), false),
            (Some(""), false),
            (Some("a b"), false),
            (Some("a\"b"), false),
            (None, false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(REQUEST_ID_HEADER, given.parse().unwrap());
            }
            let id = RequestId::of(&headers);
            assert_eq!(Some(id.as_str()) == given, kept, "{given:?} gave {id}");
            assert!(is_sane(id.as_str().as_bytes()));
        }
    }
}
