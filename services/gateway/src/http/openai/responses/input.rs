//! The input of a request, as items to record.

use domain::{ConversationKey, Version, ViolationReason};
use openai_api::items::item_id::ItemId;
use openai_api::items::new_item::read;
use openai_api::responses::request::RESPONSE_ITEMS_MAX;
use runtime::http::HttpProblem;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use crate::http::openai::caller::OpenAiCaller;
use crate::http::openai::conversations::items::NewItems;
use crate::http::openai::conversations::items::find_item::find;
use crate::http::openai::conversations::items::new_items::unresolved;
use http_listener::state::HttpState;

/// The name of the field in errors.
pub(super) const INPUT: &str = "input";

/// The items of the field `input`: a text is a message of the user.
///
/// # Errors
/// 400: it is neither a text nor a list of items, or is empty.
pub(super) fn raw_items(input: Option<&RawValue>) -> Result<Vec<Box<RawValue>>, HttpProblem> {
    let missing = || {
        let detail = "input is missing or empty: send a text or items";
        HttpProblem::of_field(ViolationReason::Missing, INPUT, detail)
    };
    let input = input.ok_or_else(missing)?;
    if let Ok(text) = serde_json::from_str::<String>(input.get()) {
        let message = json!({"type": "message", "role": "user", "content": text});
        return Ok(to_raw_value(&message).into_iter().collect());
    }
    let items = serde_json::from_str::<Vec<Box<RawValue>>>(input.get()).map_err(|_| {
        let detail = "input is neither a text nor a list of items";
        HttpProblem::of_field(ViolationReason::Malformed, INPUT, detail)
    })?;
    if items.is_empty() {
        return Err(missing());
    }
    Ok(items)
}

/// The part of a conversation that a response continues.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContinuedHistory<'a> {
    /// The conversation.
    pub(super) key: &'a ConversationKey,
    /// Its last version that the model reads.
    pub(super) through: Version,
}

/// Reads items, and replaces references by copies of the items that they name. References to items of the `continued` history are
/// left out: the model reads them anyway.
///
/// # Errors
/// 400: an item is invalid, or a reference names no item that the caller may read.
pub(super) async fn resolved(
    state: &HttpState,
    caller: &OpenAiCaller,
    items: &[Box<RawValue>],
    continued: Option<ContinuedHistory<'_>>,
) -> Result<NewItems, HttpProblem> {
    let mut new = NewItems::read_field(INPUT, RESPONSE_ITEMS_MAX, items)?;
    let mut known = Vec::new();
    for (index, id) in new.references() {
        let Some(named) = ItemId::parse(&id) else {
            return Err(unresolved(INPUT, index));
        };
        let target = caller.target(state, &named.conversation).await.map_err(|_| unresolved(INPUT, index))?;
        let snapshot = caller.open(state, &target).await.map_err(|_| unresolved(INPUT, index))?;
        let found = find(&snapshot, &id).await?.ok_or_else(|| unresolved(INPUT, index))?;
        let is_read =
            |history: ContinuedHistory<'_>| *history.key == target.key && found.place.version <= history.through;
        if continued.is_some_and(is_read) {
            known.push(index);
            continue;
        }
        let copy = read(&found.json, &format!("{INPUT}[{index}]"));
        new.resolve(index, copy?);
    }
    new.remove(&known);
    Ok(new)
}

/// The items without the user's messages at the beginning that the conversation contains already, if the client is known to send
/// them again: the AI SDK does so next to `conversation`. The last item is always new.
pub(super) fn without_repeated(items: Vec<Box<RawValue>>, recorded: &[String]) -> Vec<Box<RawValue>> {
    let repeated = items.len() > recorded.len()
        && items.iter().zip(recorded).all(|(item, recorded)| user_text(item).as_deref() == Some(recorded));
    let first = if repeated { recorded.len() } else { 0 };
    items.into_iter().skip(first).collect()
}

/// The text of a user's message; `None`: it is another item, or has other parts.
pub(super) fn user_text(item: &RawValue) -> Option<String> {
    let item: serde_json::Value = serde_json::from_str(item.get()).ok()?;
    if item.get("role")?.as_str()? != "user" {
        return None;
    }
    let content = item.get("content")?;
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let parts = content.as_array()?.iter();
    parts.map(|part| part.get("text")?.as_str()).collect()
}

/// Whether the client sends the user's earlier messages again next to a conversation. The AI SDK names itself
/// `ai/7.0.173 ai-sdk-provider-utils/5.0.81`, or `ai-sdk/openai/…` in earlier releases.
pub(super) fn repeats_messages(user_agent: Option<&str>) -> bool {
    user_agent.is_some_and(|agent| agent.contains("ai-sdk"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(list: &serde_json::Value) -> Vec<Box<RawValue>> {
        serde_json::from_str(&list.to_string()).unwrap()
    }

    #[test]
    fn an_input_is_a_text_or_items() {
        let check = |input: &serde_json::Value, expected: Option<usize>| {
            let raw = to_raw_value(input).unwrap();
            let found = raw_items(Some(&raw));
            assert_eq!(found.ok().map(|items| items.len()), expected, "{input}");
        };
        check(&json!("hello"), Some(1));
        check(&json!(""), Some(1));
        check(&json!([{}, 1]), Some(2));
        check(&json!([]), None);
        check(&json!({}), None);
        assert!(raw_items(None).is_err());
    }

    #[test]
    fn repeated_messages_are_left_out() {
        let user = |text: &str| json!({"role": "user", "content": text});
        let parts = json!({"role": "user", "content": [{"type": "input_text", "text": "a"}]});
        let check = |given: serde_json::Value, recorded: &[&str], expected: usize| {
            let recorded: Vec<String> = recorded.iter().map(|&text| text.to_owned()).collect();
            let left = without_repeated(items(&given), &recorded);
            assert_eq!(left.len(), expected, "{given}");
        };
        check(json!([user("a")]), &[], 1);
        check(json!([user("a"), user("b")]), &["a"], 1);
        check(json!([parts, user("b")]), &["a"], 1);
        // The last item is new, also if its text was said before.
        check(json!([user("a")]), &["a"], 1);
        check(json!([user("a"), user("c")]), &["a", "b"], 2);
        check(json!([user("b"), user("c")]), &["a"], 2);
    }
}
