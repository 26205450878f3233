//! The provider's own items: which go back, and where.

use std::borrow::Cow;

use domain::{JsonText, Label, Part};
use serde_json::value::{RawValue, to_raw_value};

use super::PROVIDER;
use super::blocks::{Block, Content, Kind};
use super::object::Object;
use super::place::Place;

/// The field of a block that sets a breakpoint of the cache.
const BREAKPOINT: &str = "cache_control";
/// The blocks that have canonical forms: an item that is one of them would go round their rules.
const CANONICAL_TYPES: [&str; 5] = [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
];

/// The items that only the user shows.
const SHOWN_BY_USERS: [&str; 4] = ["image", "document", "search_result", "container_upload"];
/// The items that a tool's result can hold.
const SHOWN_BY_TOOLS: [&str; 4] = ["image", "document", "search_result", "tool_reference"];
/// How the names of the provider's own tools' blocks end: they are the assistant's.
const SERVER_TOOL_ENDINGS: [&str; 2] = ["_tool_use", "_tool_result"];

/// The item, verbatim, if it is Anthropic's and can stand here.
pub(super) fn block<'a>(provider: &Label, item: &'a JsonText, place: Place) -> Option<Block<'a>> {
    if provider.as_str() != PROVIDER {
        return None;
    }
    let mut fields = Object::parse(item.as_str())?;
    let kind: String = serde_json::from_str(fields.get("type")?.get()).ok()?;
    if !takes(place, &kind) {
        return None;
    }
    if fields.get(BREAKPOINT).is_none() {
        let item: &RawValue = serde_json::from_str(item.as_str()).ok()?;
        return Some(Block::Verbatim(Cow::Borrowed(item)));
    }
    // A request may have few breakpoints, so they are set for the whole of it, and an old one is not kept.
    fields.0.retain(|(name, _)| name != BREAKPOINT);
    Some(Block::Verbatim(Cow::Owned(to_raw_value(&fields).ok()?)))
}

/// The item, if it is the citations of the text before it: the one item of Anthropic's that is a list.
pub(super) fn citations(part: &Part) -> Option<&JsonText> {
    let Part::ProviderItem { provider, item } = part else {
        return None;
    };
    let is_list = item.as_str().trim_start().starts_with('[');
    (provider.as_str() == PROVIDER && is_list).then_some(item)
}

/// Gives the text before them its citations back, if it is there.
pub(super) fn cite<'a>(
    previous: Option<&Part>,
    written: Option<&mut Block<'a>>,
    item: &'a JsonText,
) -> bool {
    let follows_text = matches!(previous, Some(Part::Text(text)) if !text.trim().is_empty());
    let Some(Block::Content(Content {
        kind: Kind::Text { citations, .. },
        ..
    })) = written.filter(|_| follows_text)
    else {
        return false;
    };
    let list: Vec<&RawValue> = serde_json::from_str(item.as_str()).unwrap_or_default();
    if list.is_empty() || list.iter().any(|entry| !entry.get().starts_with('{')) {
        return false;
    }
    *citations = serde_json::from_str(item.as_str()).ok();
    citations.is_some()
}

/// Whether an item of this type can stand here. One that is not known yet stands with whoever brought it.
fn takes(place: Place, kind: &str) -> bool {
    let is_server_tools = SERVER_TOOL_ENDINGS
        .iter()
        .any(|ending| kind.ends_with(ending));
    match place {
        _ if CANONICAL_TYPES.contains(&kind) => false,
        Place::System | Place::FailedToolResult => false,
        Place::Instructions | Place::User => !is_server_tools,
        Place::Assistant | Place::ThinkingAssistant => !SHOWN_BY_USERS.contains(&kind),
        Place::ToolResult => SHOWN_BY_TOOLS.contains(&kind),
    }
}
