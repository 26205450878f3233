//! Items of a request, as events.

use domain::event::{MessageAppended, Role, ToolOutput};
use domain::{Fact, JsonText, Label, Part, Violation, ViolationReason};
use formats::{Format, ParseError};
use serde_json::value::RawValue;

use super::PROVIDER;
use super::content::{Author, content_part, entries};
use super::item_id::{ITEM_ID_CHARS_MAX, ItemId};
use super::members::{Members, extras, text};
use super::note::Note;
use super::stored_item::{call_members, output_members, own_members};

/// An item of a request.
#[derive(Debug)]
pub enum NewItem {
    /// An event.
    Event(Box<ItemEvent>),
    /// A reference to an item of the conversation, by its id.
    Reference(String),
}

/// An item as an event.
#[derive(Debug)]
pub struct ItemEvent {
    /// What the record contains.
    pub fact: Fact,
    note: Note,
    /// The item, for an event of another kind.
    item: Members,
}

/// Reads an item. `at` is the name of the item in errors, such as `items[2]`.
///
/// # Errors
/// The item is not an object, or has a value that no event can contain.
pub fn read(raw: &RawValue, at: &str) -> Result<NewItem, Violation> {
    let item = serde_json::from_str::<Members>(raw.get()).map_err(|_| malformed("is not an object").within(at))?;
    check_id(&item).map_err(|violation| violation.within("id").within(at))?;
    let kind = match item.get("type") {
        None => "message".to_owned(),
        Some(_) => text(&item, "type").ok_or_else(|| malformed("is not a string").within("type").within(at))?,
    };
    if kind == "item_reference" {
        let id = text(&item, "id").ok_or_else(|| missing().within("id").within(at))?;
        return Ok(NewItem::Reference(id));
    }
    let event = event(item, &kind, raw, at)?;
    Ok(NewItem::Event(Box::new(event)))
}

fn event(item: Members, kind: &str, raw: &RawValue, at: &str) -> Result<ItemEvent, Violation> {
    let event = match kind {
        "message" => match role(&item) {
            Some(role) => message(&item, role, raw, at)?,
            None if !item.contains_key("role") => return Err(missing().within("role").within(at)),
            None if !item.contains_key("content") => {
                return Err(missing().within("content").within(at));
            }
            None => return ItemEvent::verbatim(item).map_err(|violation| violation.within(at)),
        },
        "function_call" => canonical(&item, &["call_id", "name", "arguments"], raw, at)?,
        "function_call_output" => canonical(&item, &["call_id", "output"], raw, at)?,
        _ => return ItemEvent::verbatim(item).map_err(|violation| violation.within(at)),
    };
    Ok(ItemEvent { fact: event.0, note: Note { id: own_id(&item), ..event.1 }, item })
}

impl ItemEvent {
    /// The id that the client gave the item.
    #[must_use]
    pub fn given_id(&self) -> Option<String> {
        text(&self.item, "id")
    }

    /// The item as a provider item, which any conversation can contain at any place.
    ///
    /// # Errors
    /// It has too many levels.
    pub fn verbatim(mut item: Members) -> Result<Self, Violation> {
        if own_id(&item).is_none() {
            item.remove("id");
        }
        let json = serde_json::to_string(&item).unwrap_or_default();
        let part = Part::ProviderItem { provider: Label::parse(PROVIDER)?, item: JsonText::parse(json)? };
        let message = MessageAppended::new(Role::Assistant, vec![part]);
        Ok(Self { fact: Fact::MessageAppended(message), note: Note::default(), item })
    }

    /// The same item as a provider item.
    ///
    /// # Errors
    /// As [`ItemEvent::verbatim`].
    pub fn into_verbatim(self) -> Result<Self, Violation> {
        Self::verbatim(self.item)
    }

    /// The fact, and the metadata of the event.
    ///
    /// # Errors
    /// What the fact does not contain is too long for metadata, or contains U+0000.
    pub fn into_parts(self) -> Result<(Fact, String), Violation> {
        Ok((self.fact, self.note.into_metadata()?))
    }
}

/// The client's id of an item. An id that Hansard made names another event, so that it is not kept.
fn own_id(item: &Members) -> Option<String> {
    text(item, "id").filter(|id| !id.is_empty() && ItemId::parse(id).is_none())
}

fn check_id(item: &Members) -> Result<(), Violation> {
    match item.get("id") {
        None => Ok(()),
        Some(raw) if raw.get() == "null" => Ok(()),
        Some(_) => {
            let id = text(item, "id").ok_or_else(|| malformed("is not a string"))?;
            if id.chars().count() > ITEM_ID_CHARS_MAX {
                let rule = format!("is longer than {ITEM_ID_CHARS_MAX} characters");
                return Err(Violation::new(ViolationReason::TooLong, rule));
            }
            Ok(())
        }
    }
}

