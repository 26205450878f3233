//! The list of messages: adjacent messages of one role are merged (A1), no message is empty (A4), and the user has the first
//! and the last message (A1, A6).

use super::blocks::{Block, Message, Speaker};

/// The user text before a list that starts with the assistant (A1).
pub const OPENER: &str = "(The conversation begins with the assistant.)";
/// The user text after a list that ends with the assistant (A6), in an empty list, and between two assistant turns if the
/// later one starts with a thought and the earlier one does not (A5).
pub const CONTINUE: &str = "(Continue.)";

/// Appends blocks to the list: to its last message if that has the role, otherwise as a new message.
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

/// Appends a user message if the list is empty or ends with the assistant.
pub(super) fn close(messages: &mut Vec<Message<'_>>) {
    if messages.last().is_none_or(|last| last.role == Speaker::Assistant) {
        messages.push(user(CONTINUE));
    }
}

/// Whether merging would put thoughts at the start of a turn into the middle of a message that starts without one (A5).
fn hides_thoughts(before: &[Block<'_>], turn: &[Block<'_>]) -> bool {
    let begins_with_thought = |blocks: &[Block<'_>]| blocks.first().is_some_and(Block::is_thought);
    begins_with_thought(turn) && !begins_with_thought(before)
}

fn user(text: &str) -> Message<'_> {
    Message { role: Speaker::User, content: vec![Block::text(text)] }
}
