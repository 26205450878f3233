//! Renders the provider's own items, where the provider accepts them.

use std::borrow::Cow;

use domain::{JsonText, Label, Part};
use serde_json::value::{RawValue, to_raw_value};

use super::PROVIDER;
use super::blocks::{Block, Content, Kind};
use super::object::Object;
use super::target::Target;

/// The field of a block that sets a cache breakpoint.
const BREAKPOINT: &str = "cache_control";
/// Types of blocks with canonical forms. Items of these types are not rendered, because they would bypass the rules.
#[rustfmt::skip]
const CANONICAL_TYPES: [&str; 5] = ["text", "thinking", "redacted_thinking", "tool_use", "tool_result"];
/// Types of items that only user messages may contain.
const USER_TYPES: [&str; 4] = ["image", "document", "search_result", "container_upload"];
/// Types of items that a tool result may contain.
const RESULT_TYPES: [&str; 4] = ["image", "document", "search_result", "tool_reference"];
/// Suffixes of the types of the provider's own tools, which only assistant messages may contain.
const SERVER_TOOL_SUFFIXES: [&str; 2] = ["_tool_use", "_tool_result"];

/// The item as a verbatim block, if it is Anthropic's and the target accepts it.
pub(super) fn block<'a>(provider: &Label, item: &'a JsonText, target: Target) -> Option<Block<'a>> {
    if provider.as_str() != PROVIDER {
        return None;
    }
    let mut fields = Object::parse(item.as_str())?;
    let kind: String = serde_json::from_str(fields.get("type")?.get()).ok()?;
    if !accepts(target, &kind) {
        return None;
    }
    if fields.get(BREAKPOINT).is_none() {
        let item: &RawValue = serde_json::from_str(item.as_str()).ok()?;
        return Some(Block::Verbatim(Cow::Borrowed(item)));
    }
    // The number of breakpoints of a request is limited, so rendering sets them, and recorded ones are removed.
    fields.0.retain(|(name, _)| name != BREAKPOINT);
    Some(Block::Verbatim(Cow::Owned(to_raw_value(&fields).ok()?)))
}

/// The item, if it is the list of citations of the text before it.
pub(super) fn citations(part: &Part) -> Option<&JsonText> {
    let Part::ProviderItem { provider, item } = part else {
        return None;
    };
    let is_list = item.as_str().trim_start().starts_with('[');
    (provider.as_str() == PROVIDER && is_list).then_some(item)
}

/// Adds citations to the text block before them. Returns whether there is such a block.
pub(super) fn cite<'a>(previous: Option<&Part>, written: Option<&mut Block<'a>>, item: &'a JsonText) -> bool {
    let follows_text = matches!(previous, Some(Part::Text(text)) if !text.trim().is_empty());
    let Some(Block::Content(Content { kind: Kind::Text { citations, .. }, .. })) = written.filter(|_| follows_text)
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

/// Whether the target accepts an item of this type. Unknown types are accepted in the role that had them.
fn accepts(target: Target, kind: &str) -> bool {
    let mut suffixes = SERVER_TOOL_SUFFIXES.iter();
    let is_server_tools = suffixes.any(|suffix| kind.ends_with(suffix));
    match target {
        _ if CANONICAL_TYPES.contains(&kind) => false,
        Target::System | Target::FailedToolResult => false,
        Target::Instructions | Target::User => !is_server_tools,
        Target::Assistant | Target::ThinkingAssistant => !USER_TYPES.contains(&kind),
        Target::ToolResult => RESULT_TYPES.contains(&kind),
    }
}
