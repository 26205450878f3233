//! The items of a stream, in the order of their first deltas.

use domain::{CallId, ToolName};
use serde_json::{Value, json};

use super::event::{Events, ItemName};
use super::streamed_item::{PartKind, Streamed, StreamedCall, StreamedPart, summary_part};
use crate::items::stored_item::StoredItem;
use crate::responses::output::OutputPlace;

/// The items of a stream.
#[derive(Debug, Default)]
pub struct OpenItems {
    items: Vec<OpenItem>,
    /// The number of items of finished steps.
    finished: usize,
}

/// An item of the stream.
#[derive(Debug)]
struct OpenItem {
    name: ItemName,
    streamed: Streamed,
    /// The index of a call in its step.
    call: Option<u32>,
    is_done: bool,
}

/// The ids of the items of a step: its message is the event with index `offset`, its calls follow.
#[derive(Debug, Clone, Copy)]
pub struct StepIds<'a> {
    /// Where the events are recorded.
    pub place: &'a OutputPlace,
    /// The number of events of the run before the step.
    pub offset: usize,
}

impl StepIds<'_> {
    fn id(self, item_type: &str, ordinal: usize) -> String {
        if item_type == "function_call" {
            let event = self.offset + 1 + ordinal;
            return self.place.item_id(event, item_type, 0);
        }
        self.place.item_id(self.offset, item_type, ordinal)
    }
}

impl OpenItems {
    /// A delta of a text or a refusal. A message continues until thoughts follow it.
    pub fn content(&mut self, events: &mut Events, ids: StepIds<'_>, kind: PartKind, delta: &str) {
        self.end_reasoning(events);
        let is_open = |item: &&mut OpenItem| matches!(item.streamed, Streamed::Message(_)) && !item.is_done;
        if self.items.iter_mut().rev().find(is_open).is_none() {
            self.begin(events, ids, Streamed::Message(Vec::new()));
        }
        let Some(item) = self.items.iter_mut().rev().find(is_open) else {
            return;
        };
        let Streamed::Message(parts) = &mut item.streamed else {
            return;
        };
        if parts.last().is_none_or(|part| part.kind != kind) {
            let part = StreamedPart::new(kind);
            part.begin(parts.len(), &item.name, events);
            parts.push(part);
        }
        let index = parts.len().saturating_sub(1);
        if let Some(part) = parts.last_mut() {
            part.push(index, delta, &item.name, events);
        }
    }

    /// A delta of thoughts.
    pub fn thought(&mut self, events: &mut Events, ids: StepIds<'_>, delta: &str) {
        let is_open = |item: &OpenItem| matches!(item.streamed, Streamed::Reasoning(_)) && !item.is_done;
        if !self.items.last().is_some_and(is_open) {
            self.end_message(events);
            let name = self.begin(events, ids, Streamed::Reasoning(String::new()));
            let members = json!({"summary_index": 0, "part": summary_part("")});
            events.add("response.reasoning_summary_part.added", name.with(members));
        }
        if let Some(item) = self.items.last_mut()
            && let Streamed::Reasoning(summary) = &mut item.streamed
        {
            summary.push_str(delta);
            let members = item.name.with(json!({"summary_index": 0, "delta": delta}));
            events.add("response.reasoning_summary_text.delta", members);
        }
    }

    /// A call begins.
    pub fn call(&mut self, events: &mut Events, ids: StepIds<'_>, index: u32, call: StreamedCall) {
        self.end_reasoning(events);
        self.begin(events, ids, Streamed::Call(call));
        if let Some(item) = self.items.last_mut() {
            item.call = Some(index);
        }
    }

    /// A delta of the input of a call.
    pub fn call_input(&mut self, events: &mut Events, index: u32, delta: &str) {
        let open = self.items.iter_mut().rev().find(|item| item.call == Some(index) && !item.is_done);
        if let Some(item) = open
            && let Streamed::Call(call) = &mut item.streamed
        {
            call.arguments.push_str(delta);
            let members = item.name.with(json!({"delta": delta}));
            events.add("response.function_call_arguments.delta", members);
        }
    }

    /// The step is over: ends its items, and adds those that were not streamed.
    pub fn finish(&mut self, events: &mut Events, complete: &[StoredItem]) {
        for item in self.items.iter_mut().skip(self.finished) {
            let recorded = complete.iter().find(|whole| whole.id == item.name.id);
            item.end(events, recorded);
        }
        for whole in complete {
            let mut streamed = self.items.iter().skip(self.finished);
            if streamed.all(|item| item.name.id != whole.id) {
                self.add_whole(events, whole);
            }
        }
        self.finished = self.items.len();
    }

