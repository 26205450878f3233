//! A context as a request to Anthropic.

use context::{Transcript, Turn};
use domain::event::Role;

use crate::loss::{Became, Lost};
use crate::options::RenderOptions;
use crate::rendered::Rendered;

use super::blocks::{Block, Body, Message, Speaker};
use super::breakpoints::mark_last;
use super::content;
use super::list;
use super::place::Place;
use super::turn::{self, Told};

/// Writes `{"system": […], "messages": […]}`; `system` is left out when there is none.
///
/// A turn at the end only adds to the list of messages, but for [`list::CONTINUE`], which stands at its end while the
/// assistant has the last word, and for the breakpoints of the cache, which move.
#[must_use]
pub fn render(transcript: &Transcript, options: &RenderOptions) -> Rendered {
    let mut told = Told::default();
    let leading = transcript
        .turns
        .iter()
        .take_while(|turn| instructs(turn))
        .count();
    let mut system = system(transcript, leading, &mut told);
    let mut messages = Vec::new();
    if let Some(opening) = &transcript.opening {
        list::push(&mut messages, Speaker::User, vec![Block::text(opening)]);
        mark(&mut messages, options);
    }
    for turn in transcript.turns.iter().skip(leading) {
        push_turn(&mut messages, turn, options, &mut told);
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
        names: told.names,
        losses: told.losses,
    }
}

/// The instructions, and those that the conversation begins with, one block a text (A1).
fn system<'a>(transcript: &'a Transcript, leading: usize, told: &mut Told) -> Vec<Block<'a>> {
    let instructions = transcript.instructions.iter();
    let mut system: Vec<Block<'a>> = instructions.map(Block::text).collect();
    for turn in transcript.turns.iter().take(leading) {
        lose_author(turn, told);
        let losses = &mut told.losses;
        system.extend(content::blocks(
            &turn.parts,
            Place::System,
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
    told: &mut Told,
) {
    lose_author(turn, told);
    let place = match turn.role {
        Role::User => Place::User,
        Role::System | Role::Developer => Place::Instructions,
        Role::Assistant => {
            let (said, results) = turn::assistant(turn, options, told);
            list::push(messages, Speaker::Assistant, said);
            list::push(messages, Speaker::User, results);
            return;
        }
    };
    let said = content::blocks(&turn.parts, place, turn.version, &mut told.losses);
    if place == Place::Instructions && !said.is_empty() {
        told.lose(turn.version, Lost::InstructionsPlace, Became::OtherForm);
    }
    list::push(messages, Speaker::User, said);
}

fn lose_author(turn: &Turn, told: &mut Told) {
    if turn.author.is_some() {
        told.lose(turn.version, Lost::Author, Became::Nothing);
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
