//! Groups events: each tool call with its results, if both are on the page.

use domain::{CallId, Fact};

use super::EventOfTranscript;

/// An event, and the results of the call that it is.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub(super) event: &'a EventOfTranscript,
    pub(super) results: Vec<&'a EventOfTranscript>,
}

/// The entries, by the version of their first event. A result joins the newest call with its id before it.
pub(super) fn entries(events: &[EventOfTranscript]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for event in events {
        // Raw events stay in their order.
        let call = returned(event).filter(|_| event.json.is_none());
        let open = call.and_then(|call| {
            let mut earlier = entries.iter_mut().rev();
            earlier.find(|entry| called(entry.event) == Some(call))
        });
        match open {
            Some(entry) => entry.results.push(event),
            None => entries.push(Entry { event, results: Vec::new() }),
        }
    }
    entries
}

fn called(event: &EventOfTranscript) -> Option<&CallId> {
    let Fact::ToolCalled(call) = &event.recorded.event.fact else {
        return None;
    };
    Some(&call.call_id)
}

fn returned(event: &EventOfTranscript) -> Option<&CallId> {
    let Fact::ToolReturned(result) = &event.recorded.event.fact else {
        return None;
    };
    Some(&result.call_id)
}
