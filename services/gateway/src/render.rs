//! Converts events and messages into protobuf messages of answers.

use domain::ConversationKey;
use formats::canonical::{Message, MessageKind, Turn};
use read_model::EventRow;
use wire::proto::read::v1 as proto;
use wire::status::Problem;

use conversations::problem;

/// The event of a row.
///
/// # Errors
/// Its bytes are corrupt.
pub fn recorded_event(key: &ConversationKey, event: EventRow) -> Result<proto::RecordedEvent, Problem> {
    let EventRow { version, commit, recorded_at, bytes } = event;
    wire::reads::recorded_event(version, commit, recorded_at, bytes).map_err(|corrupt| {
        problem::of_contradiction(format!("event {version} of conversation {} is corrupt: {corrupt}", key.conversation))
    })
}

/// A message of a context in canonical form.
#[must_use]
pub fn context_message(message: Message) -> proto::ContextMessage {
    use proto::context_message::Kind;
    let kind = match message.kind {
        MessageKind::Turn(message) => Kind::Turn(turn(&message)),
        MessageKind::ToolResult(result) => Kind::ToolResult(wire::event::tool_returned(&result)),
    };
    proto::ContextMessage { version: message.version.0, kind: Some(kind) }
}

fn turn(turn: &Turn) -> proto::Turn {
    let message = turn.message.as_ref();
    let author = message.and_then(|message| message.author.as_ref());
    proto::Turn {
        role: wire::event::role(turn.role).into(),
        parts: message.map(|message| wire::content::to_proto(&message.parts)).unwrap_or_default(),
        tool_calls: turn.calls.iter().map(wire::event::tool_called).collect(),
        author: wire::optional::label_text(author),
    }
}
