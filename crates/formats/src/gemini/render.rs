//! Writes a context as contents.

use context::{Transcript, Turn};
use domain::event::Role;

use super::body::{Body, Content, Instruction, OutPart, Side};
use super::calls::{written_answers, written_calls};
use super::notes::Notes;
use super::parts::{framed, instruction_parts, turn_parts};
use super::{CONTINUE, OPENER};
use crate::loss::{Became, Lost};
use crate::{Names, RenderOptions, Rendered};

/// Writes the context as `systemInstruction`, left out when there are no instructions, and `contents`.
///
/// Calls keep their signatures also under [`crate::Thoughts::Omit`], since the provider asks for them (G5).
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes {
        names: Names::default(),
        losses: Vec::new(),
        thoughts: options.thoughts,
    };
    let (leading, turns) = split_leading(&transcript.turns);
    let given = transcript.instructions.iter().map(String::as_str);
    let mut instructions: Vec<_> = given.filter_map(OutPart::text).collect();
    for turn in leading {
        instructions.extend(instruction_parts(turn, &mut notes));
    }

    let mut contents = Contents::default();
    contents.say(transcript.opening.as_deref());
    for turn in turns {
        write_turn(turn, &mut contents, &mut notes);
    }
    contents.say(transcript.closing.as_deref());
    let body = Body {
        system_instruction: (!instructions.is_empty()).then_some(Instruction {
            parts: instructions,
        }),
        contents: contents.ended(),
    };
    notes.rendered(&body)
}

/// The turns of instructions before any other turn: they join the instructions (G1).
fn split_leading(turns: &[Turn]) -> (&[Turn], &[Turn]) {
    let leading = turns.iter().take_while(|turn| instructs(turn)).count();
    turns.split_at_checked(leading).unwrap_or((&[], turns))
}

fn instructs(turn: &Turn) -> bool {
    matches!(turn.role, Role::System | Role::Developer)
}

fn write_turn<'a>(turn: &'a Turn, contents: &mut Contents<'a>, notes: &mut Notes) {
    let mut parts = turn_parts(turn, notes);
    if instructs(turn) && !parts.is_empty() {
        notes.lose(turn.version, Lost::InstructionsPlace, Became::OtherForm);
        parts = parts.into_iter().map(framed).collect();
    }
    contents.push(side_of(turn.role), parts);
    let calls = written_calls(turn, notes);
    let answers = written_answers(turn, &calls, notes);
    contents.push(Side::Model, calls);
    contents.push(Side::User, answers);
}

fn side_of(role: Role) -> Side {
    match role {
        Role::Assistant => Side::Model,
        Role::User | Role::System | Role::Developer => Side::User,
    }
}

/// The list: neighbours of one role are one content (G7), and each has a part (G2).
#[derive(Debug, Default)]
struct Contents<'a> {
    list: Vec<Content<'a>>,
}

impl<'a> Contents<'a> {
    fn push(&mut self, role: Side, parts: Vec<OutPart<'a>>) {
        if parts.is_empty() {
            return;
        }
        if self.list.is_empty() && role == Side::Model {
            self.say(Some(OPENER));
        }
        match self.list.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.list.push(Content { role, parts }),
        }
    }

    /// A text that stands on the user's side.
    fn say(&mut self, text: Option<&'a str>) {
        let part = text.and_then(OutPart::text);
        self.push(Side::User, part.into_iter().collect());
    }

    /// The list, ended by the user (G6) and not empty (G1).
    fn ended(mut self) -> Vec<Content<'a>> {
        let last = self.list.last().map(|content| content.role);
        if last != Some(Side::User) {
            self.say(Some(CONTINUE));
        }
        self.list
    }
}

#[cfg(test)]
mod tests;
