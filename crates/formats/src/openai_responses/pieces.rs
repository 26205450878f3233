//! Splits the items of an assistant turn into the parts of a message and the calls after it.

use domain::Part;

use crate::reply::ParseError;

use super::decode::own;
use super::own_item::{call_mark, message_mark};
use super::read::ParsedCall;

/// One item of an assistant turn.
#[derive(Debug)]
pub(super) enum Piece {
    /// A message.
    Message { phase: Option<String>, parts: Vec<Part> },
    /// Reasoning, or another item without a canonical form.
    Item(Part),
    /// A call.
    Call(ParsedCall),
}

/// The parts and the calls of the turn.
///
/// The position of a call is marked only if another item follows the first call. The phase of a message is marked only if it
/// differs from that of the message directly before it.
pub(super) fn split_turn(pieces: Vec<Piece>) -> Result<(Vec<Part>, Vec<ParsedCall>), ParseError> {
    let first_call = pieces.iter().position(is_call).unwrap_or(pieces.len());
    let marked = !pieces.iter().skip(first_call).all(is_call);
    let (mut parts, mut calls, mut current) = (Vec::new(), Vec::new(), None);
    for piece in pieces {
        match piece {
            Piece::Message { parts: content, .. } if content.is_empty() => {}
            Piece::Message { phase, parts: content } => {
                if phase != current {
                    parts.push(own(message_mark(phase.as_deref()), "phase")?);
                }
                parts.extend(content);
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

/// If the turn already has a message or a call, splits off the items after it: they belong to the next message, which starts
/// another turn.
pub(super) fn split_before_message(pieces: &mut Vec<Piece>) -> Option<Vec<Piece>> {
    let last = pieces.iter().rposition(|piece| !matches!(piece, Piece::Item(_)))?;
    Some(pieces.split_off(last.saturating_add(1)))
}

fn is_call(piece: &Piece) -> bool {
    matches!(piece, Piece::Call(_))
}
