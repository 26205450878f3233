//! The events of an agent's or owner's document. Its conversation contains nothing else, and each commit one of them, so the
//! version of the conversation is that of the document.

use domain::bounds::DOCUMENT_VALUE_BYTES_MAX;
use domain::violation::check_length;
use domain::{Action, Annotation, ConversationId, Fact, NewEvent, Violation, ViolationReason};

/// Checks the events of a commit of a document. Other conversations accept any events.
///
/// # Errors
/// The events are others than one value or deletion, or the value is too long; without the name of the list.
pub(crate) fn check(conversation: &ConversationId, events: &[NewEvent]) -> Result<(), Violation> {
    if !conversation.is_document() {
        return Ok(());
    }
    match events {
        [NewEvent { fact: Fact::Annotation(Annotation::DocumentPut(put)), .. }] => {
            let checked = check_length(put.value.as_str().len(), DOCUMENT_VALUE_BYTES_MAX);
            checked.map_err(|violation| violation.within("document_put.value_json").at(0))
        }
        [NewEvent { fact: Fact::Annotation(Annotation::DocumentDeleted(_)), .. }] => Ok(()),
        _ => {
            let rule = "are not one document_put or document_deleted, which is all that a document accepts";
            Err(Violation::new(ViolationReason::Malformed, rule))
        }
    }
}

/// Checks the command for an existing document. Other conversations accept any command.
///
/// # Errors
/// The command adds something else than values and deletions.
pub(crate) fn check_action(conversation: &ConversationId, action: &Action) -> Result<(), Violation> {
    let is_allowed =
        matches!(action, Action::Create(_) | Action::Append { .. } | Action::Erase { .. } | Action::ChangeOwner { .. });
    if is_allowed {
        return Ok(());
    }
    check_no_document(conversation)
}

/// Checks that a conversation is no document, for what a document cannot have.
///
/// # Errors
/// It is one.
pub(crate) fn check_no_document(conversation: &ConversationId) -> Result<(), Violation> {
    if !conversation.is_document() {
        return Ok(());
    }
    let rule = "belongs to a document, which has only values: use the document service";
    Err(Violation::new(ViolationReason::Reserved, rule))
}

#[cfg(test)]
mod tests {
    use domain::event::{DocumentDeleted, DocumentPut, SystemNoted};
    use domain::{DocumentName, JsonText};

    use super::check as check_events;
    use super::*;

    fn put(bytes: usize) -> NewEvent {
        let text = format!("\"{}\"", "x".repeat(bytes - 2));
        NewEvent::from(Fact::from(DocumentPut {
            name: DocumentName::parse(vec!["n".to_owned()], "k".to_owned()).unwrap(),
            value: JsonText::parse(text).unwrap(),
            ttl_seconds: None,
        }))
    }

    #[test]
    fn a_document_accepts_no_other_commands() {
        let check = |id: &str, action: &Action, expected: bool| {
            let id = ConversationId::parse(id).unwrap();
            assert_eq!(check_action(&id, action).is_ok(), expected, "{id} {action:?}");
        };
        let append = Action::Append { events: vec![put(9)], expected: None };
        for action in [Action::Archive, Action::Restore, Action::Update(Box::default())] {
            check("document:x", &action, false);
            check("other", &action, true);
        }
        check("document:x", &append, true);
    }

    #[test]
    fn a_document_accepts_one_value_or_deletion() {
        let check = |id: &str, events: &[NewEvent], expected: Option<(&str, ViolationReason)>| {
            let id = ConversationId::parse(id).unwrap();
            let violation = check_events(&id, events).err();
            let seen = violation.map(|violation| (violation.field, violation.reason));
            assert_eq!(seen, expected.map(|(field, reason)| (domain::FieldPath::from(field), reason)));
        };
        let note = NewEvent::from(Fact::from(SystemNoted { topic: None, text: "note".to_owned() }));
        let deleted = NewEvent::from(Fact::from(DocumentDeleted {
            name: DocumentName::parse(vec!["n".to_owned()], "k".to_owned()).unwrap(),
        }));
        let other = Some(("", ViolationReason::Malformed));
        let value = Some(("[0].document_put.value_json", ViolationReason::TooLong));
        check("document:x", &[put(DOCUMENT_VALUE_BYTES_MAX)], None);
        check("document:x", &[put(DOCUMENT_VALUE_BYTES_MAX + 1)], value);
        check("document:x", std::slice::from_ref(&deleted), None);
        check("document:x", &[], other);
        check("document:x", &[put(9), deleted.clone()], other);
        check("document:x", std::slice::from_ref(&note), other);
        check("c", &[], None);
        check("c", &[put(DOCUMENT_VALUE_BYTES_MAX + 1), note, deleted], None);
    }
}
