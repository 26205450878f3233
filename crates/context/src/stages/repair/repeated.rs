//! Finds repeated events: some clients save a reply, or a call with its result, twice.

use std::collections::HashSet;

use domain::Version;
use domain::event::Role;

use crate::unit::Unit;

/// The versions of messages and calls that repeat earlier ones, ascending. Results must be as they are recorded: all stubs are
/// equal.
///
/// A provider gives each response an id, so the same id with the same content is the same reply. A call id may be used again
/// later, but not with the same input and result before anyone else has written.
#[must_use]
pub fn repeated(units: &[Unit]) -> Vec<Version> {
    let (mut replies, mut calls) = (HashSet::new(), HashSet::new());
    let mut repeated = Vec::new();
    for unit in units {
        if unit.role() != Role::Assistant {
            calls.clear();
        }
        if let Some(message) = &unit.message
            && let Some(response) = &message.provider_response_id
            && message.role == Role::Assistant
            && !message.parts.is_empty()
            && !replies.insert((response, &message.parts))
        {
            repeated.push(unit.version);
        }
        for call in &unit.calls {
            let (called, result) = (&call.called, call.result.as_ref());
            let output = result.map(|result| &result.returned.output);
            let content = (&called.call_id, &called.tool_name, &called.input);
            if output.is_some_and(|output| !calls.insert((content, output))) {
                repeated.push(call.version);
            }
        }
    }
    repeated
}

/// The unit without repeated events; none when it is empty then.
pub(super) fn without(mut unit: Unit, repeated: &[Version]) -> Option<Unit> {
    let repeats = |version: &Version| repeated.binary_search(version).is_ok();
    if unit.message.is_some() && repeats(&unit.version) {
        unit.message = None;
    }
    unit.calls.retain(|call| !repeats(&call.version));
    (unit.message.is_some() || !unit.calls.is_empty()).then_some(unit)
}
