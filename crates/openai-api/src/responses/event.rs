//! The events of a stream, and their numbers.

use serde_json::{Value, json};

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseEvent {
    /// The number: 0, 1, 2 … without gaps.
    pub number: u64,
    /// The type.
    pub name: &'static str,
    /// All members.
    pub body: Value,
}

impl ResponseEvent {
    /// The server-sent event. It ends with a blank line: clients drop the last event otherwise.
    #[must_use]
    pub fn frame(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.name, self.body)
    }
}

/// Numbers events and collects them until they are taken.
#[derive(Debug, Default)]
pub struct Events {
    next: u64,
    waiting: Vec<ResponseEvent>,
}

impl Events {
    /// Adds an event; `members` is an object.
    pub fn add(&mut self, name: &'static str, mut members: Value) {
        if let Some(members) = members.as_object_mut() {
            members.insert("type".to_owned(), name.into());
            members.insert("sequence_number".to_owned(), self.next.into());
        }
        self.waiting.push(ResponseEvent { number: self.next, name, body: members });
        self.next += 1;
    }

    /// The events since the last call.
    pub fn take(&mut self) -> Vec<ResponseEvent> {
        std::mem::take(&mut self.waiting)
    }
}

/// An item of the stream, as its events name it.
#[derive(Debug, Clone)]
pub struct ItemName {
    /// The item's id.
    pub id: String,
    /// Its index among the items of the stream.
    pub output_index: usize,
}

impl ItemName {
    /// The members of an event of the item: its name, and `more`.
    #[must_use]
    pub fn with(&self, more: Value) -> Value {
        let mut members = json!({"item_id": self.id, "output_index": self.output_index});
        if let (Some(members), Value::Object(more)) = (members.as_object_mut(), more) {
            members.extend(more);
        }
        members
    }

    /// The members of an event with the item itself.
    #[must_use]
    pub fn with_item(&self, mut item: Value) -> Value {
        if let Some(item) = item.as_object_mut() {
            item.insert("id".to_owned(), self.id.clone().into());
        }
        json!({"output_index": self.output_index, "item": item})
    }
}
