//! Recorded events, as items.

use std::collections::BTreeMap;

use domain::event::{MessageAppended, RecordedEvent, Role, ToolCalled, ToolOutput, ToolReturned};
use domain::{Fact, Label, Part};
use runs::fold::INTERRUPTED;
use runs::outcome::is_length;
use serde_json::value::{RawValue, to_raw_value};

use super::PROVIDER;
use super::content::{Author, content_part};
use super::item_id::{ItemId, ItemPlace, prefix};
use super::members::{Members, put, text};
use super::note::Note;

/// An item as clients get it.
#[derive(Debug)]
pub struct StoredItem {
    /// Its place.
    pub place: ItemPlace,
    /// Its id: the client's, or an [`ItemId`].
    pub id: String,
    /// The item.
    pub json: Box<RawValue>,
}

/// The items of an event of a conversation, which has this id in the API; in order. At least one for a message, a call and a
/// result, none for other events and for a message of a model that only calls tools.
///
/// # Errors
/// A document of the event is not JSON.
pub fn items(event: &RecordedEvent, conversation: &str) -> serde_json::Result<Vec<StoredItem>> {
    let note = Note::of(&event.event);
    let items = match &event.event.fact {
        Fact::MessageAppended(message) => message_items(message, &note)?,
        Fact::ToolCalled(call) => vec![call_members(call)?],
        Fact::ToolReturned(result) => vec![output_members(result, &note)?],
        Fact::Annotation(_) | Fact::Lifecycle(_) => Vec::new(),
    };
    let is_cut = matches!(&event.event.fact, Fact::MessageAppended(message) if is_cut(message));
    let mut ordinals = BTreeMap::<&str, usize>::new();
    let items = items.into_iter().enumerate().map(|(index, mut item)| {
        if index == 0 {
            item.extend(note.members.clone());
        }
        let noted = note.id.clone().filter(|_| index == 0);
        let own = noted.or_else(|| text(&item, "id").filter(|id| !id.is_empty()));
        let item_type = text(&item, "type").unwrap_or_default();
        if is_cut && item_type == "message" {
            put(&mut item, "status", "incomplete")?;
        }
        let ordinal = ordinals.entry(prefix(&item_type)).or_default();
        let made = ItemId {
            event: event.event.id,
            version: event.version,
            ordinal: *ordinal,
            conversation: conversation.to_owned(),
        };
        *ordinal += 1;
        let id = own.unwrap_or_else(|| made.text(&item_type));
        put(&mut item, "id", &id)?;
        let json = to_raw_value(&item)?;
        let place = ItemPlace { version: event.version, index };
        Ok(StoredItem { place, id, json })
    });
    items.collect()
}

/// The members of a call, except its id.
pub(crate) fn call_members(call: &ToolCalled) -> serde_json::Result<Members> {
    let mut members = typed("function_call")?;
    put(&mut members, "call_id", call.call_id.as_str())?;
    put(&mut members, "name", call.tool_name.as_str())?;
    put(&mut members, "arguments", call.input.as_str())?;
    Ok(members)
}

/// The members of an output, except its id.
pub(crate) fn output_members(result: &ToolReturned, note: &Note) -> serde_json::Result<Members> {
    let mut members = typed("function_call_output")?;
    put(&mut members, "call_id", result.call_id.as_str())?;
    match &result.output {
        ToolOutput::Json(document) => put(&mut members, "output", document.as_str())?,
        ToolOutput::Parts(parts) => match parts.as_slice() {
            [] if !note.list => put(&mut members, "output", "")?,
            [Part::Text(text)] if !note.list => put(&mut members, "output", text)?,
            parts => {
                let content = content(parts, Author::Client, note)?;
                put(&mut members, "output", &content)?;
            }
        },
    }
    Ok(members)
}

/// The members of a message, except its id and its content. `own` are the members of its mark.
pub(crate) fn message_members(role: Role, own: &Members) -> serde_json::Result<Members> {
    let mut members = typed("message")?;
    put(&mut members, "role", role.as_str())?;
    if let Some(phase) = own.get("phase") {
        put(&mut members, "phase", phase)?;
    }
    Ok(members)
}

/// The members of the mark before the parts of a message, which contains its phase.
#[must_use]
pub fn own_members(parts: &[Part]) -> Option<Members> {
    let members = provider_item(parts.first()?)?;
    is_message_mark(&members).then_some(members)
}

fn typed(item_type: &str) -> serde_json::Result<Members> {
    let mut members = Members::new();
    put(&mut members, "type", item_type)?;
    put(&mut members, "status", "completed")?;
    Ok(members)
}

fn provider_item(part: &Part) -> Option<Members> {
    let Part::ProviderItem { provider, item } = part else {
        return None;
    };
    if provider.as_str() != PROVIDER {
        return None;
    }
    serde_json::from_str(item.as_str()).ok()
}

