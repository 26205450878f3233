//! Classifies the provider's own items, which parts contain: those that can be sent, and marks.

use std::collections::BTreeSet;

use context::Transcript;
use domain::event::Role;
use domain::{JsonText, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::PROVIDER;

/// Items of the model that need no answer: the provider ran them.
const SELF_CONTAINED: [&str; 7] = [
    "code_interpreter_call",
    "compaction",
    "file_search_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "web_search_call",
];

/// Items of the model that the client answers, with their answers. As for functions (R1), both are sent or neither.
const ANSWERED: [(&str, &str); 5] = [
    ("apply_patch_call", "apply_patch_call_output"),
    ("computer_call", "computer_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("mcp_approval_request", "mcp_approval_response"),
    ("shell_call", "shell_call_output"),
];

/// The prefix of the id of a reasoning item (R4).
const REASONING_ID_PREFIX: &str = "rs_";

/// A classified item of the provider.
#[derive(Debug)]
pub(super) enum OwnItem<'a> {
    /// A mark of ours, `{"type":"message"}` with an optional `phase`: the phase of the texts after it (R7).
    MessageMark {
        /// The phase, as the provider wrote it.
        phase: Option<String>,
    },
    /// A mark of ours, `{"type":"function_call","index":0}`: the position of a call, which assigns the reasoning before it
    /// to the call (R3).
    CallMark {
        /// The index of the call in the turn.
        index: usize,
    },
    /// Reasoning.
    Reasoning(Verbatim<'a>),
    /// Another item of the model.
    Model(Verbatim<'a>),
    /// The client's answer to an item of the model.
    Answer(Verbatim<'a>),
    /// An item that cannot be sent.
    Other,
}

/// An item that is sent verbatim.
#[derive(Debug, Clone)]
pub(super) struct Verbatim<'a> {
    /// The JSON of the item.
    pub(super) raw: &'a RawValue,
    /// Its id.
    pub(super) id: Option<String>,
    /// The link of an item and its answer.
    pub(super) link: Option<Link>,
    /// Whether the provider accepts it as reasoning that it did not store: it has encrypted content, and a valid id (R4) or
    /// none.
    pub(super) signed: bool,
}

/// The kind of an answer, and the id in both the item and its answer.
pub(super) type Link = (&'static str, String);

/// The fields of an item that classification needs.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    call_id: Option<String>,
    approval_request_id: Option<String>,
    phase: Option<String>,
    index: Option<usize>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    encrypted_content: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Mark<'a> {
    Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        index: usize,
    },
}

/// Classifies an item of the provider.
pub(super) fn classify(item: &JsonText) -> OwnItem<'_> {
    let Ok(raw) = serde_json::from_str::<&RawValue>(item.as_str()) else {
        return OwnItem::Other;
    };
    let Ok(head) = serde_json::from_str::<Head<'_>>(raw.get()) else {
        return OwnItem::Other;
    };
    match (head.kind.as_str(), head.index) {
        ("message", _) if head.content.is_none() => OwnItem::MessageMark { phase: head.phase },
        ("function_call", Some(index)) => OwnItem::CallMark { index },
        ("reasoning", _) => OwnItem::Reasoning(verbatim(raw, head, None)),
        (kind, _) if SELF_CONTAINED.contains(&kind) => OwnItem::Model(verbatim(raw, head, None)),
        _ => answered(raw, head),
    }
}

fn answered<'a>(raw: &'a RawValue, head: Head<'_>) -> OwnItem<'a> {
    for (call, answer) in ANSWERED {
        if head.kind == call {
            let named = head.call_id.clone().or_else(|| head.id.clone());
            return named.map_or(OwnItem::Other, |id| OwnItem::Model(verbatim(raw, head, Some((answer, id)))));
        }
        if head.kind == answer {
            let named = head.call_id.clone().or_else(|| head.approval_request_id.clone());
            return named.map_or(OwnItem::Other, |id| OwnItem::Answer(verbatim(raw, head, Some((answer, id)))));
        }
    }
    OwnItem::Other
}

fn verbatim<'a>(raw: &'a RawValue, head: Head<'_>, link: Option<Link>) -> Verbatim<'a> {
    let encrypted = head.encrypted_content.is_some_and(|text| !text.is_empty());
    let well_named = head.id.as_deref().is_none_or(|id| id.starts_with(REASONING_ID_PREFIX));
    Verbatim { raw, signed: encrypted && well_named, id: head.id, link }
}

/// The links of all items that have a later answer.
pub(super) fn answered_links(transcript: &Transcript) -> BTreeSet<Link> {
    let (mut open, mut answered) = (BTreeSet::new(), BTreeSet::new());
    let turns = transcript.turns.iter();
    let speakers = turns.filter(|turn| matches!(turn.role, Role::User | Role::Assistant));
    for part in speakers.flat_map(|turn| &turn.parts) {
        match own_part(part).map(classify) {
            Some(OwnItem::Model(made)) => open.extend(made.link),
            Some(OwnItem::Answer(answer)) => {
                answered.extend(answer.link.filter(|link| open.contains(link)));
            }
            Some(OwnItem::MessageMark { .. } | OwnItem::CallMark { .. } | OwnItem::Reasoning(_) | OwnItem::Other)
            | None => {}
        }
    }
    answered
}

/// The item, if the part is an item of this provider.
pub(super) fn own_part(part: &Part) -> Option<&JsonText> {
    match part {
        Part::ProviderItem { provider, item } if provider.as_str() == PROVIDER => Some(item),
        Part::ProviderItem { .. }
        | Part::Text(_)
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_) => None,
    }
}

/// The text of a [`OwnItem::MessageMark`].
pub(super) fn message_mark(phase: Option<&str>) -> String {
    written(&Mark::Message { phase })
}

/// The text of a [`OwnItem::CallMark`].
pub(super) fn call_mark(index: usize) -> String {
    written(&Mark::FunctionCall { index })
}

fn written(mark: &Mark<'_>) -> String {
    serde_json::to_string(mark).unwrap_or_default()
}
