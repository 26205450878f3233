//! The caller's messages, checked.

use domain::bounds::EVENT_BYTES_MAX;
use domain::event::MessageAppended;
use domain::{Violation, ViolationReason};
use prost::Message as _;
use wire::proto::event::v1 as event;

use crate::request::out_of_range;

/// Most messages that a caller gives at once.
pub const CURRENT_MESSAGES_MAX: usize = 1_000;
/// Kept back from an event's bytes for what stands around its message: the event's id, tags and lengths.
const AROUND_BYTES_MAX: usize = 64;

/// The messages as the domain keeps them.
///
/// # Errors
/// Too many, or one that could not be recorded; its path is named.
pub(super) fn parse(
    messages: Vec<event::MessageAppended>,
) -> Result<Vec<MessageAppended>, Violation> {
    if messages.len() > CURRENT_MESSAGES_MAX {
        let count = messages.len();
        let description = format!("are {count}, at most {CURRENT_MESSAGES_MAX} are taken");
        return Err(out_of_range(description).within("messages"));
    }
    let messages = messages.into_iter().enumerate();
    let messages = messages.map(|(place, message)| {
        checked(message).map_err(|violation| violation.at(place).within("messages"))
    });
    messages.collect()
}

fn checked(message: event::MessageAppended) -> Result<MessageAppended, Violation> {
    check_size(&message)?;
    let message = wire::event::message_from_proto(message)?;
    wire::event::check_message(&message)?;
    Ok(message)
}

fn check_size(message: &event::MessageAppended) -> Result<(), Violation> {
    let (bytes, most) = (message.encoded_len(), EVENT_BYTES_MAX - AROUND_BYTES_MAX);
    if bytes <= most {
        return Ok(());
    }
    Err(Violation::new(
        ViolationReason::EventTooLarge,
        format!("is {bytes} bytes, at most {most} are taken"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> event::MessageAppended {
        let text = "x".repeat(bytes);
        event::MessageAppended {
            role: event::Role::User.into(),
            parts: vec![event::Part {
                kind: Some(event::part::Kind::Text(text)),
            }],
            ..event::MessageAppended::default()
        }
    }

    fn check(messages: Vec<event::MessageAppended>, expected: Option<(&str, ViolationReason)>) {
        let violation = parse(messages).err();
        let seen = violation
            .as_ref()
            .map(|violation| (violation.field.as_str(), violation.reason));
        assert_eq!(seen, expected);
    }

    #[test]
    fn lists_at_their_bound() {
        check(vec![message(1); CURRENT_MESSAGES_MAX], None);
        check(
            vec![message(1); CURRENT_MESSAGES_MAX + 1],
            Some(("messages", ViolationReason::OutOfRange)),
        );
    }

    #[test]
    fn a_message_that_cannot_be_recorded_is_named() {
        let around = message(500_000).encoded_len() - 500_000;
        let most = EVENT_BYTES_MAX - AROUND_BYTES_MAX - around;
        check(vec![message(1), message(most)], None);
        check(
            vec![message(1), message(most + 1)],
            Some(("messages[1]", ViolationReason::EventTooLarge)),
        );
        let nobody = event::MessageAppended::default();
        check(
            vec![nobody],
            Some(("messages[0].role", ViolationReason::Missing)),
        );
        check(
            vec![message(1), message(0)],
            Some(("messages[1].parts[0].text", ViolationReason::Missing)),
        );
    }
}
