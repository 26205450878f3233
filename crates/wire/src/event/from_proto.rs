//! Events from protobuf, of callers and of the record.

use domain::bounds::{EVENT_BYTES_MAX, SUMMARY_BYTES_MAX, TITLE_BYTES_MAX};
use domain::document::parse_ttl;
use domain::event::{
    ConversationUpdated, DocumentDeleted, DocumentPut, ErrorOccurred, HistoryRewound, HistorySummarised,
    MessageAppended, Role, SystemNoted, ToolCalled, ToolOutcome, ToolOutput, ToolReturned, Usage, UsageSource,
};
use domain::violation::check_length;
use domain::{
    CallId, DocumentName, Event, EventId, EventTokens, Fact, FieldChange, JsonText, Label, Lifecycle, NewEvent,
    ToolName, Version, Violation, ViolationReason,
};

use super::{lifecycle, texts};
use crate::content;
use crate::optional::{label, metadata, text};
use crate::proto::event::v1 as proto;
use crate::time;

/// An event of the record.
///
/// # Errors
/// The field that is corrupt, or that a later version of Hansard wrote.
pub fn from_proto(event: proto::Event) -> Result<Event, Violation> {
    let through = event.tokens_through;
    let parts = parts_of(event)?;
    let Some(id) = parts.id else {
        return Err(missing("is required").within("event_id"));
    };
    Ok(Event {
        id,
        occurred_at: parts.occurred_at,
        metadata: parts.metadata,
        tokens: EventTokens { own: parts.tokens, through },
        fact: parts.fact,
    })
}

/// An event of a caller.
///
/// # Errors
/// The first field that breaks a rule, by its path in the event. Lifecycle facts, empty texts, and fields that only the
/// writer sets are rejected.
pub fn new_event_from_proto(event: proto::Event) -> Result<NewEvent, Violation> {
    let event = stored_event_from_proto(event)?;
    texts::check(&event.fact)?;
    Ok(event)
}

/// As [`new_event_from_proto`], for an event of a stored part, which may contain empty texts.
pub(crate) fn stored_event_from_proto(event: proto::Event) -> Result<NewEvent, Violation> {
    reject_counted("tokens", event.tokens.into())?;
    reject_counted("tokens_through", event.tokens_through)?;
    if let Some(proto::event::Fact::HistorySummarised(summary)) = &event.fact {
        reject_counted("previous_version", summary.previous_version)
            .map_err(|violation| violation.within("history_summarised"))?;
    }
    let event = parts_of(event)?;
    if matches!(event.fact, Fact::Lifecycle(_)) {
        let text = "is a lifecycle event: call its own rpc";
        return Err(Violation::new(ViolationReason::Malformed, text).within("fact"));
    }
    Ok(event)
}

/// Rejects a number that only the writer sets.
fn reject_counted(field: &str, given: u64) -> Result<(), Violation> {
    match given {
        0 => Ok(()),
        _ => Err(Violation::new(ViolationReason::Malformed, "is set by the writer: omit it").within(field)),
    }
}

fn parts_of(event: proto::Event) -> Result<NewEvent, Violation> {
    let id = match event.event_id.as_str() {
        "" => None,
        id => Some(EventId::parse(id).map_err(|violation| violation.within("event_id"))?),
    };
    let occurred_at = event.occurred_at.map(time::from_proto).transpose();
    Ok(NewEvent {
        id,
        occurred_at: occurred_at.map_err(|violation| violation.within("occurred_at"))?,
        metadata: metadata(event.metadata_json, "metadata_json")?,
        tokens: event.tokens,
        fact: fact(event.fact)?,
    })
}

