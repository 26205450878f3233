//! Renders a transcript as the messages of a request.

use std::borrow::Cow;

use context::{AnsweredCall, Transcript, Turn};
use domain::event::Role;
use serde_json::value::RawValue;

use super::content::{self, joined};
use super::outgoing::{Arguments, Body, Function, Message, ModelOptions, ToolCall};
use crate::chat::texts;
use crate::loss::LostContent;
use crate::options::RenderOptions;
use crate::outline::{Layout, Section};
use crate::rendered::{Notes, Rendered};

/// The instructions of a context without instructions. Otherwise the server uses those of the model file (L4).
pub const INSTRUCTIONS: &str = "You are a helpful assistant.";
/// The separator of instructions.
const INSTRUCTIONS_SEPARATOR: &str = "\n\n";
const LAYOUT: Layout = Layout { list: "messages", parts: None, fields: &[] };

/// Renders `truncate`, `options.num_ctx` if it is known, and `messages`.
///
/// The messages of a turn depend only on earlier turns (their call ids), so a new turn only appends to the list.
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let instructions = if transcript.instructions.is_empty() {
        Cow::Borrowed(INSTRUCTIONS)
    } else {
        Cow::Owned(transcript.instructions.join(INSTRUCTIONS_SEPARATOR))
    };
    let mut messages = vec![Message::System { content: instructions }];
    notes.end_section(Section::Instructions, messages.len(), 0);
    messages.extend(transcript.opening.as_deref().map(user));
    notes.end_section(Section::Opening, messages.len(), 0);
    for turn in &transcript.turns {
        push_turn(&mut messages, turn, options, &mut notes);
        notes.end_section(Section::Turn(turn.version), messages.len(), 0);
    }
    messages.extend(transcript.closing.as_deref().map(user));
    notes.end_section(Section::Closing, messages.len(), 0);
    notes.sort_losses();
    let body =
        Body { truncate: false, options: options.context_tokens_max.map(|num_ctx| ModelOptions { num_ctx }), messages };
    notes.rendered(&body, &LAYOUT)
}

fn user(text: &str) -> Message<'_> {
    Message::User { content: Cow::Borrowed(text), images: Vec::new() }
}

/// Adds the messages of a turn. A turn without renderable content has none.
fn push_turn<'a>(messages: &mut Vec<Message<'a>>, turn: &'a Turn, options: &RenderOptions, notes: &mut Notes) {
    let before = messages.len();
    match turn.role {
        Role::System | Role::Developer => {
            let content = joined(content::texts(turn, notes));
            messages.extend(content.map(|content| Message::System { content }));
        }
        Role::User => {
            let (texts, images) = content::user(turn, notes);
            let content = joined(texts);
            if content.is_some() || !images.is_empty() {
                let content = content.unwrap_or_default();
                messages.push(Message::User { content, images });
            }
        }
        Role::Assistant => push_unit(messages, turn, options, notes),
    }
    if messages.len() > before {
        notes.omit_author(turn);
    }
}

/// Adds an assistant turn with all its calls, directly followed by their results (L3, as O3).
fn push_unit<'a>(messages: &mut Vec<Message<'a>>, turn: &'a Turn, options: &RenderOptions, notes: &mut Notes) {
    let (texts, thinking) = content::assistant(turn, options.thoughts, notes);
    let (content, thinking) = (joined(texts), joined(thinking));
    if content.is_none() && thinking.is_none() && turn.calls.is_empty() {
        return;
    }
    let (mut tool_calls, mut results) = (Vec::new(), Vec::new());
    for call in &turn.calls {
        let id = notes.names.call_id(&call.called, call.version);
        let name = notes.names.tool_name(&call.called.tool_name);
        results.push(Message::Tool {
            tool_name: name.clone(),
            tool_call_id: id.clone(),
            content: joined(texts::answer_texts(call, notes)).unwrap_or_default(),
        });
        tool_calls.push(tool_call(call, id, name, notes));
    }
    messages.push(Message::Assistant { thinking, content: content.unwrap_or_default(), tool_calls });
    messages.append(&mut results);
}

fn tool_call<'a>(call: &'a AnsweredCall, id: String, name: String, notes: &mut Notes) -> ToolCall<'a> {
    notes.omit_signature(call);
    let input: &RawValue = serde_json::from_str(call.called.input.as_str()).unwrap_or(RawValue::NULL);
    let arguments = if input.get().starts_with('{') {
        Arguments::Object(input)
    } else {
        notes.change_form(call.version, LostContent::InputForm);
        Arguments::Wrapped { input }
    };
    ToolCall { id, function: Function { name, arguments } }
}
