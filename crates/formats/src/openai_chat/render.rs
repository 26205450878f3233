//! Renders a transcript as the messages of a request.

use std::borrow::Cow;

use context::{AnsweredCall, Transcript, Turn};
use domain::event::Role;

use super::content;
use super::outgoing::{Body, Content, ContentPart, Function, Message, TextMessage, ToolCall};
use crate::chat::texts;
use crate::options::{InstructionsRole, RenderOptions};
use crate::outline::{Layout, Section};
use crate::rendered::{Notes, Rendered};

/// The user message of an empty context, because the list must not be empty (O1).
pub const NOTHING_SAID: &str = "(Nothing has been said yet.)";
/// The separator of instructions.
const INSTRUCTIONS_SEPARATOR: &str = "\n\n";
const LAYOUT: Layout = Layout { list: "messages", parts: None, fields: &[] };

/// Renders `prompt_cache_key` and `messages`.
///
/// The messages of a turn depend only on earlier turns (their call ids) and are not merged (O7), so a new turn only appends
/// to the list. The format has no thoughts.
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let mut messages = Vec::new();
    if !transcript.instructions.is_empty() {
        let instructions = transcript.instructions.join(INSTRUCTIONS_SEPARATOR);
        let message = text_only(Cow::Owned(instructions));
        messages.push(instructions_message(message, options.instructions_role));
    }
    notes.end_section(Section::Instructions, messages.len(), 0);
    messages.extend(transcript.opening.as_deref().map(user));
    notes.end_section(Section::Opening, messages.len(), 0);
    for turn in &transcript.turns {
        if turn.role == Role::Assistant {
            push_unit(&mut messages, turn, &mut notes);
        } else {
            messages.extend(text_message(turn, options.instructions_role, &mut notes));
        }
        notes.end_section(Section::Turn(turn.version), messages.len(), 0);
    }
    messages.extend(transcript.closing.as_deref().map(user));
    notes.end_section(Section::Closing, messages.len(), 0);
    if messages.is_empty() {
        messages.push(user(NOTHING_SAID));
    }
    notes.sort_losses();
    let body = Body { prompt_cache_key: options.prompt_cache_key(), messages };
    notes.rendered(&body, &LAYOUT)
}

fn user(text: &str) -> Message<'_> {
    Message::User(text_only(Cow::Borrowed(text)))
}

fn text_only(text: Cow<'_, str>) -> TextMessage<'_> {
    TextMessage { name: None, content: Content::Text(text) }
}

fn instructions_message(message: TextMessage<'_>, role: InstructionsRole) -> Message<'_> {
    match role {
        InstructionsRole::System => Message::System(message),
        InstructionsRole::Developer => Message::Developer(message),
    }
}

/// The message of a user, or of instructions; `None` without renderable content.
fn text_message<'a>(turn: &'a Turn, role: InstructionsRole, notes: &mut Notes) -> Option<Message<'a>> {
    let is_user = turn.role == Role::User;
    let parts = if is_user { content::user_parts(turn, notes) } else { content::text_parts(turn, notes) };
    let content = content::from_parts(parts)?;
    let name = content::name(turn, notes);
    let message = TextMessage { name, content };
    Some(if is_user { Message::User(message) } else { instructions_message(message, role) })
}

/// Adds an assistant turn with all its calls, directly followed by their results (O3). An empty turn is omitted (O2).
fn push_unit<'a>(messages: &mut Vec<Message<'a>>, turn: &'a Turn, notes: &mut Notes) {
    let (content, refusal) = content::assistant(turn, notes);
    if content.is_none() && turn.calls.is_empty() {
        return;
    }
    let name = content::name(turn, notes);
    let (mut tool_calls, mut results) = (Vec::new(), Vec::new());
    for call in &turn.calls {
        let id = notes.names.call_id(&call.called, call.version);
        results.push(result(call, id.clone(), notes));
        tool_calls.push(tool_call(call, id, notes));
    }
    messages.push(Message::Assistant { name, content, refusal, tool_calls });
    messages.append(&mut results);
}

fn tool_call<'a>(call: &'a AnsweredCall, id: String, notes: &mut Notes) -> ToolCall<'a> {
    notes.omit_signature(call);
    ToolCall {
        id,
        function: Function {
            name: notes.names.tool_name(&call.called.tool_name),
            arguments: call.called.input.as_str(),
        },
    }
}

fn result<'a>(call: &'a AnsweredCall, tool_call_id: String, notes: &mut Notes) -> Message<'a> {
    let parts = texts::answer_texts(call, notes).into_iter().map(|text| ContentPart::Text { text }).collect();
    Message::Tool { tool_call_id, content: content::from_parts(parts).unwrap_or(Content::Text(Cow::Borrowed(""))) }
}
