//! Renders a context as a request to Anthropic.

use context::{Transcript, Turn};
use domain::event::Role;

use crate::loss::LostContent;
use crate::options::RenderOptions;
use crate::outline::{Layout, Section};
use crate::rendered::{Notes, Rendered};

use super::blocks::{Block, Body, CacheControl, Message, Speaker};
use super::target::Target;
use super::{content, list, turn};

const LAYOUT: Layout =
    Layout { list: "messages", parts: Some("content"), fields: &[("system", Section::Instructions)] };

/// Renders `{"system": […], "messages": […]}`, without `system` if there are no instructions.
///
/// A new turn only appends to the list of messages, with two exceptions: [`list::CONTINUE`], which ends the list while the
/// assistant has the last message, and cache breakpoints, which move.
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let leading = transcript.turns.iter().take_while(|turn| instructs(turn)).count();
    let mut system = system(transcript, leading, &mut notes);
    let mut messages = Vec::new();
    if let Some(opening) = &transcript.opening {
        list::push(&mut messages, Speaker::User, vec![Block::text(opening)]);
        mark(&mut messages, options);
    }
    end_section(Section::Opening, &messages, &mut notes);
    for turn in transcript.turns.iter().skip(leading) {
        push_turn(&mut messages, turn, options, &mut notes);
        end_section(Section::Turn(turn.version), &messages, &mut notes);
    }
    if options.cache_key.is_some() {
        mark_last(&mut system);
    }
    mark(&mut messages, options);
    if let Some(closing) = &transcript.closing {
        list::push(&mut messages, Speaker::User, vec![Block::text(closing)]);
    }
    end_section(Section::Closing, &messages, &mut notes);
    list::close(&mut messages);
    notes.rendered(&Body { system, messages }, &LAYOUT)
}

fn end_section(section: Section, messages: &[Message<'_>], notes: &mut Notes) {
    let parts = messages.last().map_or(0, |last| last.content.len());
    notes.end_section(section, messages.len(), parts);
}

/// The instructions, and instructions at the start of the conversation, one block per text (A1).
fn system<'a>(transcript: &'a Transcript, leading: usize, notes: &mut Notes) -> Vec<Block<'a>> {
    let instructions = transcript.instructions.iter();
    let mut system: Vec<Block<'a>> = instructions.map(Block::text).collect();
    for turn in transcript.turns.iter().take(leading) {
        notes.omit_author(turn);
        let blocks = content::blocks(&turn.parts, Target::System, turn.version, notes);
        system.extend(blocks);
    }
    system
}

fn push_turn<'a>(messages: &mut Vec<Message<'a>>, turn: &'a Turn, options: &RenderOptions, notes: &mut Notes) {
    notes.omit_author(turn);
    let target = match turn.role {
        Role::User => Target::User,
        Role::System | Role::Developer => Target::Instructions,
        Role::Assistant => {
            let (blocks, results) = turn::assistant(turn, options, notes);
            list::push(messages, Speaker::Assistant, blocks);
            list::push(messages, Speaker::User, results);
            return;
        }
    };
    let blocks = content::blocks(&turn.parts, target, turn.version, notes);
    if target == Target::Instructions && !blocks.is_empty() {
        notes.change_form(turn.version, LostContent::InstructionsPlace);
    }
    list::push(messages, Speaker::User, blocks);
}

/// Sets a cache breakpoint. A request uses three of the four that it may have: at the last block of `system`, at the opening,
/// and at the last block before the closing.
fn mark(messages: &mut [Message<'_>], options: &RenderOptions) {
    if options.cache_key.is_some()
        && let Some(last) = messages.last_mut()
    {
        mark_last(&mut last.content);
    }
}

fn instructs(turn: &Turn) -> bool {
    matches!(turn.role, Role::System | Role::Developer)
}

/// Sets a breakpoint at the last block that can have one. Thoughts and verbatim blocks cannot.
fn mark_last(blocks: &mut [Block<'_>]) {
    let markable = blocks.iter_mut().rev().find_map(|block| match block {
        Block::Content(content) => Some(content),
        Block::Thought(_) | Block::Verbatim(_) => None,
    });
    if let Some(content) = markable {
        content.cache_control = Some(CacheControl::Ephemeral);
    }
}
