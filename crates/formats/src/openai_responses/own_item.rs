//! The provider's own items, as parts keep them: which can be sent back, and the marks among them.

use std::collections::BTreeSet;

use context::Transcript;
use domain::event::Role;
use domain::{JsonText, Part};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::PROVIDER;

/// Items of the model that stand for themselves: the provider ran what they tell of.
const SELF_CONTAINED: [&str; 7] = [
    "code_interpreter_call",
    "compaction",
    "file_search_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "web_search_call",
];

/// Items of the model that the client answers, each with its answer: as with functions (R1), neither goes without the other.
const ANSWERED: [(&str, &str); 5] = [
    ("apply_patch_call", "apply_patch_call_output"),
    ("computer_call", "computer_call_output"),
    ("custom_tool_call", "custom_tool_call_output"),
    ("mcp_approval_request", "mcp_approval_response"),
    ("shell_call", "shell_call_output"),
];

/// How the id of a reasoning item begins (R4).
const REASONING_ID_PREFIX: &str = "rs_";

/// A provider's item, recognised.
#[derive(Debug)]
pub(super) enum Own<'a> {
    /// A mark of ours, `{"type":"message"}` with a `phase` or none: the texts after it are a message of this phase (R7).
    MessageMark {
        /// The phase, as the provider wrote it.
        phase: Option<String>,
    },
    /// A mark of ours, `{"type":"function_call","index":0}`: this call of the turn stood here, so that the reasoning
    /// before it is known as its own (R3).
    CallMark {
        /// Which of the turn's calls, from 0.
        index: usize,
    },
    /// Reasoning.
    Reasoning(Verbatim<'a>),
    /// Another item of the model.
    Made(Verbatim<'a>),
    /// The client's answer to one.
    Answer(Verbatim<'a>),
    /// Nothing that could be sent.
    Other,
}

/// An item that goes back as it came.
#[derive(Debug, Clone)]
pub(super) struct Verbatim<'a> {
    /// All of it.
    pub(super) raw: &'a RawValue,
    /// Its id.
    pub(super) id: Option<String>,
    /// What ties a call and its answer together: the answer's kind, and the id that both name.
    pub(super) link: Option<Link>,
    /// Whether the provider takes it back as reasoning without having stored it: it carries its encrypted content, and
    /// its id, where there is one, begins as R4 asks.
    pub(super) signed: bool,
}

/// An answer's kind, and the id that it and its call name.
pub(super) type Link = (&'static str, String);

/// The fields of an item that matter here.
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

/// What this item of the provider is.
pub(super) fn recognise(item: &JsonText) -> Own<'_> {
    let Ok(raw) = serde_json::from_str::<&RawValue>(item.as_str()) else {
        return Own::Other;
    };
    let Ok(head) = serde_json::from_str::<Head<'_>>(raw.get()) else {
        return Own::Other;
    };
    match (head.kind.as_str(), head.index) {
        ("message", _) if head.content.is_none() => Own::MessageMark { phase: head.phase },
        ("function_call", Some(index)) => Own::CallMark { index },
        ("reasoning", _) => Own::Reasoning(verbatim(raw, head, None)),
        (kind, _) if SELF_CONTAINED.contains(&kind) => Own::Made(verbatim(raw, head, None)),
        _ => answered(raw, head),
    }
}

fn answered<'a>(raw: &'a RawValue, head: Head<'_>) -> Own<'a> {
    for (call, answer) in ANSWERED {
        if head.kind == call {
            let named = head.call_id.clone().or_else(|| head.id.clone());
            return named.map_or(Own::Other, |id| {
                Own::Made(verbatim(raw, head, Some((answer, id))))
            });
        }
        if head.kind == answer {
            let named = head.call_id.clone();
            let named = named.or_else(|| head.approval_request_id.clone());
            return named.map_or(Own::Other, |id| {
                Own::Answer(verbatim(raw, head, Some((answer, id))))
            });
        }
    }
    Own::Other
}

fn verbatim<'a>(raw: &'a RawValue, head: Head<'_>, link: Option<Link>) -> Verbatim<'a> {
    let encrypted = head.encrypted_content.is_some_and(|text| !text.is_empty());
    let named = head.id.as_deref();
    let well_named = named.is_none_or(|id| id.starts_with(REASONING_ID_PREFIX));
    Verbatim {
        raw,
        signed: encrypted && well_named,
        id: head.id,
        link,
    }
}

/// The links of all items whose answer comes after them.
pub(super) fn answered_links(transcript: &Transcript) -> BTreeSet<Link> {
    let (mut open, mut answered) = (BTreeSet::new(), BTreeSet::new());
    let turns = transcript.turns.iter();
    let speakers = turns.filter(|turn| matches!(turn.role, Role::User | Role::Assistant));
    for part in speakers.flat_map(|turn| &turn.parts) {
        match own_part(part).map(recognise) {
            Some(Own::Made(made)) => open.extend(made.link),
            Some(Own::Answer(answer)) => {
                answered.extend(answer.link.filter(|link| open.contains(link)));
            }
            Some(
                Own::MessageMark { .. } | Own::CallMark { .. } | Own::Reasoning(_) | Own::Other,
            )
            | None => {}
        }
    }
    answered
}

/// The item, where the part is one of this provider.
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

/// The text of a [`Own::MessageMark`].
pub(super) fn message_mark(phase: Option<&str>) -> String {
    written(&Mark::Message { phase })
}

/// The text of a [`Own::CallMark`].
pub(super) fn call_mark(index: usize) -> String {
    written(&Mark::FunctionCall { index })
}

fn written(mark: &Mark<'_>) -> String {
    serde_json::to_string(mark).unwrap_or_default()
}
