//! Which calls and outputs can be recorded as such: an output needs an open call.

use std::collections::BTreeSet;

use domain::bounds::OPEN_CALLS_MAX;
use domain::head::OpenCall;
use domain::{CallId, Fact, Violation};

use super::new_item::ItemEvent;

/// Makes verbatim items of outputs without an open call, of calls that are open already, and of calls over the bound of
/// [`OPEN_CALLS_MAX`]. No model reads these, and they are returned like all others.
///
/// # Errors
/// As [`ItemEvent::verbatim`].
pub fn with_open_calls(
    events: Vec<ItemEvent>,
    open_calls: &[OpenCall],
) -> Result<Vec<ItemEvent>, Violation> {
    let mut open: BTreeSet<CallId> = open_calls.iter().map(|open| open.call_id.clone()).collect();
    let events = events.into_iter().map(|event| {
        let is_valid = match &event.fact {
            Fact::ToolCalled(call) if open.len() < OPEN_CALLS_MAX => {
                open.insert(call.call_id.clone())
            }
            Fact::ToolCalled(_) => false,
            Fact::ToolReturned(result) => open.remove(&result.call_id),
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => true,
        };
        if is_valid {
            Ok(event)
        } else {
            event.into_verbatim()
        }
    });
    events.collect()
}
