//! Parses replies, whole and streamed. A whole reply is parsed like one streamed piece.

use domain::Part;
use domain::event::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::incoming::{self, IncomingMessage};
use super::{FORMAT, PROVIDER};
use crate::chat::draft::Draft;
use crate::reply::{Delta, ParseError, Reply};
use crate::values::{self, Count};

/// The end of a stream.
const DONE: &[u8] = b"[DONE]";

/// A reply, or a streamed piece of one.
#[derive(Debug, Deserialize)]
struct Piece<'a> {
    object: Option<String>,
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default, deserialize_with = "values::optional")]
    usage: Option<Counts>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Choice<'a> {
    index: Option<usize>,
    #[serde(borrow)]
    message: Option<IncomingMessage<'a>>,
    #[serde(borrow)]
    delta: Option<IncomingMessage<'a>>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Counts {
    prompt_tokens: Option<Count>,
    completion_tokens: Option<Count>,
    #[serde(default, deserialize_with = "values::optional")]
    prompt_tokens_details: Option<PromptCounts>,
    #[serde(default, deserialize_with = "values::optional")]
    completion_tokens_details: Option<CompletionCounts>,
}

#[derive(Debug, Deserialize)]
struct PromptCounts {
    cached_tokens: Option<Count>,
}

#[derive(Debug, Deserialize)]
struct CompletionCounts {
    reasoning_tokens: Option<Count>,
}

impl Counts {
    fn usage(&self) -> Usage {
        let prompt = self.prompt_tokens_details.as_ref();
        let completion = self.completion_tokens_details.as_ref();
        Usage {
            input_tokens: Count::or_zero(self.prompt_tokens),
            output_tokens: Count::or_zero(self.completion_tokens),
            cached_tokens: Count::or_zero(prompt.and_then(|p| p.cached_tokens)),
            reasoning_tokens: Count::or_zero(completion.and_then(|c| c.reasoning_tokens)),
        }
    }
}

/// The facts of the first choice of a whole reply. Of audio, only the transcript is kept.
///
/// # Errors
/// [`ParseError::Failed`] for an error of the provider, [`ParseError::Malformed`], or [`ParseError::Unusable`] past a bound:
/// 16 MiB, 499 calls, 256 bytes per id or name.
pub fn parse_reply(body: &[u8]) -> Result<Reply, ParseError> {
    let mut piece = read(body)?;
    let choices = piece.choices.as_deref_mut().unwrap_or_default();
    if choices.is_empty() {
        return Err(ParseError::malformed(FORMAT, "choices is missing or empty"));
    }
    let calls = choices.iter_mut().filter_map(|choice| choice.message.as_mut()?.tool_calls.as_mut());
    for (index, call) in calls.flat_map(|calls| calls.iter_mut().enumerate()) {
        call.index = Some(index);
    }
    let mut draft = Draft::default();
    absorb(&mut draft, &piece, &mut Vec::new())?;
    draft.reply(PROVIDER)
}

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
    /// Those of [`parse_reply`]. Do not use the stream after an error.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        let piece = piece.trim_ascii();
        if piece == DONE {
            self.has_ended = true;
        }
        if piece == DONE || piece.is_empty() {
            return Ok(Vec::new());
        }
        let mut deltas = Vec::new();
        let piece = read(piece)?;
        self.has_ended |= absorb(&mut self.draft, &piece, &mut deltas)?;
        Ok(deltas)
    }

    /// The whole reply.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] without `[DONE]` and without a finish reason, and the errors of [`parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        if !self.has_ended {
            return Err(ParseError::Incomplete);
        }
        self.draft.reply(PROVIDER)
    }
}

/// Parses a piece. An error in it is an error.
fn read(text: &[u8]) -> Result<Piece<'_>, ParseError> {
    let piece: Piece<'_> = serde_json::from_slice(text).map_err(|error| values::malformed(FORMAT, &error))?;
    if let Some(error) = piece.error {
        let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
        return Err(values::failure(&error));
    }
    if piece.object.as_deref() == Some("error") {
        let error: Value = serde_json::from_slice(text).unwrap_or_default();
        return Err(values::failure(&error));
    }
    Ok(piece)
}

/// Adds a piece to the draft. Returns whether the model stopped.
fn absorb(draft: &mut Draft, piece: &Piece<'_>, deltas: &mut Vec<Delta>) -> Result<bool, ParseError> {
    if draft.response_id.is_none() {
        draft.response_id = values::reported(piece.id.as_deref());
        draft.seed = piece.id.clone().unwrap_or_default();
    }
    if draft.model.is_none() {
        draft.model = values::reported(piece.model.as_deref());
    }
    if let Some(counts) = &piece.usage {
        draft.usage = Some(counts.usage());
    }
    let mut choices = piece.choices.iter().flatten();
    let first = choices.find(|choice| choice.index.unwrap_or_default() == 0);
    let Some(choice) = first else {
        return Ok(false);
    };
    if let Some(message) = choice.message.as_ref().or(choice.delta.as_ref()) {
        absorb_message(draft, message, deltas)?;
    }
    let finish_reason = values::finish_reason(choice.finish_reason.as_deref());
    let stopped = finish_reason.is_some();
    if stopped {
        draft.finish_reason = finish_reason;
    }
    Ok(stopped)
}

fn absorb_message(draft: &mut Draft, message: &IncomingMessage<'_>, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
    if let Some(thought) = message.thought() {
        draft.add_thinking(&thought, deltas)?;
    }
    for part in incoming::parts(message.content)? {
        match part {
            Part::Text(text) => draft.add_text(&text, deltas)?,
            Part::Refusal(text) => draft.add_refusal(&text, deltas)?,
            Part::Thinking { .. }
            | Part::RedactedThinking(_)
            | Part::Image { .. }
            | Part::File { .. }
            | Part::ProviderItem { .. } => draft.add_other(part)?,
        }
    }
    if let Some(transcript) = message.transcript() {
        draft.add_text(&transcript, deltas)?;
    }
    draft.add_refusal(message.refusal.as_deref().unwrap_or_default(), deltas)?;
    for call in message.calls() {
        draft.add_call(call.piece(), deltas)?;
    }
    Ok(())
}
