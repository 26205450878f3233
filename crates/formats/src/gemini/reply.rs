//! Parses whole replies.

use super::errors::{invalid, malformed};
use super::reply_draft::ReplyDraft;
use crate::{ParseError, Reply};

/// Parses the first candidate of a `GenerateContentResponse`.
///
/// Adjacent texts and adjacent thoughts are merged, as in a streamed reply. A call without an id gets
/// `call_<digest of the response id>_<number>`, or `call_<number>` if the response has no id. Numbers start at 0.
///
/// # Errors
/// [`ParseError::Failed`] for an error or a blocked prompt; [`ParseError::Malformed`] for another structure;
/// [`ParseError::Unusable`] for a name, an id or a document that an event cannot contain.
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    let response = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let mut draft = ReplyDraft::default();
    draft.absorb(response)?;
    if !draft.has_candidate {
        return Err(invalid("there are no candidates"));
    }
    Ok(draft.reply())
}

#[cfg(test)]
mod tests;
