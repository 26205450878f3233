//! The list of messages: neighbours of one role are one message (A1), no message is empty (A4), the user begins and ends it
//! (A1, A6).

use super::blocks::{Block, Message, Speaker};

/// The user's text before a list that the assistant would begin (A1).
pub const OPENER: &str = "(The conversation begins with the assistant.)";
/// The user's text after a list that the assistant would end (A6), in place of an empty list, and between two turns of the
/// assistant where the later one must begin with its thoughts and, merged, would not (A5).
pub const CONTINUE: &str = "(Continue.)";

/// Adds blocks at the end of the list. Only appends: no message that stands is changed but by more blocks.
pub(super) fn push<'a>(messages: &mut Vec<Message<'a>>, role: Speaker, content: Vec<Block<'a>>) {
    if content.is_empty() {
        return;
    }
    if messages.is_empty() && role == Speaker::Assistant {
        messages.push(user(OPENER));
    }
    match messages.last_mut() {
        Some(last) if last.role == role => {
            if hides_thoughts(&last.content, &content) {
                messages.push(user(CONTINUE));
                messages.push(Message { role, content });
            } else {
                last.content.extend(content);
            }
        }
        _ => messages.push(Message { role, content }),
    }
}

/// Lets the user have the last word, where nobody has one or the assistant has it.
pub(super) fn close(messages: &mut Vec<Message<'_>>) {
    if messages
        .last()
        .is_none_or(|last| last.role == Speaker::Assistant)
    {
        messages.push(user(CONTINUE));
    }
}

/// Whether thoughts that begin their turn would stand in the middle of a message that begins without one (A5).
fn hides_thoughts(before: &[Block<'_>], turn: &[Block<'_>]) -> bool {
    let begins_with_thought = |blocks: &[Block<'_>]| blocks.first().is_some_and(Block::is_thought);
    begins_with_thought(turn) && !begins_with_thought(before)
}

fn user(text: &str) -> Message<'_> {
    Message {
        role: Speaker::User,
        content: vec![Block::text(text)],
    }
}