fn role(item: &Members) -> Option<Role> {
    let name = text(item, "role")?;
    Role::ALL.into_iter().find(|role| role.as_str() == name)
}

fn message(item: &Members, role: Role, raw: &RawValue, at: &str) -> Result<(Fact, Note), Violation> {
    let content = item.get("content").ok_or_else(|| missing().within("content").within(at))?;
    let fact = match facts(raw, at)? {
        Some(Fact::MessageAppended(message)) => message,
        _ => MessageAppended::new(role, Vec::new()),
    };
    let own = own_members(&fact.parts);
    let parts = fact.parts.get(usize::from(own.is_some())..).unwrap_or_default();
    let author = match role {
        Role::Assistant => Author::Model,
        Role::User | Role::System | Role::Developer => Author::Client,
    };
    let mut note = Note { whole: author == Author::Model && parts.iter().any(is_provider_item), ..Note::default() };
    let rendered = super::stored_item::message_members(role, &own.unwrap_or_default())
        .map_err(|_| malformed("cannot be written").within(at))?;
    note.members = extras(item, &rendered, &["id", "content"]);
    note_parts(&mut note, "content", content, parts, author);
    Ok((Fact::MessageAppended(fact), note))
}

fn is_provider_item(part: &Part) -> bool {
    matches!(part, Part::ProviderItem { .. })
}

/// Notes what the parts of a list do not contain; the whole value if they have another number.
fn note_parts(note: &mut Note, name: &str, given: &RawValue, parts: &[Part], author: Author) {
    if given.get().starts_with('"') {
        return;
    }
    let listed = entries(given).unwrap_or_default();
    if listed.len() != parts.len() {
        note.members.insert(name.to_owned(), given.to_owned());
        return;
    }
    for (index, (given, part)) in listed.iter().zip(parts).enumerate() {
        let rendered = content_part(part, author).ok().flatten();
        let more = extras(given, &rendered.unwrap_or_default(), &[]);
        if !more.is_empty() {
            note.parts.insert(index, more);
        }
    }
}

/// A call or an output of one, which has these members.
fn canonical(item: &Members, required: &[&str], raw: &RawValue, at: &str) -> Result<(Fact, Note), Violation> {
    let is_absent = |name: &str| item.get(name).is_none_or(|value| value.get() == "null");
    if let Some(name) = required.iter().find(|name| is_absent(name)) {
        return Err(missing().within(*name).within(at));
    }
    let fact = facts(raw, at)?.ok_or_else(|| malformed("has no contents").within(at))?;
    let mut note = Note::default();
    let members = match &fact {
        Fact::ToolCalled(call) => call_members(call),
        Fact::ToolReturned(result) => {
            if let (ToolOutput::Parts(parts), Some(given)) = (&result.output, item.get("output")) {
                note.list = !given.get().starts_with('"');
                note_parts(&mut note, "output", given, parts, Author::Client);
            }
            output_members(result, &note)
        }
        Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => Ok(Members::new()),
    };
    let rendered = members.map_err(|_| malformed("cannot be written").within(at))?;
    let without = if note.list { &["id", "output"][..] } else { &["id"] };
    note.members.extend(extras(item, &rendered, without));
    Ok((fact, note))
}

/// The fact of one item; `None`: it is a message without content.
fn facts(raw: &RawValue, at: &str) -> Result<Option<Fact>, Violation> {
    let body = format!("{{\"input\":[{}]}}", raw.get());
    let facts = formats::parse_history(Format::OpenAiResponses, body.as_bytes())
        .map_err(|error| from_parse_error(error, at))?;
    Ok(facts.into_iter().next())
}

fn from_parse_error(error: ParseError, at: &str) -> Violation {
    match error {
        ParseError::Unusable { field, reason } => {
            let of_item = field.relative_to("input[0]").map(|inner| inner.within(at));
            malformed(reason).within(of_item.unwrap_or(field))
        }
        ParseError::Malformed { reason, .. } => {
            let reason = reason.replace("input[0]", at);
            malformed(format!("is not an item: {reason}")).within(at)
        }
        ParseError::Failed { .. } | ParseError::Incomplete => malformed("is not an item").within(at),
    }
}

fn malformed(rule: impl Into<String>) -> Violation {
    Violation::new(ViolationReason::Malformed, rule)
}

fn missing() -> Violation {
    Violation::new(ViolationReason::Missing, "is missing: add it")
}
