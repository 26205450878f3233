//! Events that callers append, as JSON.
//!
//! JSON documents in them are recorded verbatim, so one struct has the members of all types: `serde` cannot keep the text of a
//! document in an internally tagged enum. The writer checks the values.

use domain::Violation;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::event::Fact;

use super::new_message::{NewMessageBody, NewUsageBody, RoleName};
use super::new_part::{NewPartBody, check_rest, missing, parts, required, violation};
use api_json::content::json_text;
use api_json::instant::timestamp;

/// An event to append. `type` decides which members it has besides `eventId`, `occurredAt` and `metadata`; others are rejected.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEventBody {
    /// The type of the event.
    #[serde(rename = "type")]
    #[schema(inline)]
    kind: NewEventType,
    /// Its id, a UUID; absent: it is derived from the commit.
    event_id: Option<String>,
    /// When it happened; RFC 3339. Events are not ordered by it.
    occurred_at: Option<String>,
    /// Its metadata: an object, at most 64 KiB, recorded verbatim.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// `MessageAppended`: the role, required.
    #[schema(inline)]
    role: Option<RoleName>,
    /// `MessageAppended`: the parts, in order, at most 1,000.
    parts: Option<Vec<NewPartBody>>,
    /// `MessageAppended`: the name of the speaker.
    author: Option<String>,
    /// `MessageAppended`, `ToolCalled`, `HistorySummarised`: the model that wrote it.
    model: Option<String>,
    /// `MessageAppended`, `ToolCalled`: the provider of the model. Reasoning and signatures are sent back only to it.
    provider: Option<String>,
    /// `MessageAppended`, `ToolCalled`: the provider's id of the response.
    provider_response_id: Option<String>,
    /// `MessageAppended`: why the model stopped.
    finish_reason: Option<String>,
    /// `MessageAppended`: the tokens of the response.
    usage: Option<NewUsageBody>,
    /// `ToolCalled`, `ToolReturned`: the id of the call, required.
    call_id: Option<String>,
    /// `ToolCalled`: the tool, required. `ToolReturned`: if given, it must be the tool of the call.
    tool_name: Option<String>,
    /// `ToolCalled`: the input, any JSON, recorded verbatim. Required.
    #[schema(value_type = Option<serde_json::Value>)]
    input: Option<Box<RawValue>>,
    /// `ToolCalled`: the provider's signature of the call.
    signature: Option<String>,
    /// `ToolReturned`: the output, any JSON, recorded verbatim. This or `outputParts` is required.
    #[schema(value_type = Option<serde_json::Value>)]
    output: Option<Box<RawValue>>,
    /// `ToolReturned`: the output, as texts and files.
    output_parts: Option<Vec<NewPartBody>>,
    /// `ToolReturned`: whether the tool failed.
    is_error: Option<bool>,
    /// `SystemNoted`: the topic, a short stable name.
    topic: Option<String>,
    /// `SystemNoted`: the note. `HistorySummarised`: the summary. Required.
    text: Option<String>,
    /// `ErrorOccurred`: the type of the error, a short stable name. Required.
    error_type: Option<String>,
    /// `ErrorOccurred`: the error message.
    message: Option<String>,
    /// `HistorySummarised`: the last version that it replaces. Required.
    through: Option<u64>,
    /// `HistoryRewound`: the last version that is still read. Required.
    to: Option<u64>,
    /// `DocumentPut`, `DocumentDeleted`: the labels of the namespace, 1 to 16. Required.
    namespace: Option<Vec<String>>,
    /// `DocumentPut`, `DocumentDeleted`: the key. Required.
    key: Option<String>,
    /// `DocumentPut`: the value, any JSON, recorded verbatim. Required.
    #[schema(value_type = Option<serde_json::Value>)]
    value: Option<Box<RawValue>>,
    /// `DocumentPut`: the document is read for this many seconds after its record.
    ttl_seconds: Option<u64>,
}

/// The types of events that callers append.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
pub(super) enum NewEventType {
    /// A message.
    #[default]
    MessageAppended,
    /// The model called a tool.
    ToolCalled,
    /// The result of a tool.
    ToolReturned,
    /// A note; models do not read it.
    SystemNoted,
    /// An error; models do not read it.
    ErrorOccurred,
    /// A summary that replaces the earlier history in contexts.
    HistorySummarised,
    /// Reads skip the events after a version.
    HistoryRewound,
    /// A document has a new value; models do not read it.
    DocumentPut,
    /// A document was deleted.
    DocumentDeleted,
}

impl NewEventBody {
    /// The event as the writer takes it.
    ///
    /// # Errors
    /// A required member is missing, a member is not one of the type, or the time is not RFC 3339.
    pub fn into_proto(mut self) -> Result<proto::Event, Violation> {
        let occurred_at = self.occurred_at.take().map(|text| time(&text)).transpose()?;
        let event = proto::Event {
            event_id: self.event_id.take().unwrap_or_default(),
            occurred_at,
            metadata_json: json_text(self.metadata.take()),
            fact: Some(self.take_fact()?),
            ..proto::Event::default()
        };
        self.check_rest()?;
        Ok(event)
    }