fn fact(fact: Option<proto::event::Fact>) -> Result<Fact, Violation> {
    use proto::event::Fact as Proto;
    let within = |name: &'static str| move |violation: Violation| violation.within(name);
    match fact {
        None => Err(missing("is required: set one of the event's facts").within("fact")),
        Some(Proto::MessageAppended(message)) => {
            message_from_proto(message).map(Fact::MessageAppended).map_err(within("message_appended"))
        }
        Some(Proto::ToolCalled(call)) => tool_called(call).map(Fact::ToolCalled).map_err(within("tool_called")),
        Some(Proto::ToolReturned(result)) => {
            tool_returned_from_proto(result).map(Fact::ToolReturned).map_err(within("tool_returned"))
        }
        Some(Proto::SystemNoted(note)) => system_noted(note).map(Fact::from).map_err(within("system_noted")),
        Some(Proto::ErrorOccurred(error)) => error_occurred(error).map(Fact::from).map_err(within("error_occurred")),
        Some(Proto::HistorySummarised(summary)) => {
            history_summarised(summary).map(Fact::from).map_err(within("history_summarised"))
        }
        Some(Proto::HistoryRewound(rewound)) => {
            history_rewound(rewound).map(Fact::from).map_err(within("history_rewound"))
        }
        Some(Proto::DocumentPut(put)) => document_put(put).map(Fact::from).map_err(within("document_put")),
        Some(Proto::DocumentDeleted(deleted)) => {
            document_deleted(deleted).map(Fact::from).map_err(within("document_deleted"))
        }
        Some(Proto::ConversationCreated(created)) => {
            lifecycle::created_from_proto(created).map(Fact::from).map_err(within("conversation_created"))
        }
        Some(Proto::ConversationUpdated(updated)) => {
            conversation_updated(updated).map(Fact::from).map_err(within("conversation_updated"))
        }
        Some(Proto::ConversationArchived(_)) => Ok(Lifecycle::ConversationArchived.into()),
        Some(Proto::ConversationRestored(_)) => Ok(Lifecycle::ConversationRestored.into()),
        Some(Proto::ConversationErased(_)) => Ok(Lifecycle::ConversationErased.into()),
        Some(Proto::OwnerChanged(changed)) => {
            lifecycle::owner_changed_from_proto(changed).map(Fact::from).map_err(within("owner_changed"))
        }
        Some(Proto::RunStarted(started)) => {
            lifecycle::run_started_from_proto(started).map(Fact::from).map_err(within("run_started"))
        }
        Some(Proto::RunStopRequested(stop)) => lifecycle::run_from_bytes(&stop.run_id)
            .map(|run| Lifecycle::RunStopRequested(run).into())
            .map_err(within("run_stop_requested")),
        Some(Proto::RunFinished(finished)) => {
            lifecycle::run_finished_from_proto(&finished).map(Fact::from).map_err(within("run_finished"))
        }
    }
}

/// A message as the domain type.
///
/// # Errors
/// The first field that breaks a rule, by its path in the message.
pub fn message_from_proto(message: proto::MessageAppended) -> Result<MessageAppended, Violation> {
    let role = match message.role() {
        proto::Role::Unspecified => {
            return Err(missing("is required: a role that this version knows").within("role"));
        }
        proto::Role::User => Role::User,
        proto::Role::Assistant => Role::Assistant,
        proto::Role::System => Role::System,
        proto::Role::Developer => Role::Developer,
    };
    let usage_source = match message.usage_source() {
        proto::UsageSource::Unspecified => UsageSource::Reported,
        proto::UsageSource::Estimated => UsageSource::Estimated,
    };
    Ok(MessageAppended {
        role,
        parts: content::from_proto(message.parts).map_err(|violation| violation.within("parts"))?,
        author: label(message.author, "author")?,
        model: label(message.model, "model")?,
        provider: label(message.provider, "provider")?,
        provider_response_id: label(message.provider_response_id, "provider_response_id")?,
        finish_reason: label(message.finish_reason, "finish_reason")?,
        usage: message.usage.map(usage_from_proto),
        usage_source,
    })
}

/// Tokens as domain types.
#[must_use]
pub fn usage_from_proto(usage: proto::Usage) -> Usage {
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_tokens,
        reasoning_tokens: usage.reasoning_tokens,
    }
}

fn tool_called(call: proto::ToolCalled) -> Result<ToolCalled, Violation> {
    Ok(ToolCalled {
        call_id: call_id(call.call_id)?,
        tool_name: tool_name(call.tool_name)?,
        input: JsonText::parse(call.input_json).map_err(|violation| violation.within("input_json"))?,
        model: label(call.model, "model")?,
        provider: label(call.provider, "provider")?,
        provider_response_id: label(call.provider_response_id, "provider_response_id")?,
        signature: call.signature,
    })
}

