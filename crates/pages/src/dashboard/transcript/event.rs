//! One event of a transcript. Everything that people, models and tools wrote is text.

use std::collections::BTreeMap;

use domain::document::DocumentName;
use domain::event::{
    Annotation, ConversationCreated, ConversationUpdated, Lifecycle, MessageAppended, ToolCalled, ToolOutcome,
    ToolOutput, ToolReturned, Usage, UsageSource,
};
use domain::run::RunOutcome;
use domain::{Fact, FieldChange, Version};
use maud::{Markup, html};

use super::entries::Entry;
use super::facts::owner;
use super::parts::{At, document, parts, text};
use super::{EventOfTranscript, event_url, path};
use crate::components::{Tone, badge, duration, number, time};
use crate::cost::Prices;

/// What every event of a page needs.
#[derive(Clone, Copy)]
pub(super) struct Of<'a> {
    /// The id of the conversation.
    pub(super) conversation: &'a str,
    /// The prices of models.
    pub(super) prices: &'a Prices,
    /// The version that a model had read, for each event that a model wrote.
    pub(super) read_versions: &'a BTreeMap<Version, Version>,
}

/// An event, and the results of the call that it is.
pub(super) fn entry(of: Of<'_>, entry: &Entry<'_>) -> Markup {
    let recorded = &entry.event.recorded;
    let class = class(&recorded.event.fact);
    html! {
        li #{ "v" (recorded.version) } class={ "event " (class) } data-version=(recorded.version) {
            (heading(of, entry.event))
            (body(of, entry.event))
            @for result in &entry.results {
                div.result #{ "v" (result.recorded.version) } data-version=(result.recorded.version) {
                    (heading(of, result))
                    (body(of, result))
                }
            }
        }
    }
}

fn class(fact: &Fact) -> &'static str {
    match fact {
        Fact::MessageAppended(message) => message.role.as_str(),
        Fact::ToolCalled(_) | Fact::ToolReturned(_) => "tool",
        Fact::Annotation(_) => "annotation",
        Fact::Lifecycle(_) => "lifecycle",
    }
}

fn heading(of: Of<'_>, event: &EventOfTranscript) -> Markup {
    let conversation = of.conversation;
    let recorded = &event.recorded;
    let tokens = recorded.event.context_tokens();
    html! {
        div.event-heading {
            a data-row href=(event_url(conversation, recorded.version)) { "#" (recorded.version) }
            strong { (name(&recorded.event.fact)) }
            @if event.is_rewound { (badge(Tone::Warn, "rewound")) }
            (time(recorded.recorded_at))
            @if tokens > 0 { span.muted { (number(tokens)) " tokens" } }
            @if let Some(version) = of.read_versions.get(&recorded.version) {
                a href={ (path(conversation)) "/context?version=" (version) } { "What the model read" }
            }
        }
    }
}

fn name(fact: &Fact) -> String {
    match fact {
        Fact::MessageAppended(message) => message.role.as_str().to_owned(),
        Fact::ToolCalled(call) => format!("call of {}", call.tool_name),
        Fact::ToolReturned(result) => {
            result.tool_name.as_ref().map_or_else(|| "result".to_owned(), |tool| format!("result of {tool}"))
        }
        Fact::Annotation(_) | Fact::Lifecycle(_) => fact.kind().name().to_owned(),
    }
}

fn body(of: Of<'_>, event: &EventOfTranscript) -> Markup {
    let at = At { conversation: of.conversation, version: event.recorded.version.0 };
    if let Some(json) = &event.json {
        return document(at, "json", "Event", json);
    }
    match &event.recorded.event.fact {
        Fact::MessageAppended(said) => message(at, said, of.prices),
        Fact::ToolCalled(called) => call(at, called),
        Fact::ToolReturned(returned) => result(at, returned),
        Fact::Annotation(fact) => annotation(at, fact),
        Fact::Lifecycle(fact) => lifecycle(at, fact, event),
    }
}

fn message(at: At<'_>, message: &MessageAppended, prices: &Prices) -> Markup {
    let model = message.model.as_ref().map_or("", |model| model.as_str());
    let usage = message.usage.as_ref();
    let cost = usage.and_then(|usage| prices.cost(model, usage));
    html! {
        @if let Some(author) = &message.author { p.muted { "by " (author) } }
        (parts(at, &message.parts))
        @if message.model.is_some() || message.usage.is_some() {
            p.muted {
                @if let Some(model) = &message.model { (model) " " }
                @if let Some(reason) = &message.finish_reason { "finished: " (reason) " " }
                @if let Some(usage) = message.usage { (self::usage(usage)) }
                @if message.usage_source == UsageSource::Estimated { " (estimated: the provider reported more than can be true)" }
                @if cost.is_some() { ", cost " (prices.text(cost)) }
            }
        }
    }
}

