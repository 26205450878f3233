//! Page tokens: the cursor of a page with the hash of its query. Opaque to callers.
//!
//! A token is not a secret and grants nothing: every page is authorized again, and a cursor moves only within its query.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use wire::status::Problem;

use crate::problem;

/// The first byte: the format version.
const FORMAT_VERSION: u8 = 1;
const QUERY_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;

/// The hash of a query: of all its fields except page size and page token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryHash([u8; QUERY_BYTES]);

impl QueryHash {
    /// The hash of a query's parts. The length of each part is hashed too, so that parts cannot be confused.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        Self(truncate(&hash.finalize()))
    }
}

/// The token for the page after `cursor`.
#[must_use]
pub fn encode(query: QueryHash, cursor: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(1 + QUERY_BYTES + cursor.len() + CHECKSUM_BYTES);
    bytes.push(FORMAT_VERSION);
    bytes.extend_from_slice(&query.0);
    bytes.extend_from_slice(cursor);
    bytes.extend_from_slice(&checksum(&bytes));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The cursor of a token; `None`: the token is empty, for the first page.
///
/// # Errors
/// The token is invalid, or of another query.
fn decode(token: &str, query: QueryHash) -> Result<Option<Vec<u8>>, Problem> {
    if token.is_empty() {
        return Ok(None);
    }
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let (token_query, cursor) = bytes.as_deref().and_then(parse).ok_or_else(problem::page_token_invalid)?;
    if token_query != query {
        return Err(problem::page_token_of_other_query());
    }
    Ok(Some(cursor.to_vec()))
}

/// The cursor of a token as `read` understands it; `None`: the token is empty, for the first page.
///
/// # Errors
/// As `decode`; or `read` does not understand the cursor.
pub fn cursor<T>(token: &str, query: QueryHash, read: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, Problem> {
    let cursor = decode(token, query)?.map(|bytes| read(&bytes).ok_or_else(problem::page_token_invalid));
    cursor.transpose()
}

/// Reads a number from the start of a cursor. Returns it with the rest.
#[must_use]
pub fn take_number(cursor: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = cursor.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}

fn parse(bytes: &[u8]) -> Option<(QueryHash, &[u8])> {
    let (content, expected) = bytes.split_last_chunk::<CHECKSUM_BYTES>()?;
    if *expected != checksum(content) {
        return None;
    }
    let (version, rest) = content.split_first()?;
    let (query, cursor) = rest.split_first_chunk::<QUERY_BYTES>()?;
    (*version == FORMAT_VERSION).then_some((QueryHash(*query), cursor))
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    truncate(&Sha256::digest(bytes))
}

fn truncate<const N: usize>(hash: &[u8]) -> [u8; N] {
    let mut short = [0; N];
    short.iter_mut().zip(hash).for_each(|(to, from)| *to = *from);
    short
}

#[cfg(test)]
mod tests {
    use wire::status::Reason;

    use super::*;

    #[test]
    fn a_token_is_valid_for_its_own_query_alone() {
        let (query, other) = (QueryHash::of(&[b"ab", b"c"]), QueryHash::of(&[b"a", b"bc"]));
        let token = encode(query, b"cursor");
        assert_eq!(decode(&token, query), Ok(Some(b"cursor".to_vec())));
        assert_eq!(decode("", query), Ok(None));
        let refused = decode(&token, other).unwrap_err();
        assert_eq!(refused.reason(), Reason::PageTokenOfOtherQuery);
    }

    #[test]
    fn malformed_tokens_are_invalid() {
        let query = QueryHash::of(&[]);
        let token = encode(query, &[7; 24]);
        let mut cases: Vec<String> = vec!["!".into(), "AQ".into(), "x".repeat(1_000)];
        cases.extend((1..token.len()).map(|length| token[..length].to_owned()));
        cases.extend((0..token.len()).map(|at| {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).unwrap()
        }));
        for case in cases.iter().filter(|case| **case != token) {
            let refused = decode(case, query).unwrap_err();
            assert_eq!(refused.reason(), Reason::PageTokenInvalid, "{case}");
        }
    }
}
