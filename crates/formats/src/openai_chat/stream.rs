//! Reads a streamed reply, piece by piece.

use super::{PROVIDER, reply};
use crate::chat::draft::Draft;
use crate::reply::{Delta, ParseError, Reply};

/// What ends a stream, after its last piece.
const DONE: &[u8] = b"[DONE]";

/// A reply that is streamed. Gives the facts that the whole reply would give.
#[derive(Debug, Default)]
pub struct ReplyStream {
    draft: Draft,
    has_ended: bool,
}

impl ReplyStream {
    /// Takes the text of one `data:` line: a piece, `[DONE]`, or nothing. What counts the tokens may follow the piece with
    /// which the model stopped.
    ///
    /// # Errors
    /// As [`super::parse_reply`]; the stream is then of no more use.
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
    /// [`ParseError::Incomplete`] where neither `[DONE]` nor the reason why the model stopped came, else as
    /// [`super::parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        if !self.has_ended {
            return Err(ParseError::Incomplete);
        }
        self.draft.reply(PROVIDER)
    }
}
