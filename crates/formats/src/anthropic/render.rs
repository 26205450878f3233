//! Renders a context as a request to Anthropic.

use context::{Transcript, Turn};
use domain::event::Role;

use crate::loss::{LostContent, Replacement};
use crate::options::RenderOptions;
use crate::rendered::Rendered;

use super::blocks::{Block, Body, Message, Speaker};
use super::breakpoints::mark_last;
use super::content;
use super::list;
use super::target::Target;
use super::turn::{self, Notes};

/// Renders `{"system": […], "messages": […]}`, without `system` if there are no instructions.
///
/// A new turn only appends to the list of messages, with two exceptions: [`list::CONTINUE`], which ends the list while the
/// assistant has the last message, and cache breakpoints, which move.
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut notes = Notes::default();
    let leading = transcript
        .turns
        .iter()
        .take_while(|turn| instructs(turn))
        .count();
    let mut system = system(transcript, leading, &mut notes);
    let mut messages = Vec::new();
    if let Some(opening) = &transcript.opening {
        list::push(&mut messages, Speaker::User, vec![Block::text(opening)]);
        mark(&mut messages, options);
    }
    for turn in transcript.turns.iter().skip(leading) {
        push_turn(&mut messages, turn, options, &mut notes);
    }
    if options.cache_key.is_some() {
        mark_last(&mut system);
    }
    mark(&mut messages, options);
    if let Some(closing) = &transcript.closing {
        list::push(&mut messages, Speaker::User, vec![Block::text(closing)]);
    }
    list::close(&mut messages);
    let body = Body { system, messages };
    Rendered {
        // Texts and numbers written to memory cannot fail.
        body: serde_json::to_vec(&body).unwrap_or_default(),
        names: notes.names,
        losses: notes.losses,
    }
}

/// The instructions, and instructions at the start of the conversation, one block per text (A1).
fn system<'a>(transcript: &'a Transcript, leading: usize, notes: &mut Notes) -> Vec<Block<'a>> {
    let instructions = transcript.instructions.iter();
    let mut system: Vec<Block<'a>> = instructions.map(Block::text).collect();
    for turn in transcript.turns.iter().take(leading) {
        lose_author(turn, notes);
        let losses = &mut notes.losses;
        system.extend(content::blocks(
            &turn.parts,
            Target::System,
            turn.version,
            losses,
        ));
    }
    system
}

fn push_turn<'a>(
    messages: &mut Vec<Message<'a>>,
    turn: &'a Turn,
    options: &RenderOptions,
    notes: &mut Notes,
) {
    lose_author(turn, notes);
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
    let blocks = content::blocks(&turn.parts, target, turn.version, &mut notes.losses);
    if target == Target::Instructions && !blocks.is_empty() {
        notes.lose(
            turn.version,
            LostContent::InstructionsPlace,
            Replacement::OtherForm,
        );
    }
    list::push(messages, Speaker::User, blocks);
}

fn lose_author(turn: &Turn, notes: &mut Notes) {
    if turn.author.is_some() {
        notes.lose(turn.version, LostContent::Author, Replacement::Nothing);
    }
}

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
