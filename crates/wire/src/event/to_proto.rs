//! Events as protobuf.

use domain::event::{
    ConversationUpdated, MessageAppended, Role, ToolCalled, ToolOutcome, ToolOutput, ToolReturned, Usage, UsageSource,
};
use domain::{Annotation, Event, Fact, FieldChange, JsonText, Label, Lifecycle};

use super::lifecycle;
use crate::content;
use crate::optional::{json_text, label_text};
use crate::proto::event::v1 as proto;
use crate::time;

/// An event as protobuf.
#[must_use]
pub fn to_proto(event: &Event) -> proto::Event {
    proto::Event {
        event_id: event.id.to_string(),
        occurred_at: event.occurred_at.map(time::to_proto),
        metadata_json: json_text(event.metadata.as_ref()),
        tokens: event.tokens.own,
        tokens_through: event.tokens.through,
        fact: Some(fact(&event.fact)),
    }
}

/// A fact as a new event, without an id, a time or metadata.
#[must_use]
pub fn fact_to_proto(given: &Fact) -> proto::Event {
    proto::Event { fact: Some(fact(given)), ..proto::Event::default() }
}

fn fact(fact: &Fact) -> proto::event::Fact {
    use proto::event::Fact as Proto;
    match fact {
        Fact::MessageAppended(message) => Proto::MessageAppended(message_to_proto(message)),
        Fact::ToolCalled(call) => Proto::ToolCalled(tool_called(call)),
        Fact::ToolReturned(result) => Proto::ToolReturned(tool_returned(result)),
        Fact::Annotation(fact) => annotation(fact),
        Fact::Lifecycle(fact) => lifecycle(fact),
    }
}

fn annotation(fact: &Annotation) -> proto::event::Fact {
    use proto::event::Fact as Proto;
    match fact {
        Annotation::SystemNoted(note) => {
            Proto::SystemNoted(proto::SystemNoted { topic: label_text(note.topic.as_ref()), text: note.text.clone() })
        }
        Annotation::ErrorOccurred(error) => Proto::ErrorOccurred(proto::ErrorOccurred {
            error_type: error.error_type.as_str().to_owned(),
            message: error.message.clone(),
        }),
        Annotation::HistorySummarised(summary) => Proto::HistorySummarised(proto::HistorySummarised {
            through_version: summary.through.0,
            text: summary.text.clone(),
            model: label_text(summary.model.as_ref()),
            previous_version: summary.previous.map_or(0, |version| version.0),
        }),
        Annotation::HistoryRewound(rewound) => {
            Proto::HistoryRewound(proto::HistoryRewound { to_version: rewound.to.0 })
        }
        Annotation::DocumentPut(put) => Proto::DocumentPut(proto::DocumentPut {
            namespace: put.name.namespace.labels().to_vec(),
            key: put.name.key.clone(),
            value_json: put.value.as_str().to_owned(),
            ttl_seconds: put.ttl_seconds.unwrap_or_default(),
        }),
        Annotation::DocumentDeleted(deleted) => Proto::DocumentDeleted(proto::DocumentDeleted {
            namespace: deleted.name.namespace.labels().to_vec(),
            key: deleted.name.key.clone(),
        }),
    }
}

fn lifecycle(fact: &Lifecycle) -> proto::event::Fact {
    use proto::event::Fact as Proto;
    match fact {
        Lifecycle::ConversationCreated(created) => Proto::ConversationCreated(lifecycle::created_to_proto(created)),
        Lifecycle::ConversationUpdated(updated) => Proto::ConversationUpdated(conversation_updated(updated)),
        Lifecycle::ConversationArchived => Proto::ConversationArchived(proto::ConversationArchived {}),
        Lifecycle::ConversationRestored => Proto::ConversationRestored(proto::ConversationRestored {}),
        Lifecycle::ConversationErased => Proto::ConversationErased(proto::ConversationErased {}),
        Lifecycle::OwnerChanged(changed) => Proto::OwnerChanged(lifecycle::owner_changed_to_proto(changed)),
        Lifecycle::RunStarted(started) => Proto::RunStarted(lifecycle::run_started_to_proto(started)),
        Lifecycle::RunStopRequested(run) => {
            Proto::RunStopRequested(proto::RunStopRequested { run_id: lifecycle::run_bytes(*run) })
        }
        Lifecycle::RunFinished(finished) => Proto::RunFinished(lifecycle::run_finished_to_proto(finished)),
    }
}

