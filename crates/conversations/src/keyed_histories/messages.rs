//! Parses and checks the caller's messages.

use domain::bounds::EVENT_BYTES_MAX;
use domain::event::MessageAppended;
use domain::{Violation, ViolationReason};
use prost::Message as _;
use wire::proto::event::v1 as event;

use crate::request::out_of_range;

/// Maximum number of messages in a request.
pub const CURRENT_MESSAGES_MAX: usize = 1_000;
/// Reserved bytes of an event for its id, tags and lengths.
const AROUND_BYTES_MAX: usize = 64;

/// Parses the messages.
///
/// # Errors
/// There are too many messages, or one cannot be recorded. The error names the path of the field.
pub fn parse(messages: Vec<event::MessageAppended>) -> Result<Vec<MessageAppended>, Violation> {
    if messages.len() > CURRENT_MESSAGES_MAX {
        let count = messages.len();
        let description = format!("are {count}, the maximum is {CURRENT_MESSAGES_MAX}");
        return Err(out_of_range(description).within("messages"));
    }
    let messages = messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| parse_message(message).map_err(|violation| violation.at(index).within("messages")));
    messages.collect()
}

fn parse_message(message: event::MessageAppended) -> Result<MessageAppended, Violation> {
    let (bytes, bytes_max) = (message.encoded_len(), EVENT_BYTES_MAX - AROUND_BYTES_MAX);
    if bytes > bytes_max {
        let description = format!("is {bytes} bytes, the maximum is {bytes_max}");
        return Err(Violation::new(ViolationReason::EventTooLarge, description));
    }
    let message = wire::event::message_from_proto(message)?;
    wire::event::check_message(&message)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: usize) -> event::MessageAppended {
        let text = "x".repeat(bytes);
        event::MessageAppended {
            role: event::Role::User.into(),
            parts: vec![event::Part { kind: Some(event::part::Kind::Text(text)) }],
            ..event::MessageAppended::default()
        }
    }

    fn check(messages: Vec<event::MessageAppended>, expected: Option<(&str, ViolationReason)>) {
        let violation = parse(messages).err();
        let seen = violation.map(|violation| (violation.field, violation.reason));
        assert_eq!(seen, expected.map(|(field, reason)| (domain::FieldPath::from(field), reason)));
    }

    #[test]
    fn lists_are_bounded() {
        check(vec![message(1); CURRENT_MESSAGES_MAX], None);
        check(vec![message(1); CURRENT_MESSAGES_MAX + 1], Some(("messages", ViolationReason::OutOfRange)));
    }

    #[test]
    fn a_message_that_cannot_be_recorded_is_named() {
        let around = message(500_000).encoded_len() - 500_000;
        let most = EVENT_BYTES_MAX - AROUND_BYTES_MAX - around;
        check(vec![message(1), message(most)], None);
        check(vec![message(1), message(most + 1)], Some(("messages[1]", ViolationReason::EventTooLarge)));
        let empty = event::MessageAppended::default();
        check(vec![empty], Some(("messages[0].role", ViolationReason::Missing)));
        check(vec![message(1), message(0)], Some(("messages[1].parts[0].text", ViolationReason::Missing)));
    }
}
