//! Parses a streamed reply, piece by piece.

use super::{PROVIDER, reply};
use crate::chat::draft::Draft;
use crate::reply::{Delta, ParseError, Reply};

/// The end of a stream.
const DONE: &[u8] = b"[DONE]";

/// The parser of a streamed reply. Its facts equal those of the whole reply.
#[derive(Debug, Default)]
pub struct ReplyStream {
    draft: Draft,
    has_ended: bool,
}

impl ReplyStream {
    /// Parses the text of one `data:` line: a piece, `[DONE]`, or nothing. The usage may follow the piece with the finish
    /// reason.
    ///
    /// # Errors
    /// Those of [`super::parse_reply`]. Do not use the stream after an error.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        let piece = piece.trim_ascii();
        if piece == DONE {
            self.has_ended = true;
        }
        if piece == DONE || piece.is_empty() {
            return Ok(Vec::new());
        }
        let mut deltas = Vec::new();
        let piece = reply::read(piece)?;
        self.has_ended |= reply::absorb(&mut self.draft, &piece, &mut deltas)?;
        Ok(deltas)
    }

    /// The whole reply.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] without `[DONE]` and without a finish reason, and the errors of [`super::parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        if !self.has_ended {
            return Err(ParseError::Incomplete);
        }
        self.draft.reply(PROVIDER)
    }
}
