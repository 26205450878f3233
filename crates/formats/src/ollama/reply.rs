//! Reads a reply: the whole body of an answer that was not streamed, by the same steps as a streamed line.

use domain::event::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::history::{Said, image};
use super::{FORMAT, PROVIDER};
use crate::chat::call_drafts::CallPiece;
use crate::chat::draft::Draft;
use crate::chat::reading;
use crate::reply::{Delta, ParseError, Reply};

#[derive(Debug, Deserialize)]
struct Line<'a> {
    model: Option<String>,
    created_at: Option<String>,
    #[serde(borrow)]
    message: Option<Said<'a>>,
    done: Option<bool>,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The facts of a whole reply. The provider gives a reply no id. Calls without ids get such as the time at which the reply
/// began and their number tell.
///
/// # Errors
/// [`ParseError::Failed`] where the provider tells of a failure, [`ParseError::Incomplete`] where the reply is not done,
/// [`ParseError::Malformed`], or [`ParseError::Unusable`] past a bound: 16 MiB, 499 calls, 256 bytes an id or name.
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    let mut draft = Draft::default();
    if !absorb(&mut draft, body, &mut Vec::new())? {
        return Err(ParseError::Incomplete);
    }
    draft.reply(PROVIDER)
}

/// Adds a line to the draft; true where the reply is done with it.
pub(super) fn absorb(
    draft: &mut Draft,
    line: &[u8],
    deltas: &mut Vec<Delta>,
) -> Result<bool, ParseError> {
    let line: Line<'_> =
        serde_json::from_slice(line).map_err(|error| reading::malformed(FORMAT, &error))?;
    if let Some(error) = line.error {
        let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
        return Err(reading::failure(&error));
    }
    if draft.seed.is_empty() {
        draft.seed = line.created_at.unwrap_or_default();
    }
    if draft.model.is_none() {
        draft.model = reading::label("model", line.model.as_deref())?;
    }
    if let Some(said) = &line.message {
        absorb_said(draft, said, deltas)?;
    }
    if line.prompt_eval_count.is_some() || line.eval_count.is_some() {
        draft.usage = Some(Usage {
            input_tokens: line.prompt_eval_count.unwrap_or_default(),
            output_tokens: line.eval_count.unwrap_or_default(),
            ..Usage::default()
        });
    }
    if let Some(reason) = reading::label("done_reason", line.done_reason.as_deref())? {
        draft.finish_reason = Some(reason);
    }
    Ok(line.done.unwrap_or_default())
}

fn absorb_said(
    draft: &mut Draft,
    said: &Said<'_>,
    deltas: &mut Vec<Delta>,
) -> Result<(), ParseError> {
    draft.add_thinking(said.thinking.as_deref().unwrap_or_default(), deltas)?;
    draft.add_text(said.content.as_deref().unwrap_or_default(), deltas)?;
    for base64 in said.images.iter().flatten() {
        draft.add_other(image(base64))?;
    }
    for call in said.tool_calls.iter().flatten() {
        let piece = CallPiece {
            // Every call comes whole, so each has a number of its own.
            number: Some(draft.calls_begun()),
            id: call.id.as_deref().unwrap_or_default(),
            name: call.function.name.as_deref().unwrap_or_default(),
            input: &call.input(),
        };
        draft.add_call(piece, deltas)?;
    }
    Ok(())
}
