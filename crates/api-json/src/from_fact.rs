//! Converts facts to their JSON.

use domain::FieldChange;
use domain::event::{
    Annotation, ConversationCreated, ConversationUpdated, Fact, Lifecycle, MessageAppended, ToolOutcome, ToolOutput,
    ToolReturned, Usage, UsageSource,
};

use super::content::{PartBody, Verbatim, json, text};
use super::conversation::{ContextBody, ForkPointBody};
use super::fact::{FactBody, MessageContentBody, UsageBody};

impl From<&Fact> for FactBody {
    fn from(fact: &Fact) -> Self {
        match fact {
            Fact::MessageAppended(message) => Self::MessageAppended(message.into()),
            Fact::ToolCalled(call) => Self::ToolCalled {
                call_id: call.call_id.as_str().to_owned(),
                tool_name: call.tool_name.as_str().to_owned(),
                input: json(&call.input),
                model: text(call.model.as_ref()),
            },
            Fact::ToolReturned(result) => tool_result_body(result),
            Fact::Annotation(fact) => annotation_body(fact),
            Fact::Lifecycle(fact) => lifecycle_body(fact),
        }
    }
}

impl From<&MessageAppended> for MessageContentBody {
    fn from(message: &MessageAppended) -> Self {
        Self {
            role: message.role.as_str(),
            parts: message.parts.iter().map(PartBody::from).collect(),
            author: text(message.author.as_ref()),
            model: text(message.model.as_ref()),
            provider_response_id: text(message.provider_response_id.as_ref()),
            finish_reason: text(message.finish_reason.as_ref()),
            usage: message.usage.map(UsageBody::from),
            usage_source: (message.usage_source == UsageSource::Estimated).then_some("estimated"),
        }
    }
}

fn annotation_body(fact: &Annotation) -> FactBody {
    match fact {
        Annotation::SystemNoted(note) => {
            FactBody::SystemNoted { topic: text(note.topic.as_ref()), text: note.text.clone() }
        }
        Annotation::ErrorOccurred(error) => {
            FactBody::ErrorOccurred { error_type: error.error_type.as_str().to_owned(), message: error.message.clone() }
        }
        Annotation::HistorySummarised(summary) => {
            FactBody::HistorySummarised { through: summary.through.0, text: summary.text.clone() }
        }
        Annotation::HistoryRewound(rewound) => FactBody::HistoryRewound { to: rewound.to.0 },
        Annotation::DocumentPut(put) => FactBody::DocumentPut {
            namespace: put.name.namespace.labels().to_vec(),
            key: put.name.key.clone(),
            value: json(&put.value),
            ttl_seconds: put.ttl_seconds,
        },
        Annotation::DocumentDeleted(deleted) => FactBody::DocumentDeleted {
            namespace: deleted.name.namespace.labels().to_vec(),
            key: deleted.name.key.clone(),
        },
    }
}

fn lifecycle_body(fact: &Lifecycle) -> FactBody {
    match fact {
        Lifecycle::ConversationCreated(created) => created_body(created),
        Lifecycle::ConversationUpdated(updated) => updated_body(updated),
        Lifecycle::ConversationArchived => FactBody::ConversationArchived,
        Lifecycle::ConversationRestored => FactBody::ConversationRestored,
        Lifecycle::ConversationErased => FactBody::ConversationErased,
        Lifecycle::OwnerChanged(changed) => {
            FactBody::OwnerChanged { owner: (&changed.owner).into(), previous: (&changed.previous).into() }
        }
        Lifecycle::RunStarted(started) => {
            FactBody::RunStarted { run_id: started.run.to_string(), model: text(started.model.as_ref()) }
        }
        Lifecycle::RunStopRequested(run) => FactBody::RunStopRequested { run_id: run.to_string() },
        Lifecycle::RunFinished(finished) => {
            FactBody::RunFinished { run_id: finished.run.to_string(), outcome: finished.outcome.as_str() }
        }
    }
}

fn tool_result_body(result: &ToolReturned) -> FactBody {
    let (output, output_parts) = match &result.output {
        ToolOutput::Json(document) => (Some(json(document)), None),
        ToolOutput::Parts(parts) => (None, Some(parts.iter().map(PartBody::from).collect())),
    };
    FactBody::ToolReturned {
        call_id: result.call_id.as_str().to_owned(),
        tool_name: result.tool_name.as_ref().map(|tool| tool.as_str().to_owned()),
        output,
        output_parts,
        is_error: result.outcome == ToolOutcome::Failed,
    }
}

fn created_body(created: &ConversationCreated) -> FactBody {
    FactBody::ConversationCreated {
        owner: (&created.owner).into(),
        title: created.title.clone(),
        conversation_metadata: created.metadata.as_ref().map(json),
        context: ContextBody::of(&created.client_context),
        forked_from: created.forked_from.as_ref().map(ForkPointBody::from),
    }
}

fn updated_body(updated: &ConversationUpdated) -> FactBody {
    let metadata = updated.metadata.clone();
    FactBody::ConversationUpdated {
        title: updated.title.clone().map(FieldChange::into_value),
        conversation_metadata: metadata.map(|change| change.into_value().map(Verbatim)),
    }
}

impl From<Usage> for UsageBody {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_tokens: usage.cached_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}
