//! Parses streamed replies.

use super::errors::malformed;
use super::reply_draft::ReplyDraft;
use crate::{Delta, ParseError, Reply};

/// Maximum bytes of all pieces of a reply.
pub const REPLY_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// The end of the streams of some servers.
const DONE: &[u8] = b"[DONE]";

/// The parser of a streamed reply. Each piece is a `GenerateContentResponse` whose parts are appended.
#[derive(Debug, Default)]
pub struct ReplyStream {
    draft: ReplyDraft,
    bytes: usize,
}

impl ReplyStream {
    /// Parses one piece: the JSON text of one `data:` field. Returns its deltas.
    ///
    /// # Errors
    /// Those of [`super::parse_reply`], and [`ParseError::Unusable`] if all pieces exceed [`REPLY_BYTES_MAX`]. Do not use the
    /// stream after an error.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > REPLY_BYTES_MAX {
            return Err(ParseError::Unusable {
                field: "reply".into(),
                reason: format!("has more than {REPLY_BYTES_MAX} bytes"),
            });
        }
        if piece.trim_ascii() == DONE {
            return Ok(Vec::new());
        }
        let response = serde_json::from_slice(piece).map_err(|error| malformed(&error))?;
        self.draft.absorb(response)
    }

    /// The reply, equal to the whole reply.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] without a finish reason.
    pub fn finish(self) -> Result<Reply, ParseError> {
        if self.draft.finish_reason.is_some() { Ok(self.draft.reply()) } else { Err(ParseError::Incomplete) }
    }
}

#[cfg(test)]
mod tests;