fn is_message_mark(members: &Members) -> bool {
    text(members, "type").as_deref() == Some("message") && !members.contains_key("content")
}

/// The types of items that clients send without a status, and get with one.
const WITH_STATUS: [&str; 8] = [
    "message",
    "function_call",
    "function_call_output",
    "computer_call_output",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
];

/// A verbatim item with its status, with who executes a search of tools, and with a list as the content of a message.
fn completed(mut item: Members) -> serde_json::Result<Members> {
    let item_type = text(&item, "type").unwrap_or_default();
    if WITH_STATUS.contains(&item_type.as_str()) && text(&item, "status").is_none() {
        put(&mut item, "status", "completed")?;
    }
    if item_type.starts_with("tool_search_") && text(&item, "execution").is_none() {
        // Only a search that the client executes has the id of a call.
        let has_call = text(&item, "call_id").is_some();
        put(&mut item, "execution", if has_call { "client" } else { "server" })?;
    }
    if let ("message", Some(text)) = (item_type.as_str(), text(&item, "content")) {
        let part = content_part(&Part::Text(text), Author::Client)?;
        put(&mut item, "content", &[part])?;
    }
    Ok(item)
}

/// A mark of the position of a call in its turn, which is no item.
fn is_call_mark(members: &Members) -> bool {
    text(members, "type").as_deref() == Some("function_call") && !members.contains_key("call_id")
}

fn message_items(message: &MessageAppended, note: &Note) -> serde_json::Result<Vec<Members>> {
    if message.role != Role::Assistant {
        return Ok(vec![whole_message(message, Author::Client, note)?]);
    }
    if note.whole {
        return Ok(vec![whole_message(message, Author::Model, note)?]);
    }
    let (mut items, mut open) = (Vec::new(), OpenMessage::default());
    for part in &message.parts {
        match (provider_item(part), part) {
            (Some(own), _) => {
                items.extend(open.close(note)?);
                if is_message_mark(&own) {
                    open.own = own;
                } else if !is_call_mark(&own) {
                    items.push(completed(own)?);
                }
            }
            (None, Part::Thinking { text, .. }) => {
                items.extend(open.close(note)?);
                items.push(thought(text)?);
            }
            (None, part) => open.parts.push(part.clone()),
        }
    }
    items.extend(open.close(note)?);
    if items.is_empty() && !is_of_model(message) {
        items.push(whole_message(message, Author::Model, note)?);
    }
    Ok(items)
}

/// Whether a model stopped before the end of its message.
fn is_cut(message: &MessageAppended) -> bool {
    let reason = message.finish_reason.as_ref().map(Label::as_str);
    reason.is_some_and(|reason| reason == INTERRUPTED || is_length(reason))
}

/// Whether a model of Hansard wrote a message, so that one without content only carries the usage of its calls.
fn is_of_model(message: &MessageAppended) -> bool {
    message.usage.is_some() || message.finish_reason.is_some() || message.model.is_some()
}

/// The message of the assistant that the next parts belong to.
#[derive(Default)]
struct OpenMessage {
    own: Members,
    parts: Vec<Part>,
}

impl OpenMessage {
    fn close(&mut self, note: &Note) -> serde_json::Result<Option<Members>> {
        let parts = std::mem::take(&mut self.parts);
        let content = content(&parts, Author::Model, note)?;
        if content.is_empty() {
            return Ok(None);
        }
        let own = std::mem::take(&mut self.own);
        let mut members = message_members(Role::Assistant, &own)?;
        put(&mut members, "content", &content)?;
        Ok(Some(members))
    }
}

fn whole_message(message: &MessageAppended, author: Author, note: &Note) -> serde_json::Result<Members> {
    let own = own_members(&message.parts).filter(|_| author == Author::Model);
    let parts = message.parts.get(usize::from(own.is_some())..);
    let mut members = message_members(message.role, &own.unwrap_or_default())?;
    let content = content(parts.unwrap_or_default(), author, note)?;
    put(&mut members, "content", &content)?;
    Ok(members)
}

/// The list of parts, with what the note contains of each.
fn content(parts: &[Part], author: Author, note: &Note) -> serde_json::Result<Vec<Members>> {
    let mut list = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let Some(mut members) = content_part(part, author)? else {
            continue;
        };
        members.extend(note.parts.get(&index).cloned().unwrap_or_default());
        list.push(members);
    }
    Ok(list)
}

/// A thought of a model of any provider.
fn thought(text: &str) -> serde_json::Result<Members> {
    let mut members = Members::new();
    put(&mut members, "type", "reasoning")?;
    let mut summary = Members::new();
    put(&mut summary, "type", "summary_text")?;
    put(&mut summary, "text", text)?;
    let list = if text.is_empty() { vec![] } else { vec![summary] };
    put(&mut members, "summary", &list)?;
    Ok(members)
}
