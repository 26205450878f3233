//! Position tokens: positions as callers get them, opaque. A read with a token includes that write.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Partition, Position, Sequence, Version};
use thiserror::Error;

/// The id of a record, chosen at random when the record is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordId(pub [u8; 8]);

/// A position in a record, and the version of the conversation at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionToken {
    /// The record.
    pub record: RecordId,
    /// The commit's position.
    pub position: Position,
    /// The conversation's version after it.
    pub version: Version,
}

/// Why a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It is not a position token.
    #[error("is not a position token: send a token unchanged as a write returned it")]
    Malformed,
    /// A token of another record.
    #[error("belongs to another record: use tokens only with the deployment that returned them")]
    OtherRecord,
}

/// The first byte: the version of the encoding.
const FORM: u8 = 1;
/// Form, record, partition, sequence, version.
const TOKEN_BYTES: usize = 1 + 8 + 2 + 8 + 8;

impl PositionToken {
    /// The token's text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(TOKEN_BYTES);
        bytes.push(FORM);
        bytes.extend_from_slice(&self.record.0);
        bytes.extend_from_slice(&self.position.partition.0.to_be_bytes());
        bytes.extend_from_slice(&self.position.sequence.0.to_be_bytes());
        bytes.extend_from_slice(&self.version.0.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a token of `record`.
    ///
    /// # Errors
    /// [`TokenError`], with the remedy.
    pub fn decode(text: &str, record: RecordId) -> Result<Self, TokenError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenError::Malformed)?;
        let mut rest = bytes.as_slice();
        if take::<1>(&mut rest)? != [FORM] {
            return Err(TokenError::Malformed);
        }
        let token = Self {
            record: RecordId(take(&mut rest)?),
            position: Position {
                partition: Partition(u16::from_be_bytes(take(&mut rest)?)),
                sequence: Sequence(u64::from_be_bytes(take(&mut rest)?)),
            },
            version: Version(u64::from_be_bytes(take(&mut rest)?)),
        };
        match (rest.is_empty(), token.record == record) {
            (false, _) => Err(TokenError::Malformed),
            (true, false) => Err(TokenError::OtherRecord),
            (true, true) => Ok(token),
        }
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], TokenError> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or(TokenError::Malformed)?;
    *bytes = rest;
    Ok(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_round_trip_and_refuse_what_is_not_theirs() {
        let token = PositionToken {
            record: RecordId([7; 8]),
            position: Position { partition: Partition(3), sequence: Sequence(u64::MAX) },
            version: Version(9),
        };
        let text = token.encode();
        assert_eq!(PositionToken::decode(&text, token.record), Ok(token));
        assert_eq!(PositionToken::decode(&text, RecordId([8; 8])), Err(TokenError::OtherRecord));
        for bad in ["", "x", "AAAA", &text[1..], &format!("{text}AAAA")] {
            assert_eq!(PositionToken::decode(bad, token.record), Err(TokenError::Malformed), "{bad}");
        }
    }
}
