//! What a history means, whatever its form: who says what in which order, which tools are called, and what they answer.
//!
//! White space is set aside, and texts of one speaker that follow each other are one: formats join and split both.

use std::collections::VecDeque;

use context::Transcript;
use domain::event::{Role, ToolCalled, ToolOutput};
use domain::{Fact, Part};
use formats::{CallOutputs, RenderOptions};

/// One thing that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Someone says something.
    Said(Speaker, String),
    /// A tool is called: id, name, input.
    Called(String, String, String),
    /// A tool answers: the call's id, the texts of the answer.
    Answered(String, Vec<String>),
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Whoever instructs it.
    System,
}

/// The deeds of a transcript, each text apart.
pub(crate) fn of_transcript(transcript: &Transcript) -> Vec<Deed> {
    let mut deeds: Vec<Deed> = Vec::new();
    let said = |speaker, text: &String| Deed::Said(speaker, bare(text));
    deeds.extend(
        transcript
            .instructions
            .iter()
            .map(|text| said(Speaker::System, text)),
    );
    deeds.extend(
        transcript
            .opening
            .iter()
            .map(|text| said(Speaker::User, text)),
    );
    for turn in &transcript.turns {
        deeds.extend(texts_of(&turn.parts).map(|text| Deed::Said(speaker(turn.role), text)));
        deeds.extend(turn.calls.iter().map(|call| called(&call.called)));
        deeds.extend(
            turn.calls
                .iter()
                .map(|call| answered(call.called.call_id.as_str(), &call.answer.output)),
        );
    }
    deeds.extend(
        transcript
            .closing
            .iter()
            .map(|text| said(Speaker::User, text)),
    );
    deeds.retain(|deed| !matches!(deed, Deed::Said(_, text) if text.is_empty()));
    deeds
}

/// The deeds that facts tell of.
pub(crate) fn of_facts(facts: &[Fact]) -> Vec<Deed> {
    let deeds = facts.iter().flat_map(|fact| match fact {
        Fact::MessageAppended(message) => {
            let speaker = speaker(message.role);
            texts_of(&message.parts)
                .map(|text| Deed::Said(speaker, text))
                .collect()
        }
        Fact::ToolCalled(call) => vec![called(call)],
        Fact::ToolReturned(returned) => vec![answered(returned.call_id.as_str(), &returned.output)],
        other => panic!("a history has no {:?}", other.kind()),
    });
    joined(deeds.collect())
}

/// The deeds, each answer right after its call: calls made at once read like calls one after another where the options ask
/// for adjacent outputs.
pub(crate) fn in_order(deeds: Vec<Deed>, options: &RenderOptions) -> Vec<Deed> {
    if options.call_outputs == CallOutputs::Together {
        return deeds;
    }
    let mut ordered: Vec<Deed> = Vec::with_capacity(deeds.len());
    let mut rest = VecDeque::from(deeds);
    while let Some(deed) = rest.pop_front() {
        let answers = |other: &Deed| match (&deed, other) {
            (Deed::Called(call, ..), Deed::Answered(id, _)) => call == id,
            _ => false,
        };
        let answer = rest.iter().position(answers);
        let answer = answer.and_then(|at| rest.remove(at));
        ordered.push(deed);
        ordered.extend(answer);
    }
    ordered
}