    fn take_fact(&mut self) -> Result<Fact, Violation> {
        Ok(match self.kind {
            NewEventType::MessageAppended => Fact::MessageAppended(self.take_message()?),
            NewEventType::ToolCalled => Fact::ToolCalled(proto::ToolCalled {
                call_id: required(self.call_id.take(), "callId")?,
                tool_name: required(self.tool_name.take(), "toolName")?,
                input_json: json_text(Some(required(self.input.take(), "input")?)),
                model: self.model.take().unwrap_or_default(),
                provider_response_id: self.provider_response_id.take().unwrap_or_default(),
                signature: self.signature.take(),
                provider: self.provider.take().unwrap_or_default(),
            }),
            NewEventType::ToolReturned => Fact::ToolReturned(self.take_result()?),
            NewEventType::SystemNoted => Fact::SystemNoted(proto::SystemNoted {
                topic: self.topic.take().unwrap_or_default(),
                text: required(self.text.take(), "text")?,
            }),
            NewEventType::ErrorOccurred => Fact::ErrorOccurred(proto::ErrorOccurred {
                error_type: required(self.error_type.take(), "errorType")?,
                message: self.message.take().unwrap_or_default(),
            }),
            NewEventType::HistorySummarised => Fact::HistorySummarised(proto::HistorySummarised {
                through_version: required(self.through.take(), "through")?,
                text: required(self.text.take(), "text")?,
                model: self.model.take().unwrap_or_default(),
                previous_version: 0,
            }),
            NewEventType::HistoryRewound => {
                Fact::HistoryRewound(proto::HistoryRewound { to_version: required(self.to.take(), "to")? })
            }
            NewEventType::DocumentPut => Fact::DocumentPut(proto::DocumentPut {
                namespace: required(self.namespace.take(), "namespace")?,
                key: required(self.key.take(), "key")?,
                value_json: json_text(Some(required(self.value.take(), "value")?)),
                ttl_seconds: self.ttl_seconds.take().unwrap_or_default(),
            }),
            NewEventType::DocumentDeleted => Fact::DocumentDeleted(proto::DocumentDeleted {
                namespace: required(self.namespace.take(), "namespace")?,
                key: required(self.key.take(), "key")?,
            }),
        })
    }

    fn take_message(&mut self) -> Result<proto::MessageAppended, Violation> {
        let message = NewMessageBody {
            role: self.role.take(),
            content: None,
            parts: self.parts.take(),
            author: self.author.take(),
            model: self.model.take(),
            provider: self.provider.take(),
            provider_response_id: self.provider_response_id.take(),
            finish_reason: self.finish_reason.take(),
            usage: self.usage.take(),
        };
        message.into_proto()
    }

    fn take_result(&mut self) -> Result<proto::ToolReturned, Violation> {
        use proto::tool_returned::Output;
        let output = match (self.output.take(), self.output_parts.take()) {
            (Some(document), None) => Output::OutputJson(json_text(Some(document))),
            (None, Some(given)) => Output::OutputParts(proto::Parts { parts: parts(given, "outputParts")? }),
            (None, None) => return Err(missing("output")),
            (Some(_), Some(_)) => {
                let rule = "is given beside output: send one of them";
                return Err(violation(rule).within("outputParts"));
            }
        };
        let outcome = match self.is_error.take() {
            Some(true) => proto::ToolOutcome::Failed,
            Some(false) | None => proto::ToolOutcome::Succeeded,
        };
        Ok(proto::ToolReturned {
            call_id: required(self.call_id.take(), "callId")?,
            tool_name: self.tool_name.take().unwrap_or_default(),
            output: Some(output),
            outcome: outcome.into(),
        })
    }

    /// Rejects members that no `take_` function of the type has taken.
    fn check_rest(&self) -> Result<(), Violation> {
        check_rest(&[
            ("role", self.role.is_some()),
            ("parts", self.parts.is_some()),
            ("author", self.author.is_some()),
            ("model", self.model.is_some()),
            ("provider", self.provider.is_some()),
            ("providerResponseId", self.provider_response_id.is_some()),
            ("finishReason", self.finish_reason.is_some()),
            ("usage", self.usage.is_some()),
            ("callId", self.call_id.is_some()),
            ("toolName", self.tool_name.is_some()),
            ("input", self.input.is_some()),
            ("signature", self.signature.is_some()),
            ("output", self.output.is_some()),
            ("outputParts", self.output_parts.is_some()),
            ("isError", self.is_error.is_some()),
            ("topic", self.topic.is_some()),
            ("text", self.text.is_some()),
            ("errorType", self.error_type.is_some()),
            ("message", self.message.is_some()),
            ("through", self.through.is_some()),
            ("to", self.to.is_some()),
            ("namespace", self.namespace.is_some()),
            ("key", self.key.is_some()),
            ("value", self.value.is_some()),
            ("ttlSeconds", self.ttl_seconds.is_some()),
        ])
    }
}

fn time(text: &str) -> Result<prost_types::Timestamp, Violation> {
    let time = timestamp(text)
        .ok_or_else(|| violation("is not RFC 3339, or is outside the years 1677 to 2262").within("occurredAt"))?;
    Ok(wire::time::to_proto(time))
}
