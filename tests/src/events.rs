//! Short constructors of events as callers write them.

use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;
use wire::proto::read::v1::RecordedEvent;

/// An event with this fact and no other field.
#[must_use]
pub fn event(fact: Fact) -> proto::Event {
    proto::Event { fact: Some(fact), ..proto::Event::default() }
}

/// A message with one text.
#[must_use]
pub fn message(role: proto::Role, text: impl Into<String>) -> proto::Event {
    event(Fact::MessageAppended(proto::MessageAppended {
        role: role.into(),
        parts: vec![text_part(text)],
        ..proto::MessageAppended::default()
    }))
}

/// A message of the user.
#[must_use]
pub fn user(text: impl Into<String>) -> proto::Event {
    message(proto::Role::User, text)
}

/// A message of the assistant.
#[must_use]
pub fn assistant(text: impl Into<String>) -> proto::Event {
    message(proto::Role::Assistant, text)
}

/// A message of an assistant that this model wrote for so many input tokens, one of them cached, and two output tokens.
#[must_use]
pub fn answer_with_usage(model: &str, input_tokens: u64) -> proto::Event {
    let mut message = assistant("answer");
    if let Some(Fact::MessageAppended(appended)) = &mut message.fact {
        model.clone_into(&mut appended.model);
        appended.usage = Some(proto::Usage { input_tokens, output_tokens: 2, cached_tokens: 1, reasoning_tokens: 0 });
    }
    message
}

/// A call of the tool `search`.
#[must_use]
pub fn call(call_id: &str, input_json: &str) -> proto::Event {
    event(Fact::ToolCalled(proto::ToolCalled {
        call_id: call_id.to_owned(),
        tool_name: "search".to_owned(),
        input_json: input_json.to_owned(),
        ..proto::ToolCalled::default()
    }))
}

/// The result of a call.
#[must_use]
pub fn result(call_id: &str, output_json: &str) -> proto::Event {
    event(Fact::ToolReturned(proto::ToolReturned {
        call_id: call_id.to_owned(),
        output: Some(proto::tool_returned::Output::OutputJson(output_json.to_owned())),
        ..proto::ToolReturned::default()
    }))
}

/// A failed result of a tool call.
#[must_use]
pub fn failed_result(call_id: &str, text: &str) -> proto::Event {
    let part = proto::Part { kind: Some(proto::part::Kind::Text(text.to_owned())) };
    event(Fact::ToolReturned(proto::ToolReturned {
        call_id: call_id.to_owned(),
        output: Some(proto::tool_returned::Output::OutputParts(proto::Parts { parts: vec![part] })),
        outcome: proto::ToolOutcome::Failed.into(),
        ..proto::ToolReturned::default()
    }))
}

/// A note of the system.
#[must_use]
pub fn note(text: &str) -> proto::Event {
    event(Fact::SystemNoted(proto::SystemNoted { topic: "test".to_owned(), text: text.to_owned() }))
}

/// A summary of the events up to and including a version.
#[must_use]
pub fn summary(through_version: u64, text: impl Into<String>) -> proto::Event {
    event(Fact::HistorySummarised(proto::HistorySummarised {
        through_version,
        text: text.into(),
        ..proto::HistorySummarised::default()
    }))
}

/// A rewind: from here on the history continues from a version.
#[must_use]
pub fn rewind(to_version: u64) -> proto::Event {
    event(Fact::HistoryRewound(proto::HistoryRewound { to_version }))
}

/// An error.
#[must_use]
pub fn error(message: &str) -> proto::Event {
    event(Fact::ErrorOccurred(proto::ErrorOccurred {
        error_type: "rate_limit".to_owned(),
        message: message.to_owned(),
    }))
}

/// A document of the namespace `n` with this key and value.
#[must_use]
pub fn document_put(key: &str, value_json: &str) -> proto::Event {
    event(Fact::DocumentPut(proto::DocumentPut {
        namespace: vec!["n".to_owned()],
        key: key.to_owned(),
        value_json: value_json.to_owned(),
        ttl_seconds: 0,
    }))
}

/// The deletion of a document of the namespace `n`.
#[must_use]
pub fn document_deleted(key: &str) -> proto::Event {
    event(Fact::DocumentDeleted(proto::DocumentDeleted { namespace: vec!["n".to_owned()], key: key.to_owned() }))
}

/// A part that is a text.
#[must_use]
pub fn text_part(text: impl Into<String>) -> proto::Part {
    proto::Part { kind: Some(proto::part::Kind::Text(text.into())) }
}

/// An anonymous session as an owner.
#[must_use]
pub fn session(id: &str) -> proto::Owner {
    proto::Owner { kind: Some(proto::owner::Kind::SessionId(id.to_owned())) }
}

/// A user as an owner.
#[must_use]
pub fn user_owner(id: &str) -> proto::Owner {
    proto::Owner { kind: Some(proto::owner::Kind::UserId(id.to_owned())) }
}

/// The fact of a recorded event.
///
/// # Panics
/// When it has none.
#[must_use]
pub fn fact(recorded: &RecordedEvent) -> &Fact {
    recorded.event.as_ref().and_then(|event| event.fact.as_ref()).expect("an event with a fact")
}

/// The concatenated texts of a recorded message; `None` for other events.
#[must_use]
pub fn text_of(recorded: &RecordedEvent) -> Option<String> {
    let Fact::MessageAppended(message) = fact(recorded) else {
        return None;
    };
    Some(text_of_parts(&message.parts))
}

/// The concatenated texts of parts.
#[must_use]
pub fn text_of_parts(parts: &[proto::Part]) -> String {
    let texts = parts.iter().filter_map(|part| match &part.kind {
        Some(proto::part::Kind::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}
