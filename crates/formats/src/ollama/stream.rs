//! Reads a streamed reply, line by line.

use super::{PROVIDER, reply};
use crate::chat::draft::Draft;
use crate::reply::{Delta, ParseError, Reply};

/// What ends a stream of the servers that speak OpenAI's; accepted here too.
const DONE: &[u8] = b"[DONE]";

/// A reply that is streamed. Gives the facts that the whole reply would give.
#[derive(Debug, Default)]
pub struct ReplyStream {
    draft: Draft,
    has_ended: bool,
}

impl ReplyStream {
    /// Takes one line: a piece, `[DONE]`, or nothing.
    ///
    /// # Errors
    /// As [`super::parse_reply`]; the stream is then of no more use.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        let piece = piece.trim_ascii();
        if piece == DONE || piece.is_empty() {
            return Ok(Vec::new());
        }
        let mut deltas = Vec::new();
        self.has_ended |= reply::absorb(&mut self.draft, piece, &mut deltas)?;
        Ok(deltas)
    }

    /// The whole reply.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] where no line said that the reply is done, else as [`super::parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        if !self.has_ended {
            return Err(ParseError::Incomplete);
        }
        self.draft.reply(PROVIDER)
    }
}
