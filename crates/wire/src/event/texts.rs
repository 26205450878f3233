//! The rule that no text of a new event is empty. Older stored events may contain empty texts.

use domain::event::MessageAppended;
use domain::{Annotation, Fact, Part, Violation, ViolationReason};

/// Rejects an empty text in a new fact. The output of a tool may be empty.
pub(crate) fn check(fact: &Fact) -> Result<(), Violation> {
    match fact {
        Fact::MessageAppended(message) => {
            check_message(message).map_err(|violation| violation.within("message_appended"))
        }
        Fact::Annotation(Annotation::SystemNoted(note)) if note.text.is_empty() => {
            Err(empty().within("text").within("system_noted"))
        }
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => Ok(()),
    }
}

/// Rejects an empty text or refusal in a new message.
///
/// # Errors
/// [`ViolationReason::Missing`], by the path of the text in the message.
pub fn check_message(message: &MessageAppended) -> Result<(), Violation> {
    let mut parts = message.parts.iter().enumerate();
    let found = parts.find_map(|(index, part)| Some((index, empty_field(part)?)));
    match found {
        Some((index, field)) => Err(empty().within(field).at(index).within("parts")),
        None => Ok(()),
    }
}

/// The field of a part that is an empty text; `None`: the part is valid.
fn empty_field(part: &Part) -> Option<&'static str> {
    match part {
        Part::Text(text) => text.is_empty().then_some("text"),
        Part::Refusal(text) => text.is_empty().then_some("refusal"),
        // A provider that hides its thoughts sends an empty one with a signature.
        Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::ProviderItem { .. } => None,
    }
}

fn empty() -> Violation {
    Violation::new(ViolationReason::Missing, "is empty")
}
