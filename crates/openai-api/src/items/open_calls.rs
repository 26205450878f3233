//! Which calls and outputs can be recorded as such: an output needs an open call.

use std::collections::BTreeSet;

use domain::bounds::OPEN_CALLS_MAX;
use domain::head::OpenCall;
use domain::{CallId, Fact, Violation};

use super::new_item::ItemEvent;

/// The calls that are open before the items of a request.
#[derive(Debug, Clone, Copy)]
pub enum OpenBefore<'a> {
    /// The open calls of a head.
    Known(&'a [OpenCall]),
    /// They were not read: every first output of a call is taken for one of an open call, and the writer checks it.
    Unknown,
}

/// Makes verbatim items of outputs without an open call, of calls that are open already, and of calls over the bound of
/// [`OPEN_CALLS_MAX`]. No model reads these, and they are returned like all others.
///
/// # Errors
/// As [`ItemEvent::verbatim`].
pub fn with_open_calls(events: Vec<ItemEvent>, before: OpenBefore<'_>) -> Result<Vec<ItemEvent>, Violation> {
    let mut open: BTreeSet<CallId> = match before {
        OpenBefore::Known(calls) => calls.iter().map(|call| call.call_id.clone()).collect(),
        OpenBefore::Unknown => BTreeSet::new(),
    };
    let mut answered = BTreeSet::new();
    let events = events.into_iter().map(|event| {
        let is_valid = match &event.fact {
            Fact::ToolCalled(call) if open.len() < OPEN_CALLS_MAX => open.insert(call.call_id.clone()),
            Fact::ToolCalled(_) => false,
            Fact::ToolReturned(result) => {
                let is_first = answered.insert(result.call_id.clone());
                let may_be_open = matches!(before, OpenBefore::Unknown) && is_first;
                open.remove(&result.call_id) || may_be_open
            }
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => true,
        };
        if is_valid { Ok(event) } else { event.into_verbatim() }
    });
    events.collect()
}

#[cfg(test)]
mod tests {
    use domain::{ToolName, Version};
    use serde_json::value::RawValue;

    use super::*;
    use crate::items::new_item::{NewItem, read};

    /// `items`: `c1` is a call with the id 1, `o1` is its output. The result has `v` for a verbatim item.
    fn check(before: OpenBefore<'_>, items: &str, expected: &str) {
        let event = |item: &str| {
            let (kind, id) = item.split_at(1);
            let json = match kind {
                "c" => format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#),
                _ => format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"x"}}"#),
            };
            let raw = RawValue::from_string(json).unwrap();
            match read(&raw, "items").unwrap() {
                NewItem::Event(event) => *event,
                NewItem::Reference(_) => panic!("a reference"),
            }
        };
        let events = items.split(' ').map(event).collect();
        let recorded = with_open_calls(events, before).unwrap();
        let kinds = recorded.iter().map(|event| match &event.fact {
            Fact::ToolCalled(_) => "c",
            Fact::ToolReturned(_) => "o",
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => "v",
        });
        assert_eq!(kinds.collect::<String>(), expected, "{before:?} {items}");
    }

    #[test]
    fn only_outputs_of_open_calls_are_results() {
        let open = [OpenCall {
            call_id: CallId::parse("1").unwrap(),
            tool_name: ToolName::parse("f").unwrap(),
            version: Version(2),
        }];
        check(OpenBefore::Known(&open), "o1 o2 c1 o1", "ovco");
        check(OpenBefore::Known(&open), "c1 o1 o1", "vov");
        check(OpenBefore::Known(&[]), "o1 c1 c1 o1", "vcvo");
        check(OpenBefore::Unknown, "o1 o1 c1 o1 o1", "ovcov");
        check(OpenBefore::Unknown, "c1 c1 o1", "cvo");
    }

    #[test]
    fn calls_over_the_bound_are_verbatim() {
        for before in [OpenBefore::Known(&[]), OpenBefore::Unknown] {
            let calls: Vec<_> = (0..=OPEN_CALLS_MAX).map(|n| format!("c{n}")).collect();
            let expected = "c".repeat(OPEN_CALLS_MAX) + "v";
            check(before, &calls.join(" "), &expected);
        }
    }
}
