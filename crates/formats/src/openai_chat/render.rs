//! Writes a transcript as the messages of a request.

use std::borrow::Cow;

use context::{AnsweredCall, Transcript, Turn};
use domain::event::Role;

use super::content;
use super::outgoing::{
    Body, Content, ContentPart, Function, Message, Said, ToolCall, prompt_cache_key,
};
use crate::chat::writing::{self, Notes};
use crate::loss::{Became, Lost};
use crate::options::{InstructionsRole, RenderOptions};
use crate::rendered::Rendered;

/// The user's message of a context that has none at all: the list is never empty (O1).
pub const NOTHING_SAID: &str = "(Nothing has been said yet.)";
/// Between two instructions.
const INSTRUCTIONS_SEPARATOR: &str = "\n\n";

/// The part of a request's body that carries the context: `prompt_cache_key` and `messages`.
///
/// A turn's messages depend on the turns before it alone (their call ids), and are its own (O7): a longer transcript
/// appends to the list. Thoughts have no place in this format, and no signature brings them back.
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let mut messages = Vec::new();
    if !transcript.instructions.is_empty() {
        let instructions = transcript.instructions.join(INSTRUCTIONS_SEPARATOR);
        let said = plain(Cow::Owned(instructions));
        messages.push(instructing(said, options.instructions_role));
    }
    messages.extend(transcript.opening.as_deref().map(user));
    for turn in &transcript.turns {
        if turn.role == Role::Assistant {
            push_unit(&mut messages, turn, &mut notes);
        } else {
            messages.extend(spoken(turn, options.instructions_role, &mut notes));
        }
    }
    messages.extend(transcript.closing.as_deref().map(user));
    if messages.is_empty() {
        messages.push(user(NOTHING_SAID));
    }
    let prompt_cache_key = options.cache_key.as_deref().and_then(prompt_cache_key);
    notes.rendered(&Body {
        prompt_cache_key,
        messages,
    })
}

fn user(text: &str) -> Message<'_> {
    Message::User(plain(Cow::Borrowed(text)))
}

fn plain(text: Cow<'_, str>) -> Said<'_> {
    Said {
        name: None,
        content: Content::Text(text),
    }
}

fn instructing(said: Said<'_>, role: InstructionsRole) -> Message<'_> {
    match role {
        InstructionsRole::System => Message::System(said),
        InstructionsRole::Developer => Message::Developer(said),
    }
}

/// What a user or an instructor says; none where nothing is left of it.
fn spoken<'a>(turn: &'a Turn, role: InstructionsRole, notes: &mut Notes) -> Option<Message<'a>> {
    let is_user = turn.role == Role::User;
    let parts = if is_user {
        content::user_parts(turn, notes)
    } else {
        content::text_parts(turn, notes)
    };
    let content = content::of_parts(parts)?;
    let name = content::name(turn, notes);
    let said = Said { name, content };
    Some(if is_user {
        Message::User(said)
    } else {
        instructing(said, role)
    })
}

/// An assistant's turn with all its calls, and their results at once (O3); nothing where it is empty (O2).
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
    messages.push(Message::Assistant {
        name,
        content,
        refusal,
        tool_calls,
    });
    messages.append(&mut results);
}

fn tool_call<'a>(call: &'a AnsweredCall, id: String, notes: &mut Notes) -> ToolCall<'a> {
    if call.called.signature.is_some() {
        notes.lose(call.version, Lost::CallSignature, Became::Nothing);
    }
    ToolCall {
        id,
        function: Function {
            name: notes.names.tool_name(&call.called.tool_name),
            arguments: call.called.input.as_str(),
        },
    }
}

fn result<'a>(call: &'a AnsweredCall, tool_call_id: String, notes: &mut Notes) -> Message<'a> {
    let texts = writing::answer_texts(call, notes).into_iter();
    let parts = texts.map(|text| ContentPart::Text { text }).collect();
    Message::Tool {
        tool_call_id,
        content: content::of_parts(parts).unwrap_or(Content::Text(Cow::Borrowed(""))),
    }
}
