//! Reads a whole reply.

use super::fault::{malformed, misshapen};
use super::gathered::Gathered;
use crate::{ParseError, Reply};

/// Reads a `GenerateContentResponse` that was not streamed: its first candidate.
///
/// Neighbouring texts, and neighbouring thoughts, become one, as they do when they are streamed. A call without an id gets
/// `call_<digest of the response's id>_<number>`, or `call_<number>` where the response has none; numbers count from 0.
///
/// # Errors
/// [`ParseError::Failed`] for an error in place of a reply, or a prompt that was blocked; [`ParseError::Malformed`] for
/// another shape; [`ParseError::Unusable`] for a name, id or document that no event can hold.
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    let response = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let mut gathered = Gathered::default();
    gathered.absorb(response)?;
    if !gathered.has_candidate() {
        return Err(misshapen("there are no candidates"));
    }
    Ok(gathered.reply())
}

#[cfg(test)]
mod tests;