fn usage(usage: Usage) -> Markup {
    html! {
        "read " (number(usage.input_tokens)) " (cached " (number(usage.cached_tokens)) "), wrote "
        (number(usage.output_tokens)) " tokens"
    }
}

fn call(at: At<'_>, call: &ToolCalled) -> Markup {
    html! {
        p.muted { "call " code { (call.call_id) } }
        (document(at, "input", "Arguments", call.input.as_str()))
    }
}

fn result(at: At<'_>, result: &ToolReturned) -> Markup {
    html! {
        p.muted {
            "for call " code { (result.call_id) } " "
            @match result.outcome {
                ToolOutcome::Succeeded => (badge(Tone::Good, "succeeded")),
                ToolOutcome::Failed => (badge(Tone::Bad, "failed")),
            }
        }
        @match &result.output {
            ToolOutput::Json(output) => (document(at, "output", "Result", output.as_str())),
            ToolOutput::Parts(output) => (parts(at, output)),
        }
    }
}

fn annotation(at: At<'_>, fact: &Annotation) -> Markup {
    match fact {
        Annotation::SystemNoted(note) => html! {
            @if let Some(topic) = &note.topic { p.muted { (topic) } }
            (text(at, &note.text))
        },
        Annotation::ErrorOccurred(error) => html! {
            p { (badge(Tone::Bad, error.error_type.as_str())) }
            (text(at, &error.message))
        },
        Annotation::HistorySummarised(summary) => html! {
            p.muted { "Covers the events up to " (link(at, summary.through.0)) }
            (text(at, &summary.text))
        },
        Annotation::DocumentPut(put) => html! {
            (document_name(&put.name))
            (document(at, "value", "Value", put.value.as_str()))
        },
        Annotation::DocumentDeleted(deleted) => document_name(&deleted.name),
        Annotation::HistoryRewound(rewound) => html! {
            p { "The conversation continues after event " (link(at, rewound.to.0)) "; later events are hidden from models." }
        },
    }
}

fn document_name(name: &DocumentName) -> Markup {
    html! { p { code { (name.namespace.labels().join("/")) } " " code { (name.key) } } }
}

fn link(at: At<'_>, version: u64) -> Markup {
    html! { a href=(event_url(at.conversation, Version(version))) { "#" (version) } }
}

fn lifecycle(at: At<'_>, fact: &Lifecycle, event: &EventOfTranscript) -> Markup {
    match fact {
        Lifecycle::ConversationCreated(created) => self::created(at, created),
        Lifecycle::ConversationUpdated(updated) => self::updated(at, updated),
        Lifecycle::RunStarted(started) => html! {
            p.muted {
                "run " code { (started.run) }
                @if let Some(model) = &started.model { " of " (model) }
            }
        },
        Lifecycle::RunStopRequested(run) => html! { p.muted { "run " code { (run) } } },
        Lifecycle::RunFinished(finished) => html! {
            p.muted {
                "run " code { (finished.run) } " " (outcome(finished.outcome))
                @if let Some(started) = event.run_started_at { " after " (duration(started, event.recorded.recorded_at)) }
            }
        },
        // The heading says it all.
        Lifecycle::ConversationArchived | Lifecycle::ConversationRestored | Lifecycle::ConversationErased => html! {},
        Lifecycle::OwnerChanged(changed) => {
            let (kind, id) = owner(&changed.owner);
            html! { p.muted { (kind) " " code { (id) } } }
        }
    }
}

fn outcome(outcome: RunOutcome) -> Markup {
    match outcome {
        RunOutcome::Completed => badge(Tone::Good, "completed"),
        RunOutcome::Stopped => badge(Tone::Neutral, "stopped"),
        RunOutcome::Failed => badge(Tone::Bad, "failed"),
        RunOutcome::Abandoned => badge(Tone::Bad, "abandoned"),
    }
}

fn created(at: At<'_>, created: &ConversationCreated) -> Markup {
    html! {
        @if let Some(title) = &created.title { p { "Title: " bdi { (title) } } }
        @if let Some(metadata) = &created.metadata {
            (document(at, "metadata", "Metadata", metadata.as_str()))
        }
    }
}

fn updated(at: At<'_>, updated: &ConversationUpdated) -> Markup {
    let title = updated.title.clone().map(FieldChange::into_value);
    let metadata = updated.metadata.clone().map(FieldChange::into_value);
    html! {
        @if let Some(title) = title { p { "Title: " bdi { (title.unwrap_or_default()) } } }
        @if let Some(metadata) = metadata {
            (document(at, "metadata", "Metadata", metadata.as_ref().map_or("null", |json| json.as_str())))
        }
    }
}
