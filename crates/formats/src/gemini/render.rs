//! Renders a context as contents.

use context::{Transcript, Turn};
use domain::event::Role;

use super::body::{Body, Content, Instruction, OutPart, Side};
use super::calls::{written_answers, written_calls};
use super::parts::{framed, instruction_parts, turn_parts};
use super::{CONTINUE, OPENER};
use crate::loss::LostContent;
use crate::outline::{Layout, Section};
use crate::rendered::Notes;
use crate::{RenderOptions, Rendered, Thoughts};

const LAYOUT: Layout =
    Layout { list: "contents", parts: Some("parts"), fields: &[("systemInstruction", Section::Instructions)] };

/// Renders the context as `systemInstruction`, which is omitted without instructions, and `contents`.
///
/// Calls keep their signatures also with [`crate::Thoughts::Omit`], because the provider requires them (G5).
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let (leading, turns) = split_leading(&transcript.turns);
    let given = transcript.instructions.iter().map(String::as_str);
    let mut instructions: Vec<_> = given.filter_map(OutPart::text).collect();
    for turn in leading {
        instructions.extend(instruction_parts(turn, &mut notes));
    }

    let mut contents = Contents::default();
    contents.push_text(transcript.opening.as_deref());
    contents.end_section(Section::Opening, &mut notes);
    for turn in turns {
        write_turn(turn, options.thoughts, &mut contents, &mut notes);
        contents.end_section(Section::Turn(turn.version), &mut notes);
    }
    contents.push_text(transcript.closing.as_deref());
    contents.end_section(Section::Closing, &mut notes);
    let body = Body {
        system_instruction: (!instructions.is_empty()).then_some(Instruction { parts: instructions }),
        contents: contents.ended(),
    };
    notes.sort_losses();
    notes.rendered(&body, &LAYOUT)
}

/// Splits off the leading turns with instructions, which join the instructions (G1).
fn split_leading(turns: &[Turn]) -> (&[Turn], &[Turn]) {
    let leading = turns.iter().take_while(|turn| instructs(turn)).count();
    turns.split_at_checked(leading).unwrap_or((&[], turns))
}

fn instructs(turn: &Turn) -> bool {
    matches!(turn.role, Role::System | Role::Developer)
}

fn write_turn<'a>(turn: &'a Turn, thoughts: Thoughts, contents: &mut Contents<'a>, notes: &mut Notes) {
    let mut parts = turn_parts(turn, thoughts, notes);
    if instructs(turn) && !parts.is_empty() {
        notes.change_form(turn.version, LostContent::InstructionsPlace);
        parts = parts.into_iter().map(framed).collect();
    }
    contents.push(side(turn.role), parts);
    let calls = written_calls(turn, notes);
    let answers = written_answers(turn, &calls, notes);
    contents.push(Side::Model, calls);
    contents.push(Side::User, answers);
}

fn side(role: Role) -> Side {
    match role {
        Role::Assistant => Side::Model,
        Role::User | Role::System | Role::Developer => Side::User,
    }
}

/// The list of contents: adjacent contents of one role are merged (G7), and each has a part (G2).
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
            self.push_text(Some(OPENER));
        }
        match self.list.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.list.push(Content { role, parts }),
        }
    }

    fn end_section(&self, section: Section, notes: &mut Notes) {
        let parts = self.list.last().map_or(0, |last| last.parts.len());
        notes.end_section(section, self.list.len(), parts);
    }

    /// Adds a user text.
    fn push_text(&mut self, text: Option<&'a str>) {
        let part = text.and_then(OutPart::text);
        self.push(Side::User, part.into_iter().collect());
    }

    /// The list, which ends with the user (G6) and is not empty (G1).
    fn ended(mut self) -> Vec<Content<'a>> {
        let last = self.list.last().map(|content| content.role);
        if last != Some(Side::User) {
            self.push_text(Some(CONTINUE));
        }
        self.list
    }
}

#[cfg(test)]
mod tests;
