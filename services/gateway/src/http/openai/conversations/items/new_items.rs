//! The items of a request as events, and the items of the commit that contains them.

use domain::bounds::{EVENT_BYTES_MAX, EVENTS_PER_COMMIT_MAX};
use domain::event::{Event, EventTokens};
use domain::{
    CallId, CommitId, ConversationId, EventId, Fact, FieldPath, RecordedEvent, Timestamp, Version, Violation,
    ViolationReason,
};
use openai_api::items::new_item::{ItemEvent, NewItem, read};
use openai_api::items::open_calls::{OpenBefore, with_open_calls};
use prost::Message as _;
use runtime::http::HttpProblem;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use wire::proto::event::v1 as proto;
use wire::proto::write::v1::CommitResult;

use super::{ItemListObject, items_of};

/// The items of a request.
#[derive(Debug)]
pub(in crate::http::openai) struct NewItems {
    /// The name of the list in errors.
    field: &'static str,
    items: Vec<NewItem>,
}

impl NewItems {
    /// Reads the items of the member `items`.
    ///
    /// # Errors
    /// 400: an item is invalid, there are more than [`EVENTS_PER_COMMIT_MAX`], or two have one id.
    pub(in crate::http::openai) fn read(items: &[Box<RawValue>]) -> Result<Self, HttpProblem> {
        Self::read_field("items", EVENTS_PER_COMMIT_MAX, items)
    }

    /// Reads the items of a member with this name, at most `items_max`.
    ///
    /// # Errors
    /// As [`NewItems::read`].
    pub(in crate::http::openai) fn read_field(
        field: &'static str,
        items_max: usize,
        items: &[Box<RawValue>],
    ) -> Result<Self, HttpProblem> {
        if items.len() > items_max {
            let rule =
                format!("has {} entries, at most {items_max} are allowed: send them in several requests", items.len());
            let violation = Violation::new(ViolationReason::TooManyEvents, rule);
            return Err(HttpProblem::from(violation.within(field)));
        }
        let (mut ids, mut read_items) = (BTreeSet::new(), Vec::with_capacity(items.len()));
        for (index, raw) in items.iter().enumerate() {
            let at = format!("{field}[{index}]");
            let item = read(raw, &at)?;
            if let NewItem::Event(event) = &item
                && let Some(id) = event.given_id()
                && !ids.insert(id)
            {
                let detail = "Duplicate item found: two items of the request have this id";
                let field = format!("{at}.id");
                return Err(HttpProblem::of_field("DUPLICATE_ITEM", field, detail));
            }
            read_items.push(item);
        }
        Ok(Self { field, items: read_items })
    }

    /// The references to items of the conversation, each with its index.
    pub(in crate::http::openai) fn references(&self) -> Vec<(usize, String)> {
        let items = self.items.iter().enumerate();
        let references = items.filter_map(|(index, item)| match item {
            NewItem::Reference(id) => Some((index, id.clone())),
            NewItem::Event(_) => None,
        });
        references.collect()
    }

    /// The number of items.
    pub(in crate::http::openai) fn len(&self) -> usize {
        self.items.len()
    }

