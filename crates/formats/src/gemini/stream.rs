//! Reads a reply that comes in pieces.

use super::fault::malformed;
use super::gathered::Gathered;
use crate::{Delta, ParseError, Reply};

/// Most bytes of one reply's pieces together.
pub const REPLY_BYTES_MAX: usize = 16 * 1_024 * 1_024;
/// What some servers end a stream with.
const DONE: &[u8] = b"[DONE]";

/// A reply that is being streamed: each piece is a `GenerateContentResponse` whose parts are appended.
#[derive(Debug, Default)]
pub struct ReplyStream {
    gathered: Gathered,
    bytes: usize,
}

impl ReplyStream {
    /// Takes one piece, the JSON text of one `data:` of the event stream, and tells what it adds.
    ///
    /// # Errors
    /// As [`super::parse_reply`]; also [`ParseError::Unusable`] when all pieces exceed [`REPLY_BYTES_MAX`]. After an error the
    /// stream is of no further use.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > REPLY_BYTES_MAX {
            return Err(ParseError::Unusable {
                field: "reply".to_owned(),
                reason: format!("is over {REPLY_BYTES_MAX} bytes"),
            });
        }
        if piece.trim_ascii() == DONE {
            return Ok(Vec::new());
        }
        let response = serde_json::from_slice(piece).map_err(|error| malformed(&error))?;
        self.gathered.absorb(response)
    }

    /// The reply, the same as if it had come whole.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] when no piece said why the model stopped.
    pub fn finish(self) -> Result<Reply, ParseError> {
        if self.gathered.has_ended() {
            Ok(self.gathered.reply())
        } else {
            Err(ParseError::Incomplete)
        }
    }
}

#[cfg(test)]
mod tests;