/// Texts of one speaker that follow each other, as one; blank ones not at all.
fn joined(deeds: Vec<Deed>) -> Vec<Deed> {
    let mut joined: Vec<Deed> = Vec::new();
    for deed in deeds {
        match (joined.last_mut(), deed) {
            (_, Deed::Said(_, text)) if text.is_empty() => {}
            (Some(Deed::Said(before, said)), Deed::Said(speaker, text)) if *before == speaker => {
                said.push_str(&text);
            }
            (_, deed) => joined.push(deed),
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

fn texts_of(parts: &[Part]) -> impl Iterator<Item = String> {
    parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(bare(text)),
        _ => None,
    })
}

fn called(call: &ToolCalled) -> Deed {
    let input = call.input.as_str().trim().to_owned();
    Deed::Called(
        call.call_id.as_str().to_owned(),
        call.tool_name.as_str().to_owned(),
        input,
    )
}

fn answered(call_id: &str, output: &ToolOutput) -> Deed {
    let texts = match output {
        ToolOutput::Json(json) => vec![spoken(json.as_str())],
        ToolOutput::Parts(parts) => texts_of(parts).map(|text| spoken(&text)).collect(),
    };
    Deed::Answered(
        call_id.to_owned(),
        texts.into_iter().filter(|text| !text.is_empty()).collect(),
    )
}

/// A JSON string's text, or what is there.
fn spoken(text: &str) -> String {
    match serde_json::from_str::<String>(text) {
        Ok(inner) => spoken(&inner),
        Err(_) => bare(text),
    }
}

/// A text without its white space.
pub(crate) fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// What of the expected deeds the found ones do not carry, in order. What is added between them is let pass, but for calls
/// and answers; a call's input is compared where `input_kept`.
pub(crate) fn missing(
    expected: &[Deed],
    found: &[Deed],
    input_kept: impl Fn(&str) -> bool,
) -> Option<String> {
    let acts = |deeds: &[Deed]| {
        deeds
            .iter()
            .filter(|deed| !matches!(deed, Deed::Said(..)))
            .count()
    };
    if acts(expected) != acts(found) {
        return Some(format!(
            "{} calls and answers became {}",
            acts(expected),
            acts(found)
        ));
    }
    let mut instructions = Cursor::new(found, &[Speaker::System]);
    let mut conversation = Cursor::new(found, &[Speaker::User, Speaker::Assistant]);
    for deed in expected {
        let carried = match deed {
            Deed::Said(Speaker::System, text) => {
                instructions.reaches(Speaker::System, text)
                    || conversation.reaches(Speaker::User, text)
            }
            Deed::Said(speaker, text) => conversation.reaches(*speaker, text),
            Deed::Called(id, name, input) => conversation.next_act(|act| match act {
                Deed::Called(its_id, its_name, its_input) => {
                    id == its_id && name == its_name && (input == its_input || !input_kept(input))
                }
                _ => false,
            }),
            Deed::Answered(id, texts) => conversation.next_act(|act| match act {
                Deed::Answered(its_id, its_texts) => {
                    let all = its_texts.concat();
                    id == its_id && texts.iter().all(|text| all.contains(text))
                }
                _ => false,
            }),
        };
        if !carried {
            return Some(format!("not carried, or not in its place: {deed:?}"));
        }
    }
    None
}

/// A way through deeds.
struct Cursor<'a> {
    rest: Vec<&'a Deed>,
    at: usize,
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn new(deeds: &'a [Deed], speakers: &[Speaker]) -> Self {
        let wanted = |deed: &&Deed| match deed {
            Deed::Said(speaker, _) => speakers.contains(speaker),
            _ => !speakers.contains(&Speaker::System),
        };
        let rest = deeds.iter().filter(wanted).collect();
        Self {
            rest,
            at: 0,
            offset: 0,
        }
    }

    /// Goes on to a text of the speaker's; stays where it is when there is none before the next call or answer.
    fn reaches(&mut self, speaker: Speaker, text: &str) -> bool {
        let (mut at, mut offset) = (self.at, self.offset);
        while let Some(Deed::Said(who, said)) = self.rest.get(at).copied() {
            let found = said.get(offset..).and_then(|rest| rest.find(text));
            if let Some(found) = found.filter(|_| *who == speaker) {
                (self.at, self.offset) = (at, offset + found + text.len());
                return true;
            }
            (at, offset) = (at + 1, 0);
        }
        false
    }

    /// Goes on past the next call or answer, if it is the one.
    fn next_act(&mut self, is_it: impl Fn(&Deed) -> bool) -> bool {
        while let Some(deed) = self.rest.get(self.at) {
            (self.at, self.offset) = (self.at + 1, 0);
            if !matches!(deed, Deed::Said(..)) {
                return is_it(deed);
            }
        }
        false
    }
}
