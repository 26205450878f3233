//! Parses replies, whole and streamed. A whole reply is parsed like one streamed line.

use domain::event::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::history::{Call, IncomingMessage, image};
use super::{FORMAT, PROVIDER};
use crate::chat::call_drafts::CallPiece;
use crate::chat::draft::Draft;
use crate::reply::{Delta, ParseError, Reply};
use crate::values::{self, Count};

/// The end of a stream in OpenAI's formats; ignored.
const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Deserialize)]
struct Line<'a> {
    model: Option<String>,
    created_at: Option<String>,
    #[serde(borrow)]
    message: Option<IncomingMessage<'a>>,
    done: Option<bool>,
    done_reason: Option<String>,
    #[serde(default, deserialize_with = "values::optional")]
    prompt_eval_count: Option<Count>,
    #[serde(default, deserialize_with = "values::optional")]
    eval_count: Option<Count>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The facts of a whole reply. Replies have no id. Calls without an id get one from the time of the reply and their number.
///
/// # Errors
/// [`ParseError::Failed`] for an error of the provider, [`ParseError::Incomplete`] if the reply is not complete,
/// [`ParseError::Malformed`], or [`ParseError::Unusable`] past a bound: 16 MiB, 499 calls, 256 bytes per id or name.
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    let mut draft = Draft::default();
    if !absorb(&mut draft, body, &mut Vec::new())? {
        return Err(ParseError::Incomplete);
    }
    draft.reply(PROVIDER)
}

/// The parser of a streamed reply. Its facts equal those of the whole reply.
#[derive(Debug, Default)]
pub struct ReplyStream {
    draft: Draft,
    has_ended: bool,
}

impl ReplyStream {
    /// Parses one line: a piece, `[DONE]`, or nothing.
    ///
    /// # Errors
    /// Those of [`parse_reply`]. Do not use the stream after an error.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        let piece = piece.trim_ascii();
        if piece == DONE || piece.is_empty() {
            return Ok(Vec::new());
        }
        let mut deltas = Vec::new();
        self.has_ended |= absorb(&mut self.draft, piece, &mut deltas)?;
        Ok(deltas)
    }

    /// The whole reply.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] if no line completed the reply, and the errors of [`parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        if !self.has_ended {
            return Err(ParseError::Incomplete);
        }
        self.draft.reply(PROVIDER)
    }
}

/// Adds a line to the draft. Returns whether the reply is complete.
fn absorb(draft: &mut Draft, line: &[u8], deltas: &mut Vec<Delta>) -> Result<bool, ParseError> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|error| values::malformed(FORMAT, &error))?;
    if let Some(error) = line.error {
        let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
        return Err(values::failure(&error));
    }
    if draft.seed.is_empty() {
        draft.seed = line.created_at.unwrap_or_default();
    }
    if draft.model.is_none() {
        draft.model = values::reported(line.model.as_deref());
    }
    if let Some(message) = &line.message {
        absorb_message(draft, message, deltas)?;
    }
    if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
        draft.usage = Some(Usage {
            input_tokens: Count::or_zero(line.prompt_eval_count),
            output_tokens: Count::or_zero(line.eval_count),
            ..Usage::default()
        });
    }
    if let Some(reason) = values::finish_reason(line.done_reason.as_deref()) {
        draft.finish_reason = Some(reason);
    }
    Ok(line.done.unwrap_or_default())
}

fn absorb_message(draft: &mut Draft, message: &IncomingMessage<'_>, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
    draft.add_thinking(message.thinking.as_deref().unwrap_or_default(), deltas)?;
    draft.add_text(message.content.as_deref().unwrap_or_default(), deltas)?;
    for base64 in message.images.iter().flatten() {
        draft.add_other(image(base64))?;
    }
    for call in message.tool_calls.iter().flatten().map(Call::content) {
        let piece = CallPiece {
            // Every call is complete, so each has its own number.
            number: Some(draft.calls_started()),
            ..call.piece()
        };
        draft.add_call(piece, deltas)?;
    }
    Ok(())
}
