//! The meaning of a history in any format: texts by role in order, calls, and their results.
//!
//! White space is ignored, and adjacent texts of one role are joined, because formats join and split both.

use std::collections::VecDeque;

use context::Transcript;
use domain::event::{Role, ToolCalled, ToolOutput};
use domain::{Fact, Part};
use formats::{CallOutputs, RenderOptions};

/// One action in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// A text.
    Text(Speaker, String),
    /// A call: id, tool name, input.
    Called(String, String, String),
    /// A result: call id, texts.
    Answered(String, Vec<String>),
}

/// The role of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// System and developer.
    System,
}

/// The actions of a transcript, with separate texts.
pub(crate) fn transcript_actions(transcript: &Transcript) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    let text_action = |speaker, text: &String| Action::Text(speaker, bare(text));
    actions.extend(transcript.instructions.iter().map(|text| text_action(Speaker::System, text)));
    actions.extend(transcript.opening.iter().map(|text| text_action(Speaker::User, text)));
    for turn in &transcript.turns {
        actions.extend(part_texts(&turn.parts).map(|text| Action::Text(speaker(turn.role), text)));
        actions.extend(turn.calls.iter().map(|call| called(&call.called)));
        actions.extend(turn.calls.iter().map(|call| answered(call.called.call_id.as_str(), &call.answer.output)));
    }
    actions.extend(transcript.closing.iter().map(|text| text_action(Speaker::User, text)));
    actions.retain(|action| !matches!(action, Action::Text(_, text) if text.is_empty()));
    actions
}

/// The actions of facts.
pub(crate) fn fact_actions(facts: &[Fact]) -> Vec<Action> {
    let actions = facts.iter().flat_map(|fact| match fact {
        Fact::MessageAppended(message) => {
            let speaker = speaker(message.role);
            part_texts(&message.parts).map(|text| Action::Text(speaker, text)).collect()
        }
        Fact::ToolCalled(call) => vec![called(call)],
        Fact::ToolReturned(returned) => vec![answered(returned.call_id.as_str(), &returned.output)],
        other => panic!("a history has no {:?}", other.kind()),
    });
    joined(actions.collect())
}

/// The actions, with each result directly after its call: with adjacent outputs, parallel calls look like sequential
/// ones.
pub(crate) fn in_order(actions: Vec<Action>, options: &RenderOptions) -> Vec<Action> {
    if options.call_outputs == CallOutputs::Together {
        return actions;
    }
    let mut ordered: Vec<Action> = Vec::with_capacity(actions.len());
    let mut rest = VecDeque::from(actions);
    while let Some(action) = rest.pop_front() {
        let answers = |other: &Action| match (&action, other) {
            (Action::Called(call, ..), Action::Answered(id, _)) => call == id,
            _ => false,
        };
        let answer = rest.iter().position(answers).and_then(|at| rest.remove(at));
        ordered.push(action);
        ordered.extend(answer);
    }
    ordered
}

/// Joins adjacent texts of one role, and omits blank ones.
fn joined(actions: Vec<Action>) -> Vec<Action> {
    let mut joined: Vec<Action> = Vec::new();
    for action in actions {
        match (joined.last_mut(), action) {
            (_, Action::Text(_, text)) if text.is_empty() => {}
            (Some(Action::Text(before, text_action)), Action::Text(speaker, text)) if *before == speaker => {
                text_action.push_str(&text);
            }
            (_, action) => joined.push(action),
        }
    }
    joined
}

fn speaker(role: Role) -> Speaker {
    match role {
        Role::User => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::System | Role::Developer => Speaker::System,
    }
}

fn part_texts(parts: &[Part]) -> impl Iterator<Item = String> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(bare(text)),
        _ => None,
    })
}

fn called(call: &ToolCalled) -> Action {
    let input = call.input.as_str().trim().to_owned();
    Action::Called(call.call_id.as_str().to_owned(), call.tool_name.as_str().to_owned(), input)
}

fn answered(call_id: &str, output: &ToolOutput) -> Action {
    let texts = match output {
        ToolOutput::Json(json) => vec![unquoted(json.as_str())],
        ToolOutput::Parts(parts) => part_texts(parts).map(|text| unquoted(&text)).collect(),
    };
    Action::Answered(call_id.to_owned(), texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// The content of a JSON string, or the text itself.
fn unquoted(text: &str) -> String {
    match serde_json::from_str::<String>(text) {
        Ok(inner) => unquoted(&inner),
        Err(_) => bare(text),
    }
}

/// A text without its white space.
pub(crate) fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The expected actions that are missing in the found ones, in order. Additional texts are allowed, additional calls and
/// results are not. The input of a call is compared if `input_kept`.
pub(crate) fn missing(expected: &[Action], found: &[Action], input_kept: impl Fn(&str) -> bool) -> Option<String> {
    let acts = |actions: &[Action]| actions.iter().filter(|action| !matches!(action, Action::Text(..))).count();
    if acts(expected) != acts(found) {
        return Some(format!("{} calls and answers became {}", acts(expected), acts(found)));
    }
    let mut instructions = Cursor::new(found, &[Speaker::System]);
    let mut conversation = Cursor::new(found, &[Speaker::User, Speaker::Assistant]);
    for action in expected {
        let carried = match action {
            Action::Text(Speaker::System, text) => {
                instructions.reaches(Speaker::System, text) || conversation.reaches(Speaker::User, text)
            }
            Action::Text(speaker, text) => conversation.reaches(*speaker, text),
            Action::Called(id, name, input) => conversation.next_act(|act| match act {
                Action::Called(its_id, its_name, its_input) => {
                    id == its_id && name == its_name && (input == its_input || !input_kept(input))
                }
                _ => false,
            }),
            Action::Answered(id, texts) => conversation.next_act(|act| match act {
                Action::Answered(its_id, its_texts) => {
                    let all = its_texts.concat();
                    id == its_id && texts.iter().all(|text| all.contains(text))
                }
                _ => false,
            }),
        };
        if !carried {
            return Some(format!("not carried, or not in its place: {action:?}"));
        }
    }
    None
}

/// A cursor over actions.
struct Cursor<'a> {
    rest: Vec<&'a Action>,
    at: usize,
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn new(actions: &'a [Action], speakers: &[Speaker]) -> Self {
        let wanted = |action: &&Action| match action {
            Action::Text(speaker, _) => speakers.contains(speaker),
            _ => !speakers.contains(&Speaker::System),
        };
        let rest = actions.iter().filter(wanted).collect();
        Self { rest, at: 0, offset: 0 }
    }

    /// Moves to a text of the role, if there is one before the next call or result.
    fn reaches(&mut self, speaker: Speaker, text: &str) -> bool {
        let (mut at, mut offset) = (self.at, self.offset);
        while let Some(Action::Text(who, text_action)) = self.rest.get(at).copied() {
            let found = text_action.get(offset..).and_then(|rest| rest.find(text));
            if let Some(found) = found.filter(|_| *who == speaker) {
                (self.at, self.offset) = (at, offset + found + text.len());
                return true;
            }
            (at, offset) = (at + 1, 0);
        }
        false
    }

    /// Moves past the next call or result, if it matches.
    fn next_act(&mut self, is_it: impl Fn(&Action) -> bool) -> bool {
        while let Some(action) = self.rest.get(self.at) {
            (self.at, self.offset) = (self.at + 1, 0);
            if !matches!(action, Action::Text(..)) {
                return is_it(action);
            }
        }
        false
    }
}
