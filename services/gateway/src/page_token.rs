//! Page tokens: where a page ended, sealed with the query that it belongs to. Opaque to callers.
//!
//! A token is no secret and grants nothing: every page is authorized anew, and a cursor only moves within its query.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use wire::status::Problem;

use crate::problem;

/// The first byte: the form of what follows.
const FORM: u8 = 1;
const QUERY_BYTES: usize = 8;
const CHECK_BYTES: usize = 4;

/// What tells one query from another: everything in it but page size and page token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryHash([u8; QUERY_BYTES]);

impl QueryHash {
    /// The hash of a query's parts; each part's length is hashed too, so that no two queries run together.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        Self(first(&hash.finalize()))
    }
}

/// The token for the page after `cursor`.
#[must_use]
pub fn encode(query: QueryHash, cursor: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(1 + QUERY_BYTES + cursor.len() + CHECK_BYTES);
    bytes.push(FORM);
    bytes.extend_from_slice(&query.0);
    bytes.extend_from_slice(cursor);
    bytes.extend_from_slice(&check(&bytes));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The cursor of a token; `None` for the first page.
///
/// # Errors
/// Not a token of ours, or one of another query.
pub fn decode(token: &str, query: QueryHash) -> Result<Option<Vec<u8>>, Problem> {
    if token.is_empty() {
        return Ok(None);
    }
    let bytes = URL_SAFE_NO_PAD.decode(token).ok();
    let sealed = bytes.as_deref().and_then(unseal);
    let (of, cursor) = sealed.ok_or_else(problem::page_token_invalid)?;
    if of != query {
        return Err(problem::page_token_of_other_query());
    }
    Ok(Some(cursor.to_vec()))
}

/// Takes a number off the front of a cursor.
#[must_use]
pub fn take_number(cursor: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = cursor.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}

fn unseal(bytes: &[u8]) -> Option<(QueryHash, &[u8])> {
    let (sealed, seal) = bytes.split_last_chunk::<CHECK_BYTES>()?;
    if *seal != check(sealed) {
        return None;
    }
    let (form, rest) = sealed.split_first()?;
    let (query, cursor) = rest.split_first_chunk::<QUERY_BYTES>()?;
    (*form == FORM).then_some((QueryHash(*query), cursor))
}

fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    first(&Sha256::digest(bytes))
}

fn first<const N: usize>(hash: &[u8]) -> [u8; N] {
    let mut short = [0; N];
    short
        .iter_mut()
        .zip(hash)
        .for_each(|(to, from)| *to = *from);
    short
}

#[cfg(test)]
mod tests {
    use wire::status::Reason;

    use super::*;

    #[test]
    fn a_token_comes_back_for_its_own_query_alone() {
        let (query, other) = (QueryHash::of(&[b"ab", b"c"]), QueryHash::of(&[b"a", b"bc"]));
        let token = encode(query, b"cursor");
        assert_eq!(decode(&token, query), Ok(Some(b"cursor".to_vec())));
        assert_eq!(decode("", query), Ok(None));
        let refused = decode(&token, other).unwrap_err();
        assert_eq!(refused.reason(), Reason::PageTokenOfOtherQuery);
    }

    #[test]
    fn whatever_is_no_token_is_invalid() {
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
