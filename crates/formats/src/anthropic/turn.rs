//! An assistant's turn with its calls, and their results.

use std::borrow::Cow;

use context::{AnsweredCall, Turn, Written};
use domain::event::{ToolOutcome, ToolOutput};
use domain::{JsonText, Version};
use serde_json::value::{RawValue, to_raw_value};

use crate::loss::{Became, Loss, Lost};
use crate::names::Names;
use crate::options::{RenderOptions, Thoughts};

use super::PROVIDER;
use super::blocks::{Block, Input, Kind, Output, Thought};
use super::content;
use super::place::Place;

/// The result of a call that failed and gave nothing back: the provider asks for a text (A9).
pub const FAILED: &str = "(The tool failed without saying why.)";

/// What comes with the bytes.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) names: Names,
    pub(super) losses: Vec<Loss>,
}

impl Told {
    pub(super) fn lose(&mut self, version: Version, lost: Lost, became: Became) {
        self.losses.push(Loss {
            version,
            lost,
            became,
        });
    }
}

/// The assistant's blocks, calls last (A3), and the results, in the order of the calls (A2).
pub(super) fn assistant<'a>(
    turn: &'a Turn,
    options: &RenderOptions,
    told: &mut Told,
) -> (Vec<Block<'a>>, Vec<Block<'a>>) {
    let place = if thoughts_go_back(turn, options) {
        Place::ThinkingAssistant
    } else {
        Place::Assistant
    };
    let said = content::blocks(&turn.parts, place, turn.version, &mut told.losses);
    let mut said = thoughts_first(said, turn.version, told);
    if turn.calls.is_empty() {
        drop_last_thoughts(&mut said, turn.version, told);
    }
    let mut results = Vec::with_capacity(turn.calls.len());
    for call in &turn.calls {
        let id = told.names.call_id(&call.called, call.version);
        said.push(tool_use(call, id.clone(), told));
        results.push(tool_result(call, id, told));
    }
    (said, results)
}

/// Thoughts go back to whose they are, behind what they were written behind (A7).
fn thoughts_go_back(turn: &Turn, options: &RenderOptions) -> bool {
    let provider = turn.provider.as_ref();
    options.thoughts == Thoughts::Replay
        && turn.written == Written::BehindThis
        && provider.is_some_and(|provider| provider.as_str() == PROVIDER)
}

/// A turn with thoughts begins with one (A5). One that does keeps its order: its thoughts may stand between other blocks.
fn thoughts_first<'a>(said: Vec<Block<'a>>, version: Version, told: &mut Told) -> Vec<Block<'a>> {
    let begins_with_thought = said.first().is_none_or(Block::is_thought);
    if begins_with_thought || !said.iter().any(Block::is_thought) {
        return said;
    }
    told.lose(version, Lost::PartOrder, Became::OtherForm);
    let (mut ordered, rest): (Vec<_>, Vec<_>) = said.into_iter().partition(Block::is_thought);
    ordered.extend(rest);
    ordered
}

/// An assistant's message does not end with a thought: the provider refuses one that does.
fn drop_last_thoughts(said: &mut Vec<Block<'_>>, version: Version, told: &mut Told) {
    while let Some(Block::Thought(thought)) = said.pop_if(|block| block.is_thought()) {
        let lost = match thought {
            Thought::Thinking { .. } => Lost::Thinking,
            Thought::RedactedThinking { .. } => Lost::RedactedThinking,
        };
        told.lose(version, lost, Became::Nothing);
    }
}

fn tool_use<'a>(call: &'a AnsweredCall, id: String, told: &mut Told) -> Block<'a> {
    if call.called.signature.is_some() {
        told.lose(call.version, Lost::CallSignature, Became::Nothing);
    }
    let input = raw(&call.called.input);
    let input = if input.get().starts_with('{') {
        Input::Object(input)
    } else {
        told.lose(call.version, Lost::InputForm, Became::OtherForm);
        Input::Wrapped { input }
    };
    let name = told.names.tool_name(&call.called.tool_name);
    Block::from(Kind::ToolUse { id, name, input })
}

/// A result of a call that failed holds texts alone, and has one (A9).
fn tool_result<'a>(call: &'a AnsweredCall, tool_use_id: String, told: &mut Told) -> Block<'a> {
    let is_error = call.answer.outcome == ToolOutcome::Failed;
    let (place, nothing) = if is_error {
        (Place::FailedToolResult, Some(Output::Text(FAILED)))
    } else {
        (Place::ToolResult, None)
    };
    let content = match &call.answer.output {
        ToolOutput::Json(document) => Some(Output::Text(document.as_str())),
        ToolOutput::Parts(parts) => {
            let blocks = content::blocks(parts, place, call.version, &mut told.losses);
            if blocks.is_empty() {
                nothing
            } else {
                Some(Output::Blocks(blocks))
            }
        }
    };
    Block::from(Kind::ToolResult {
        tool_use_id,
        content,
        is_error,
    })
}

/// The document without the space around it; as a string, were it ever none.
fn raw(document: &JsonText) -> Cow<'_, RawValue> {
    let text = document.as_str();
    match serde_json::from_str(text) {
        Ok(raw) => Cow::Borrowed(raw),
        Err(_) => to_raw_value(text).map_or(Cow::Borrowed(RawValue::NULL), Cow::Owned),
    }
}