    /// The calls that the outputs among the items answer.
    pub(in crate::http::openai) fn answered_calls(&self) -> BTreeSet<CallId> {
        let items = self.items.iter();
        let calls = items.filter_map(|item| match item {
            NewItem::Event(event) => match &event.fact {
                Fact::ToolReturned(result) => Some(result.call_id.clone()),
                Fact::MessageAppended(_) | Fact::ToolCalled(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
            },
            NewItem::Reference(_) => None,
        });
        calls.collect()
    }

    /// Replaces the reference at an index by the item that it refers to.
    pub(in crate::http::openai) fn resolve(&mut self, index: usize, item: NewItem) {
        if let Some(reference) = self.items.get_mut(index) {
            *reference = item;
        }
    }

    /// Removes the items with these indexes.
    pub(in crate::http::openai) fn remove(&mut self, indexes: &[usize]) {
        let mut index = 0;
        self.items.retain(|_| {
            index += 1;
            !indexes.contains(&(index - 1))
        });
    }

    /// The facts, for a model that reads them without a record.
    ///
    /// # Errors
    /// As [`NewItems::into_events`].
    pub(in crate::http::openai) fn into_facts(self) -> Result<Vec<Fact>, HttpProblem> {
        let field = self.field;
        let facts = self.items.into_iter().enumerate().map(|(index, item)| {
            let NewItem::Event(event) = item else {
                return Err(unresolved(field, index));
            };
            let (fact, _) = event.into_parts()?;
            Ok(fact)
        });
        facts.collect()
    }

    /// The events of a commit.
    ///
    /// # Errors
    /// 400: an item is larger than an event can be, or is an unresolved reference.
    pub(in crate::http::openai) fn into_events(self, before: OpenBefore<'_>) -> Result<Vec<proto::Event>, HttpProblem> {
        let mut events: Vec<ItemEvent> = Vec::with_capacity(self.items.len());
        for (index, item) in self.items.into_iter().enumerate() {
            match item {
                NewItem::Event(event) => events.push(*event),
                NewItem::Reference(_) => return Err(unresolved(self.field, index)),
            }
        }
        let events = with_open_calls(events, before)?.into_iter().enumerate().map(|(index, event)| {
            to_proto(event).map_err(|violation| HttpProblem::from(violation.at(index).within(self.field)))
        });
        events.collect()
    }
}

/// The item that a reference names does not exist.
pub(in crate::http::openai) fn unresolved(field: &str, index: usize) -> HttpProblem {
    let detail = "no item that the caller can read has this id: send the item itself";
    HttpProblem::of_field("ITEM_NOT_FOUND", format!("{field}[{index}].id"), detail)
}

/// The event as the writer gets it, within the writer's bounds.
fn to_proto(event: ItemEvent) -> Result<proto::Event, Violation> {
    let (fact, metadata_json) = event.into_parts()?;
    let event = proto::Event { metadata_json, ..wire::event::fact_to_proto(&fact) };
    let bytes = event.encoded_len();
    if bytes > EVENT_BYTES_MAX {
        let rule = format!("has {bytes} bytes encoded, at most {EVENT_BYTES_MAX} are allowed");
        return Err(Violation::new(ViolationReason::EventTooLarge, rule));
    }
    wire::event::new_event_from_proto(event.clone())
        .map(|_| event)
        .map_err(|violation| Violation { field: FieldPath::default(), ..violation })
}

/// The events of a commit.
#[derive(Debug)]
pub(in crate::http::openai) struct Appended {
    /// The events, as they were sent.
    pub(in crate::http::openai) events: Vec<proto::Event>,
    /// The number of events before those of the items.
    pub(in crate::http::openai) preceding: usize,
    /// The writer's answer.
    pub(in crate::http::openai) result: CommitResult,
}

impl Appended {
    /// The items as a reader gets them.
    ///
    /// # Errors
    /// The answer of the writer has another form.
    pub(super) fn into_list(self) -> Result<ItemListObject, HttpProblem> {
        let commit = CommitId::parse(&self.result.commit_id)?;
        let conversation = ConversationId::parse(self.result.conversation_id)?;
        let mut items = Vec::with_capacity(self.events.len());
        let events = self.events.into_iter().enumerate();
        for (index, event) in events.skip(self.preceding) {
            let new = wire::event::new_event_from_proto(event)?;
            let event = RecordedEvent {
                version: Version(self.result.first_version).plus(index),
                commit,
                recorded_at: Timestamp(0),
                event: Event {
                    id: EventId::derived(commit, index),
                    occurred_at: None,
                    metadata: new.metadata,
                    tokens: EventTokens::default(),
                    fact: new.fact,
                },
            };
            items.extend(items_of(&conversation, &event)?);
        }
        Ok(ItemListObject::new(items, false))
    }
}
