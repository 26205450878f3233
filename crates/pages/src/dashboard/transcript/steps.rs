//! Steps of models: adjacent messages and calls that a model wrote from one context.

use std::collections::BTreeMap;

use domain::{Fact, Version};

use super::EventOfTranscript;

/// Whether a model wrote an event: a message of an assistant, or a call of a tool.
#[must_use]
pub fn is_of_model(fact: &Fact) -> bool {
    match fact {
        Fact::MessageAppended(message) => message.role.as_str() == "assistant",
        Fact::ToolCalled(_) => true,
        Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => false,
    }
}

/// The version that a model had read, for each event that a model wrote: the one before the first event of its step.
///
/// `start` is the first event of the step to which the first of `events` belongs, which may be before them; `None`: it is unknown.
pub(super) fn read_versions(events: &[EventOfTranscript], start: Option<Version>) -> BTreeMap<Version, Version> {
    let mut read = BTreeMap::new();
    // The step of the previous event.
    let (mut start, mut next) = (start, events.first().map(|event| event.recorded.version));
    for event in events {
        let version = event.recorded.version;
        if next != Some(version) {
            start = Some(version);
        }
        if !is_of_model(&event.recorded.event.fact) {
            next = None;
            continue;
        }
        next = Some(version.next());
        let before = start.and_then(|start| start.0.checked_sub(1));
        if let Some(before) = before.filter(|before| *before > 0) {
            read.insert(version, Version(before));
        }
    }
    read
}
