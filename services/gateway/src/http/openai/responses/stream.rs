//! The events of a response, made from the parts of its run. Pure: equal parts give equal events, so a stream can be resumed.
//!
//! The items of the stream have the ids of the items that are recorded when the run is finished.

#[cfg(test)]
mod tests;

use conversations::answer::{Encoder, Unreadable};
use domain::{Fact, RunPart, RunPartKind};
use openai_api::responses::event::{Events, ResponseEvent};
use openai_api::responses::object::ResponseObject;
use openai_api::responses::open_items::{OpenItems, StepIds};
use openai_api::responses::output::OutputPlace;
use openai_api::responses::streamed_item::{PartKind, StreamedCall};
use runs::{Interruption, Outcome, RunFold};
use serde_json::json;

use crate::http::turns::delivery::ended_early;

/// The state of a stream.
#[derive(Debug)]
pub(super) struct ResponseEvents {
    object: ResponseObject,
    place: OutputPlace,
    events: Events,
    items: OpenItems,
    /// The number of facts of the finished steps.
    finished: usize,
    /// The client has the events up to this number.
    after: Option<u64>,
}

impl ResponseEvents {
    /// A response whose run has no parts yet.
    pub(super) fn new(object: ResponseObject, place: OutputPlace) -> Self {
        let (events, items) = (Events::default(), OpenItems::default());
        Self { object, place, events, items, finished: 0, after: None }
    }

    /// Only events with higher numbers than `after`. The last event is written in any case: a client that resumes must learn the end.
    pub(super) fn after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }

    /// The response after the end of the run.
    pub(super) fn response(&self, outcome: &Outcome, facts: &[Fact]) -> ResponseObject {
        self.object.clone().ended(outcome, facts, self.place.items(facts, 0))
    }

    /// The new events that the client does not have.
    fn new_events(&mut self) -> String {
        let after = self.after;
        let events = self.events.take().into_iter();
        events.filter(|event| after.is_none_or(|after| event.number > after)).map(|event| event.frame()).collect()
    }

    fn last_event(&mut self, name: &'static str, content: serde_json::Value) -> String {
        self.events.add(name, content);
        self.events.take().iter().map(ResponseEvent::frame).collect()
    }
}

impl Encoder for ResponseEvents {
    fn opening(&mut self) -> Result<String, Unreadable> {
        for name in ["response.created", "response.in_progress"] {
            self.events.add(name, json!({"response": self.object}));
        }
        Ok(self.new_events())
    }

    fn part(&mut self, part: RunPart, fold: &RunFold) -> Result<String, Unreadable> {
        let offset = std::mem::replace(&mut self.finished, fold.finished_facts().len());
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
                let unfinished: Vec<Fact> = fold.facts().into_iter().skip(offset).collect();
                items.finish(events, &place.items(&unfinished, offset));
            }
            RunPartKind::ToolReturned(_) | RunPartKind::KeptAlive => {}
        }
        Ok(self.new_events())
    }

    /// The last event has the whole response.
    fn end(&mut self, outcome: &Outcome, fold: &RunFold) -> String {
        let response = self.response(outcome, &fold.facts());
        self.last_event(response.last_event(), json!({"response": response}))
    }

    fn interrupted(&mut self, _: Interruption) -> String {
        let problem = ended_early(None);
        self.last_event("error", json!({"code": problem.code, "message": problem.detail, "param": null}))
    }
}
