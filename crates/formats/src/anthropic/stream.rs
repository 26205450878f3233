//! Parses streamed replies of Anthropic. Blocks are assembled as in a whole reply, and parsed by the same code.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::{Delta, ParseError, Reply};
use crate::values;

use super::errors::{malformed, read};
use super::open_block::{Addition, OpenBlock};
use super::reply::{Failure, Head, Tokens, check_size, facts};

/// The end of streams in other formats; ignored.
const DONE: &str = "[DONE]";

/// The parser of a streamed reply.
#[derive(Debug, Default)]
pub struct ReplyStream {
    bytes: usize,
    head: Option<Head>,
    blocks: Vec<OpenBlock>,
    calls: usize,
    ended: bool,
}

#[derive(Deserialize)]
struct StreamEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    index: Option<usize>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "values::optional")]
    usage: Option<Tokens>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct MessageDelta {
    stop_reason: Option<String>,
}

impl ReplyStream {
    /// Parses the JSON text of the `data` of one event. Unknown events are ignored.
    ///
    /// # Errors
    /// [`ParseError::Failed`] for an error in the stream; [`ParseError::Malformed`] if the piece is not an event or out of
    /// order; [`ParseError::Unusable`] if all pieces together exceed [`super::REPLY_BYTES_MAX`].
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Delta>, ParseError> {
        self.bytes = self.bytes.saturating_add(piece.len());
        check_size(self.bytes)?;
        let piece = str::from_utf8(piece).map_err(|_| malformed("the event is not UTF-8"))?;
        if piece.trim() == DONE {
            return Ok(Vec::new());
        }
        let event: StreamEvent<'_> = read(piece, "the event")?;
        match event.kind.as_str() {
            "message_start" => self.head = Some(read(given(event.message)?, "message")?),
            "content_block_start" => return self.begin_block(&event),
            "content_block_delta" => return self.add_to_block(&event),
            "message_delta" => self.conclude(&event)?,
            "message_stop" => self.ended = true,
            "error" => return Err(event.error.unwrap_or_default().into()),
            _ => {}
        }
        Ok(Vec::new())
    }

    /// The facts of the reply, equal to those of [`super::parse_reply`].
    ///
    /// The incomplete input of a call becomes a JSON string.
    ///
    /// # Errors
    /// [`ParseError::Incomplete`] if the reply did not end, and the errors of [`super::parse_reply`].
    pub fn finish(self) -> Result<Reply, ParseError> {
        let Some(head) = self.head.filter(|_| self.ended) else {
            return Err(ParseError::Incomplete);
        };
        let closed: Vec<Box<RawValue>> = self.blocks.into_iter().map(OpenBlock::close).collect::<Result<_, _>>()?;
        let blocks: Vec<&RawValue> = closed.iter().map(AsRef::as_ref).collect();
        facts(&head, &blocks)
    }

    fn begin_block(&mut self, event: &StreamEvent<'_>) -> Result<Vec<Delta>, ParseError> {
        if event.index != Some(self.blocks.len()) {
            return Err(malformed("content_block_start has an index out of order"));
        }
        let (block, delta) = OpenBlock::begin(given(event.content_block)?, self.calls)?;
        if block.is_call() {
            self.calls += 1;
        }
        self.blocks.push(block);
        Ok(Vec::from_iter(delta))
    }

    fn add_to_block(&mut self, event: &StreamEvent<'_>) -> Result<Vec<Delta>, ParseError> {
        let addition: Addition<'_> = read(given(event.delta)?, "delta")?;
        let index = event.index.unwrap_or(usize::MAX);
        let block = self.blocks.get_mut(index).ok_or_else(|| malformed("content_block_delta has an unknown index"))?;
        Ok(Vec::from_iter(block.add(addition)))
    }

    fn conclude(&mut self, event: &StreamEvent<'_>) -> Result<(), ParseError> {
        let Some(head) = &mut self.head else {
            return Err(malformed("message_delta comes before message_start"));
        };
        let delta: MessageDelta = read(given(event.delta)?, "delta")?;
        head.stop_reason = delta.stop_reason.or(head.stop_reason.take());
        if let Some(usage) = event.usage {
            head.usage = Some(usage.or(head.usage.unwrap_or_default()));
        }
        Ok(())
    }
}

fn given(field: Option<&RawValue>) -> Result<&str, ParseError> {
    let field = field.ok_or_else(|| malformed("a field of the event is missing"))?;
    Ok(field.get())
}
