//! The pieces of an assistant's turn, in the order of its items, as the parts of a message and the calls after it.

use domain::Part;

use crate::reply::ParseError;

use super::decode::own;
use super::own_item::{call_mark, message_mark};
use super::read::ReadCall;

/// One item of an assistant's turn.
#[derive(Debug)]
pub(super) enum Piece {
    /// A message.
    Message {
        phase: Option<String>,
        parts: Vec<Part>,
    },
    /// Reasoning, or any other item with no canonical form.
    Item(Part),
    /// A call.
    Call(ReadCall),
}

/// The parts and the calls of the turn.
///
/// A call's place is marked only where something other than calls comes after the first call, a message's phase only
/// where it is another than that of the message right before it.
pub(super) fn apart(pieces: Vec<Piece>) -> Result<(Vec<Part>, Vec<ReadCall>), ParseError> {
    let first_call = pieces.iter().position(is_call).unwrap_or(pieces.len());
    let marked = !pieces.iter().skip(first_call).all(is_call);
    let (mut parts, mut calls, mut current) = (Vec::new(), Vec::new(), None);
    for piece in pieces {
        match piece {
            Piece::Message { parts: said, .. } if said.is_empty() => {}
            Piece::Message { phase, parts: said } => {
                if phase != current {
                    parts.push(own(message_mark(phase.as_deref()), "phase")?);
                }
                parts.extend(said);
                current = phase;
            }
            Piece::Item(item) => {
                parts.push(item);
                current = None;
            }
            Piece::Call(call) => {
                if marked {
                    parts.push(own(call_mark(calls.len()), "call")?);
                }
                calls.push(call);
                current = None;
            }
        }
    }
    Ok((parts, calls))
}

/// Makes room for a message that comes next, where the turn has a message or a call already: takes the items after it,
/// which belong to the message, and leaves the turn to be ended. So two turns that follow each other stay two.
pub(super) fn split_before_message(pieces: &mut Vec<Piece>) -> Option<Vec<Piece>> {
    let last = pieces
        .iter()
        .rposition(|piece| !matches!(piece, Piece::Item(_)))?;
    Some(pieces.split_off(last.saturating_add(1)))
}

fn is_call(piece: &Piece) -> bool {
    matches!(piece, Piece::Call(_))
}
