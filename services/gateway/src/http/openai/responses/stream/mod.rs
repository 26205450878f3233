//! The events of a response, made from the parts of its run. Pure: equal parts give equal events, so a stream can be resumed.
//!
//! The items of the stream have the ids of the items that are recorded when the run is finished.

pub(super) mod event;
mod open_items;
mod streamed_item;
#[cfg(test)]
mod tests;

use domain::{Fact, RunEnd, RunPart, RunPartKind};
use runs::{FoldError, RunFold};
use serde_json::json;

use super::object::ResponseObject;
use super::output::OutputPlace;
use crate::http::turns::reply::run_started;
use event::{Events, ResponseEvent};
use open_items::{OpenItems, StepIds};
use streamed_item::{PartKind, StreamedCall};

/// The state of a stream.
#[derive(Debug)]
pub(super) struct ResponseEvents {
    object: ResponseObject,
    place: OutputPlace,
    fold: RunFold,
    events: Events,
    items: OpenItems,
}

impl ResponseEvents {
    /// A response whose run has no parts yet.
    pub(super) fn new(object: ResponseObject, place: OutputPlace) -> Self {
        Self {
            object,
            place,
            fold: RunFold::new(run_started(None)),
            events: Events::default(),
            items: OpenItems::default(),
        }
    }

    /// The first events.
    pub(super) fn opening(&mut self) -> Vec<ResponseEvent> {
        for name in ["response.created", "response.in_progress"] {
            self.events.add(name, json!({"response": self.object}));
        }
        self.events.take()
    }

    /// The events of a part. Those of the end are in [`ResponseEvents::closing`].
    ///
    /// # Errors
    /// A part is missing or malformed.
    pub(super) fn push(&mut self, part: &RunPart) -> Result<Vec<ResponseEvent>, FoldError> {
        let offset = self.fold.finished_facts().len();
        self.fold.absorb(part)?;
        let (events, items) = (&mut self.events, &mut self.items);
        let place = &self.place;
        let ids = StepIds { place, offset };
        match &part.kind {
            RunPartKind::TextDelta(text) => items.content(events, ids, PartKind::Text, text),
            RunPartKind::RefusalDelta(text) => items.content(events, ids, PartKind::Refusal, text),
            RunPartKind::ThinkingDelta(text) => items.thought(events, ids, text),
            RunPartKind::CallBegan { index, call_id, tool_name } => {
                let call = StreamedCall { call_id: call_id.clone(), tool: tool_name.clone(), arguments: String::new() };
                items.call(events, ids, *index, call);
            }
            RunPartKind::CallInput { index, fragment } => {
                items.call_input(events, *index, fragment);
            }
            RunPartKind::StepFinished(facts) => {
                items.finish(events, &place.items(facts, offset));
            }
            RunPartKind::RunEnded(_) => {
                let facts = self.fold.facts().into_iter();
                let unfinished: Vec<Fact> = facts.skip(offset).collect();
                items.finish(events, &place.items(&unfinished, offset));
            }
            RunPartKind::ToolReturned(_) | RunPartKind::KeptAlive => {}
        }
        Ok(self.events.take())
    }

    /// The end of the run; `None`: it continues.
    pub(super) fn end(&self) -> Option<&RunEnd> {
        self.fold.end()
    }

    /// The response after the end of the run.
    pub(super) fn response(&self) -> ResponseObject {
        let facts: Vec<Fact> = self.fold.facts();
        let output = self.place.items(&facts, 0);
        match self.fold.end() {
            Some(end) => self.object.clone().ended(end, &facts, output),
            None => self.object.clone(),
        }
    }

    /// The last event, with the whole response.
    pub(super) fn closing(&mut self) -> Vec<ResponseEvent> {
        let response = self.response();
        let name = response.last_event();
        self.events.add(name, json!({"response": response}));
        self.events.take()
    }

    /// The last event of a stream that ends before its run.
    pub(super) fn interruption(&mut self, code: &str, message: &str) -> Vec<ResponseEvent> {
        let error = json!({"code": code, "message": message, "param": null});
        self.events.add("error", error);
        self.events.take()
    }
}