/// A result as the domain type.
///
/// # Errors
/// The first field that breaks a rule, by its path in the result.
pub fn tool_returned_from_proto(result: proto::ToolReturned) -> Result<ToolReturned, Violation> {
    use proto::tool_returned::Output;
    let outcome = match result.outcome() {
        proto::ToolOutcome::Unspecified | proto::ToolOutcome::Succeeded => ToolOutcome::Succeeded,
        proto::ToolOutcome::Failed => ToolOutcome::Failed,
    };
    let output = match result.output {
        None => {
            return Err(missing("is required: set output_json or output_parts").within("output"));
        }
        Some(Output::OutputJson(json)) => {
            ToolOutput::Json(JsonText::parse(json).map_err(|violation| violation.within("output_json"))?)
        }
        Some(Output::OutputParts(parts)) => ToolOutput::Parts(
            content::from_proto(parts.parts).map_err(|violation| violation.within("parts").within("output_parts"))?,
        ),
    };
    let name = match result.tool_name.as_str() {
        "" => None,
        _ => Some(tool_name(result.tool_name)?),
    };
    Ok(ToolReturned { call_id: call_id(result.call_id)?, tool_name: name, output, outcome })
}

fn system_noted(note: proto::SystemNoted) -> Result<SystemNoted, Violation> {
    Ok(SystemNoted { topic: label(note.topic, "topic")?, text: note.text })
}

fn error_occurred(error: proto::ErrorOccurred) -> Result<ErrorOccurred, Violation> {
    Ok(ErrorOccurred {
        error_type: Label::parse(error.error_type).map_err(|violation| violation.within("error_type"))?,
        message: error.message,
    })
}

fn history_summarised(summary: proto::HistorySummarised) -> Result<HistorySummarised, Violation> {
    if summary.through_version == 0 {
        return Err(missing("is required: a version, 1 or later").within("through_version"));
    }
    if summary.text.is_empty() {
        return Err(missing("is required").within("text"));
    }
    check_length(summary.text.len(), SUMMARY_BYTES_MAX).map_err(|violation| violation.within("text"))?;
    Ok(HistorySummarised {
        through: Version(summary.through_version),
        text: summary.text,
        model: label(summary.model, "model")?,
        previous: (summary.previous_version != 0).then_some(Version(summary.previous_version)),
    })
}

fn history_rewound(rewound: proto::HistoryRewound) -> Result<HistoryRewound, Violation> {
    match rewound.to_version {
        0 => Err(missing("is required: a version, 1 or later").within("to_version")),
        to => Ok(HistoryRewound { to: Version(to) }),
    }
}

fn document_put(put: proto::DocumentPut) -> Result<DocumentPut, Violation> {
    let ttl_seconds = parse_ttl(put.ttl_seconds);
    Ok(DocumentPut {
        name: DocumentName::parse(put.namespace, put.key)?,
        value: JsonText::parse_comparable(put.value_json, EVENT_BYTES_MAX)
            .map_err(|violation| violation.within("value_json"))?,
        ttl_seconds: ttl_seconds.map_err(|violation| violation.within("ttl_seconds"))?,
    })
}

fn document_deleted(deleted: proto::DocumentDeleted) -> Result<DocumentDeleted, Violation> {
    let name = DocumentName::parse(deleted.namespace, deleted.key)?;
    Ok(DocumentDeleted { name })
}

fn conversation_updated(updated: proto::ConversationUpdated) -> Result<ConversationUpdated, Violation> {
    Ok(ConversationUpdated {
        title: changed(updated.title, |title| text(title, TITLE_BYTES_MAX, "title"))?,
        metadata: changed(updated.metadata_json, |json| metadata(json, "metadata_json"))?,
        provider_conversation_id: changed(updated.provider_conversation_id, |id| {
            label(id, "provider_conversation_id")
        })?,
        last_response_id: changed(updated.last_response_id, |id| label(id, "last_response_id"))?,
    })
}

/// An absent field is unchanged; an empty one is cleared.
fn changed<T>(
    value: Option<String>,
    parse: impl Fn(String) -> Result<Option<T>, Violation>,
) -> Result<Option<FieldChange<T>>, Violation> {
    value.map(|value| parse(value).map(FieldChange::to)).transpose()
}

fn call_id(id: String) -> Result<CallId, Violation> {
    CallId::parse(id).map_err(|violation| violation.within("call_id"))
}

fn tool_name(name: String) -> Result<ToolName, Violation> {
    ToolName::parse(name).map_err(|violation| violation.within("tool_name"))
}

fn missing(description: &str) -> Violation {
    Violation::new(ViolationReason::Missing, description)
}