/// A message as protobuf.
#[must_use]
pub fn message_to_proto(message: &MessageAppended) -> proto::MessageAppended {
    proto::MessageAppended {
        role: role(message.role).into(),
        parts: content::to_proto(&message.parts),
        author: label_text(message.author.as_ref()),
        model: label_text(message.model.as_ref()),
        provider: label_text(message.provider.as_ref()),
        provider_response_id: label_text(message.provider_response_id.as_ref()),
        finish_reason: label_text(message.finish_reason.as_ref()),
        usage: message.usage.as_ref().map(usage_to_proto),
        usage_source: usage_source(message.usage_source).into(),
    }
}

fn usage_source(source: UsageSource) -> proto::UsageSource {
    match source {
        UsageSource::Reported => proto::UsageSource::Unspecified,
        UsageSource::Estimated => proto::UsageSource::Estimated,
    }
}

/// A role as protobuf.
#[must_use]
pub fn role(role: Role) -> proto::Role {
    match role {
        Role::User => proto::Role::User,
        Role::Assistant => proto::Role::Assistant,
        Role::System => proto::Role::System,
        Role::Developer => proto::Role::Developer,
    }
}

/// Tokens as protobuf.
#[must_use]
pub fn usage_to_proto(usage: &Usage) -> proto::Usage {
    proto::Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cached_tokens: usage.cached_tokens,
        reasoning_tokens: usage.reasoning_tokens,
    }
}

/// A call as protobuf.
#[must_use]
pub fn tool_called(call: &ToolCalled) -> proto::ToolCalled {
    proto::ToolCalled {
        call_id: call.call_id.as_str().to_owned(),
        tool_name: call.tool_name.as_str().to_owned(),
        input_json: call.input.as_str().to_owned(),
        model: label_text(call.model.as_ref()),
        provider: label_text(call.provider.as_ref()),
        provider_response_id: label_text(call.provider_response_id.as_ref()),
        signature: call.signature.clone(),
    }
}

/// A result as protobuf.
#[must_use]
pub fn tool_returned(result: &ToolReturned) -> proto::ToolReturned {
    use proto::tool_returned::Output;
    let output = match &result.output {
        ToolOutput::Json(json) => Output::OutputJson(json.as_str().to_owned()),
        ToolOutput::Parts(parts) => Output::OutputParts(proto::Parts { parts: content::to_proto(parts) }),
    };
    let outcome = match result.outcome {
        ToolOutcome::Succeeded => proto::ToolOutcome::Succeeded,
        ToolOutcome::Failed => proto::ToolOutcome::Failed,
    };
    proto::ToolReturned {
        call_id: result.call_id.as_str().to_owned(),
        tool_name: result.tool_name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default(),
        output: Some(output),
        outcome: outcome.into(),
    }
}

fn conversation_updated(updated: &ConversationUpdated) -> proto::ConversationUpdated {
    proto::ConversationUpdated {
        title: changed(updated.title.as_ref(), Clone::clone),
        metadata_json: changed(updated.metadata.as_ref(), |json: &JsonText| json.as_str().to_owned()),
        provider_conversation_id: changed(updated.provider_conversation_id.as_ref(), |label: &Label| {
            label.as_str().to_owned()
        }),
        last_response_id: changed(updated.last_response_id.as_ref(), |label: &Label| label.as_str().to_owned()),
    }
}

/// An unchanged field is absent; a cleared one is empty.
fn changed<T>(change: Option<&FieldChange<T>>, text: impl Fn(&T) -> String) -> Option<String> {
    change.map(|change| match change {
        FieldChange::Set(value) => text(value),
        FieldChange::Clear => String::new(),
    })
}
