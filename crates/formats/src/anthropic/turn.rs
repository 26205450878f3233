//! Renders an assistant turn with its calls, and their results.

use std::borrow::Cow;

use context::{AnsweredCall, Turn, Written};
use domain::event::{ToolOutcome, ToolOutput};
use domain::{JsonText, Version};
use serde_json::value::{RawValue, to_raw_value};

use crate::loss::LostContent;
use crate::options::{RenderOptions, Thoughts};
use crate::rendered::Notes;

use super::PROVIDER;
use super::blocks::{Block, Input, Kind, Output, Thought};
use super::content;
use super::target::Target;

/// The result of a failed call without output, because the provider requires a text (A9).
pub const FAILED: &str = "(The tool failed without saying why.)";

/// The blocks of the assistant, calls last (A3), and the results, in the order of the calls (A2).
pub(super) fn assistant<'a>(
    turn: &'a Turn,
    options: &RenderOptions,
    notes: &mut Notes,
) -> (Vec<Block<'a>>, Vec<Block<'a>>) {
    let target = if has_own_thoughts(turn, options) { Target::ThinkingAssistant } else { Target::Assistant };
    let of_parts = content::blocks(&turn.parts, target, turn.version, notes);
    let mut blocks = thoughts_first(of_parts, turn.version, notes);
    if turn.calls.is_empty() {
        drop_last_thoughts(&mut blocks, turn.version, notes);
    }
    let mut results = Vec::with_capacity(turn.calls.len());
    for call in &turn.calls {
        let id = notes.names.call_id(&call.called, call.version);
        blocks.push(tool_use(call, id.clone(), notes));
        results.push(tool_result(call, id, notes));
    }
    (blocks, results)
}

/// Whether the thoughts of the turn are rendered: they are Anthropic's, and written after the same history (A7).
fn has_own_thoughts(turn: &Turn, options: &RenderOptions) -> bool {
    let provider = turn.provider.as_ref();
    options.thoughts == Thoughts::Replay
        && turn.written == Written::BehindThis
        && provider.is_some_and(|provider| provider.as_str() == PROVIDER)
}

/// Moves thoughts to the front of a turn that does not start with one (A5). Other turns keep their order.
fn thoughts_first<'a>(blocks: Vec<Block<'a>>, version: Version, notes: &mut Notes) -> Vec<Block<'a>> {
    let begins_with_thought = blocks.first().is_none_or(Block::is_thought);
    if begins_with_thought || !blocks.iter().any(Block::is_thought) {
        return blocks;
    }
    notes.change_form(version, LostContent::PartOrder);
    let (mut ordered, rest): (Vec<_>, Vec<_>) = blocks.into_iter().partition(Block::is_thought);
    ordered.extend(rest);
    ordered
}

/// Drops thoughts at the end: the provider rejects a message that ends with a thought.
fn drop_last_thoughts(blocks: &mut Vec<Block<'_>>, version: Version, notes: &mut Notes) {
    while let Some(Block::Thought(thought)) = blocks.pop_if(|block| block.is_thought()) {
        let lost = match thought {
            Thought::Thinking { .. } => LostContent::Thinking,
            Thought::RedactedThinking { .. } => LostContent::RedactedThinking,
        };
        notes.omit(version, lost);
    }
}

fn tool_use<'a>(call: &'a AnsweredCall, id: String, notes: &mut Notes) -> Block<'a> {
    notes.omit_signature(call);
    let json = raw(&call.called.input);
    let input = if json.get().starts_with('{') {
        Input::Object(json)
    } else {
        notes.change_form(call.version, LostContent::InputForm);
        Input::Wrapped { input: json }
    };
    let name = notes.names.tool_name(&call.called.tool_name);
    Block::from(Kind::ToolUse { id, name, input })
}

/// The result of a failed call contains only texts, at least one (A9).
fn tool_result<'a>(call: &'a AnsweredCall, tool_use_id: String, notes: &mut Notes) -> Block<'a> {
    let is_error = call.answer.outcome == ToolOutcome::Failed;
    let (target, nothing) =
        if is_error { (Target::FailedToolResult, Some(Output::Text(FAILED))) } else { (Target::ToolResult, None) };
    let content = match &call.answer.output {
        ToolOutput::Json(document) => Some(Output::Text(document.as_str())),
        ToolOutput::Parts(parts) => {
            let blocks = content::blocks(parts, target, call.version, notes);
            if blocks.is_empty() { nothing } else { Some(Output::Blocks(blocks)) }
        }
    };
    Block::from(Kind::ToolResult { tool_use_id, content, is_error })
}

/// The document without surrounding white space. A text that is not JSON becomes a JSON string.
fn raw(document: &JsonText) -> Cow<'_, RawValue> {
    let text = document.as_str();
    match serde_json::from_str(text) {
        Ok(raw) => Cow::Borrowed(raw),
        Err(_) => to_raw_value(text).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned),
    }
}