    /// Adds an item and its first event.
    fn begin(&mut self, events: &mut Events, ids: StepIds<'_>, streamed: Streamed) -> ItemName {
        let item_type = streamed.item_type();
        let of_step = self.items.iter().skip(self.finished);
        let ordinal = of_step.filter(|item| item.streamed.item_type() == item_type);
        let id = ids.id(item_type, ordinal.count());
        self.add(events, id, streamed)
    }

    fn add(&mut self, events: &mut Events, id: String, streamed: Streamed) -> ItemName {
        let name = ItemName { id, output_index: self.items.len() };
        let item = name.with_item(streamed.item("in_progress"));
        events.add("response.output_item.added", item);
        self.items.push(OpenItem { name: name.clone(), streamed, call: None, is_done: false });
        name
    }

    fn end_reasoning(&mut self, events: &mut Events) {
        if let Some(item) = self.items.last_mut()
            && matches!(item.streamed, Streamed::Reasoning(_))
        {
            item.end(events, None);
        }
    }

    fn end_message(&mut self, events: &mut Events) {
        for item in &mut self.items {
            if matches!(item.streamed, Streamed::Message(_)) {
                item.end(events, None);
            }
        }
    }

    /// Streams a complete item: its texts as one delta each.
    fn add_whole(&mut self, events: &mut Events, whole: &StoredItem) {
        let item: Value = serde_json::from_str(whole.json.get()).unwrap_or_default();
        let member = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        match member("type") {
            "message" => {
                self.add(events, whole.id.clone(), Streamed::Message(Vec::new()));
                let content = item.get("content").and_then(Value::as_array);
                for part in content.into_iter().flatten() {
                    self.add_whole_part(events, part);
                }
            }
            "function_call" => self.add_whole_call(events, whole.id.clone(), &item),
            _ => {
                self.add(events, whole.id.clone(), Streamed::Other(item));
            }
        }
        if let Some(item) = self.items.last_mut() {
            item.end(events, Some(whole));
        }
    }

    fn add_whole_part(&mut self, events: &mut Events, part: &Value) {
        let text = |name: &str| part.get(name).and_then(Value::as_str);
        let (kind, text) = match (text("text"), text("refusal")) {
            (Some(text), _) => (PartKind::Text, text),
            (None, Some(refusal)) => (PartKind::Refusal, refusal),
            (None, None) => return,
        };
        if let Some(item) = self.items.last_mut()
            && let Streamed::Message(parts) = &mut item.streamed
        {
            let mut streamed = StreamedPart::new(kind);
            streamed.begin(parts.len(), &item.name, events);
            streamed.push(parts.len(), text, &item.name, events);
            parts.push(streamed);
        }
    }

    fn add_whole_call(&mut self, events: &mut Events, id: String, item: &Value) {
        let member = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let (Ok(call_id), Ok(tool)) = (CallId::parse(member("call_id")), ToolName::parse(member("name"))) else {
            return;
        };
        let arguments = String::new();
        let call = StreamedCall { call_id, tool, arguments };
        let name = self.add(events, id, Streamed::Call(call));
        let delta = name.with(json!({"delta": member("arguments")}));
        events.add("response.function_call_arguments.delta", delta);
        if let Some(item) = self.items.last_mut()
            && let Streamed::Call(call) = &mut item.streamed
        {
            member("arguments").clone_into(&mut call.arguments);
        }
    }
}

impl OpenItem {
    /// The last events of the item: as it is recorded, or as it was streamed.
    fn end(&mut self, events: &mut Events, recorded: Option<&StoredItem>) {
        if self.is_done {
            return;
        }
        self.is_done = true;
        self.streamed.end(&self.name, events);
        let whole = recorded.and_then(|item| serde_json::from_str(item.json.get()).ok());
        let status = match self.streamed {
            Streamed::Reasoning(_) | Streamed::Message(_) | Streamed::Other(_) => "completed",
            // A call that is not recorded is incomplete.
            Streamed::Call(_) => "incomplete",
        };
        let item = whole.unwrap_or_else(|| self.streamed.item(status));
        events.add("response.output_item.done", self.name.with_item(item));
    }
}
