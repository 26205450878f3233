//! The newest messages of a conversation, from one snapshot.

use domain::EventKind;
use history::{Bounds, Cursor, CursorEvent, Direction, Range, Reader, Snapshot, Target, View, decode};
use rmcp::schemars::JsonSchema;
use runtime::http::HttpProblem;
use serde::Serialize;
use wire::status::Problem;

use super::ToolContext;
use crate::http::mcp::failure::Failure;
use crate::http::mcp::objects::{ConversationObject, MessageObject};

/// Most messages of an answer.
pub(in crate::http::mcp) const MESSAGES_MAX: u32 = 100;
/// Most bytes of the messages of an answer, as the record stores them. An answer has at least one message.
const HISTORY_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Most messages that are read for an answer: those of the system are read and left out.
const MESSAGES_READ_MAX: usize = 4_000;

/// The newest messages, and the conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(in crate::http::mcp) struct HistoryObject {
    /// The conversation.
    conversation_id: String,
    /// The user who owns it. Null: a session or a channel owns it.
    user_id: Option<String>,
    /// Its title.
    title: Option<String>,
    /// The number of messages in this answer.
    message_count: usize,
    /// When the conversation was created; ISO 8601.
    created_at: String,
    /// The time of its last event; ISO 8601.
    updated_at: String,
    /// The messages, oldest first.
    messages: Vec<MessageObject>,
}

/// Reads at most `limit` messages of users and assistants. What a rewind hides is left out.
///
/// # Errors
/// The caller has no such conversation, or it cannot be read.
pub(in crate::http::mcp) async fn newest(
    context: &ToolContext<'_>,
    id: &str,
    limit: usize,
) -> Result<HistoryObject, Failure> {
    let target = context.caller.target(context.state, id).await.map_err(|problem| Failure::of(problem, id))?;
    let read = read(&context.state.gateway.reader, &target, id, limit).await;
    read.map_err(|error| Failure::of(HttpProblem::from(error), id))
}

async fn read(reader: &Reader, target: &Target, id: &str, limit: usize) -> Result<HistoryObject, Problem> {
    let range = Range { kinds: &[EventKind::MessageAppended], ..Range::all(Direction::Backward) };
    let batch = Bounds { events_max: limit, bytes_max: HISTORY_BYTES_MAX };
    // Not with the first events: the title must come from the same snapshot.
    let snapshot = Snapshot::open(reader, target).await?;
    let effective = snapshot.effective(snapshot.position().version).await?;
    let cursor = snapshot.cursor(range, View::Effective(&effective));
    let mut messages = newest_first(cursor, id, batch).await?;
    messages.reverse();
    let conversation = ConversationObject::from(&snapshot.into_conversation().await?);
    Ok(HistoryObject {
        conversation_id: conversation.id,
        user_id: conversation.user_id,
        title: conversation.title,
        message_count: messages.len(),
        created_at: conversation.created_at,
        updated_at: conversation.updated_at,
        messages,
    })
}

async fn newest_first(mut cursor: Cursor<'_>, id: &str, batch: Bounds) -> Result<Vec<MessageObject>, Problem> {
    let (mut messages, mut events_read, mut bytes_read) = (Vec::new(), 0, 0_u64);
    while let Some(events) = cursor.next(batch).await? {
        for CursorEvent { row, .. } in events {
            events_read += 1;
            let bytes = u64::try_from(row.bytes.len()).unwrap_or(u64::MAX);
            bytes_read = bytes_read.saturating_add(bytes);
            let is_beyond = events_read > MESSAGES_READ_MAX || bytes_read > HISTORY_BYTES_MAX;
            if is_beyond && !messages.is_empty() {
                return Ok(messages);
            }
            let event = decode(cursor.snapshot().key(), &row)?;
            messages.extend(MessageObject::from_event(id, &event));
            if messages.len() >= batch.events_max {
                return Ok(messages);
            }
        }
        if events_read > MESSAGES_READ_MAX {
            break;
        }
    }
    Ok(messages)
}
