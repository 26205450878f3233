//! Builders of transcripts for tests, and renderings as lines.

use context::{Answer, AnswerOrigin, AnsweredCall, Transcript, Turn};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, Fact, JsonText, Label, Part, ToolName, Version};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::openai_responses::render;
use crate::options::RenderOptions;
use crate::rendered::Rendered;

/// A transcript and its options.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) instructions: Vec<String>,
    pub(crate) opening: Option<String>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) closing: Option<String>,
    pub(crate) options: RenderOptions,
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt_cache_key: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Vec<&'a RawValue>,
}

impl Case {
    pub(crate) fn of(turns: Vec<Turn>) -> Self {
        Self { turns, ..Self::default() }
    }

    /// Checks the lines of the rendering: fields, items, losses. Turns have versions from 1.
    pub(crate) fn check(self, expected: &[&str]) {
        assert_eq!(lines(&self.rendered()), expected);
    }

    pub(crate) fn rendered(self) -> Rendered {
        let mut turns = self.turns;
        for (version, turn) in (1..).zip(&mut turns) {
            turn.version = Version(version);
        }
        let transcript =
            Transcript { instructions: self.instructions, opening: self.opening, turns, closing: self.closing };
        render(&transcript, &self.options)
    }
}

fn lines(rendered: &Rendered) -> Vec<String> {
    let written: Written<'_> = serde_json::from_slice(&rendered.body).unwrap();
    let instructions = written.instructions.map(|it| format!("instructions {it}"));
    let key = written.prompt_cache_key.map(|it| format!("prompt_cache_key {it}"));
    let items = written.input.into_iter().map(|item| item.get().to_owned());
    let losses = rendered.losses.iter().map(|loss| {
        let (lost, replacement) = (loss.lost.as_str(), loss.replacement.as_str());
        format!("lost {} {lost} {replacement}", loss.version)
    });
    let fields = instructions.into_iter().chain(key);
    fields.chain(items).chain(losses).collect()
}

/// A turn without calls.
pub(crate) fn message_turn(role: Role, parts: Vec<Part>) -> Turn {
    called(role, parts, Vec::new())
}

/// A turn with calls.
pub(crate) fn called(role: Role, parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
    Turn {
        version: Version(1),
        role,
        parts,
        author: None,
        provider: None,
        written: context::Written::BehindThis,
        calls,
    }
}

/// A call of `search`, of version 9.
pub(crate) fn call(id: &str, input: &str, output: ToolOutput) -> AnsweredCall {
    AnsweredCall {
        version: Version(9),
        called: ToolCalled {
            call_id: CallId::parse(id).unwrap(),
            tool_name: ToolName::parse("search").unwrap(),
            input: JsonText::parse(input).unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        },
        answer: Answer { output, outcome: ToolOutcome::Succeeded, origin: AnswerOrigin::Pending },
    }
}

pub(crate) fn json(text: &str) -> ToolOutput {
    ToolOutput::Json(JsonText::parse(text).unwrap())
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(crate) fn label(text: &str) -> Label {
    Label::parse(text).unwrap()
}

/// A provider item.
pub(crate) fn item(json: &str) -> Part {
    Part::ProviderItem { provider: label("openai"), item: JsonText::parse(json).unwrap() }
}

/// The turns of these facts.
pub(crate) fn turns(facts: Vec<Fact>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut open = false;
    for fact in facts {
        if let Fact::MessageAppended(message) = fact {
            open = message.role == Role::Assistant;
            turns.push(message_turn(message.role, message.parts));
        } else if let Fact::ToolCalled(tool) = fact {
            if !open {
                turns.push(message_turn(Role::Assistant, Vec::new()));
                open = true;
            }
            let mut made = call(tool.call_id.as_str(), "null", json("null"));
            made.called = tool;
            turns.last_mut().unwrap().calls.push(made);
        } else if let Fact::ToolReturned(returned) = fact {
            open = false;
            let mut calls = turns.iter_mut().rev().flat_map(|turn| &mut turn.calls);
            let call = calls.find(|call| call.called.call_id == returned.call_id);
            call.unwrap().answer.output = returned.output;
        }
    }
    turns
}
