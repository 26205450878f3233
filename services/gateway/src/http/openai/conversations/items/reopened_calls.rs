//! Outputs of calls that a rewind left without an output: the record has closed these calls, so that their turn is recorded again.

use std::collections::BTreeSet;

use domain::bounds::EVENTS_PER_COMMIT_MAX;
use domain::event::HistoryRewound;
use domain::{CallId, Fact, Head, OpenCall, RecordedEvent, Version};
use history::{Bounds, Direction, Snapshot, View, decode};
use runtime::http::HttpProblem;
use wire::proto::event::v1 as proto;

use super::{NewItems, item_range};

/// Most bytes of the newest events in which the calls are searched.
const SEARCHED_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// The beginning of a commit with outputs of closed calls, and the calls that are open after it.
#[derive(Debug)]
pub(super) struct Reopened {
    /// A rewind to before the first call, and the events after it again; none if no call is to be opened.
    pub(super) events: Vec<proto::Event>,
    /// The open calls.
    pub(super) open_calls: Vec<OpenCall>,
}

impl Reopened {
    /// The open calls of a head.
    pub(super) fn none(head: &Head) -> Self {
        Self { events: Vec::new(), open_calls: head.open_calls.clone() }
    }
}

/// The calls that the outputs among the items answer, except the open ones.
pub(super) fn closed_calls(head: &Head, items: &NewItems) -> BTreeSet<CallId> {
    let mut closed = items.answered_calls();
    for open in &head.open_calls {
        closed.remove(&open.call_id);
    }
    closed
}

/// Opens those of the calls that the effective history shows without an output. They are searched in the newest events, as many as
/// fit into one commit with the rewind and this number of items.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn reopened(
    snapshot: &Snapshot<'_>,
    head: &Head,
    closed: &BTreeSet<CallId>,
    items: usize,
) -> Result<Reopened, HttpProblem> {
    let events_max = EVENTS_PER_COMMIT_MAX - 1;
    let searched = Bounds { events_max: events_max.saturating_sub(items), bytes_max: SEARCHED_BYTES_MAX };
    if searched.events_max == 0 {
        return Ok(Reopened::none(head));
    }
    let newest = newest(snapshot, head.version, searched).await?;
    let Some(cut) = cut(&newest, closed) else {
        return Ok(Reopened::none(head));
    };
    let repeated: Vec<&RecordedEvent> = newest.iter().take(cut).rev().collect();
    let first = repeated.first().map_or(head.version, |event| event.version);
    let to = Version(first.0.saturating_sub(1));
    let rewound = Fact::from(HistoryRewound { to });
    let mut reopened = Reopened { events: vec![wire::event::fact_to_proto(&rewound)], ..Reopened::none(head) };
    for event in repeated {
        if let Fact::ToolCalled(call) = &event.event.fact
            && closed.contains(&call.call_id)
        {
            reopened.open_calls.push(OpenCall {
                call_id: call.call_id.clone(),
                tool_name: call.tool_name.clone(),
                version: event.version,
            });
        }
        reopened.events.push(again(event));
    }
    Ok(reopened)
}

/// The newest effective events, newest first.
async fn newest(
    snapshot: &Snapshot<'_>,
    version: Version,
    searched: Bounds,
) -> Result<Vec<RecordedEvent>, HttpProblem> {
    let effective = snapshot.effective(version).await?;
    let query = item_range(Direction::Backward);
    let mut cursor = snapshot.cursor(query, View::Effective(&effective));
    let batch = cursor.next(searched).await?;
    batch.into_iter().flatten().map(|event| decode(snapshot.key(), &event.row).map_err(HttpProblem::from)).collect()
}

/// How many of the newest events are recorded again: through the oldest call that is to be opened, and through the calls of all
/// outputs among them. `None`: no call is to be opened, or one of these calls is not among the events.
fn cut(newest_first: &[RecordedEvent], closed: &BTreeSet<CallId>) -> Option<usize> {
    let (mut answered, mut without_call) = (BTreeSet::new(), BTreeSet::new());
    let (mut found, mut cut) = (0, None);
    let mut found_at_cut = 0;
    for (index, event) in newest_first.iter().enumerate() {
        match &event.event.fact {
            Fact::ToolReturned(result) => {
                answered.insert(&result.call_id);
                without_call.insert(&result.call_id);
            }
            Fact::ToolCalled(call) => {
                let is_wanted = closed.contains(&call.call_id);
                found += usize::from(is_wanted && !answered.contains(&call.call_id));
                without_call.remove(&call.call_id);
            }
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => {}
        }
        if found > found_at_cut && without_call.is_empty() {
            found_at_cut = found;
            cut = Some(index + 1);
        }
    }
    cut
}

/// The event as a new one.
fn again(event: &RecordedEvent) -> proto::Event {
    proto::Event { event_id: String::new(), tokens: 0, tokens_through: 0, ..wire::event::to_proto(&event.event) }
}

#[cfg(test)]
mod tests {
    use domain::event::{Event, EventTokens, ToolCalled, ToolOutcome, ToolOutput, ToolReturned};
    use domain::{CommitId, EventId, JsonText, Timestamp, ToolName};
    use uuid::Uuid;

    use super::*;

    fn id(text: &str) -> CallId {
        CallId::parse(text).unwrap()
    }

    /// `history`: oldest first; `ca` is a call with the id `a`, `oa` is its output, `m` is a message.
    fn check(history: &str, closed: &str, expected: Option<usize>) {
        let event = |text: &str| {
            let (kind, call) = text.split_at(1);
            let fact = match kind {
                "c" => Fact::ToolCalled(ToolCalled::new(
                    id(call),
                    ToolName::parse("look").unwrap(),
                    JsonText::parse("{}").unwrap(),
                )),
                "o" => Fact::ToolReturned(ToolReturned {
                    call_id: id(call),
                    tool_name: None,
                    output: ToolOutput::Parts(Vec::new()),
                    outcome: ToolOutcome::Succeeded,
                }),
                _ => Fact::from(HistoryRewound { to: Version(1) }),
            };
            RecordedEvent {
                version: Version(1),
                commit: CommitId(Uuid::nil()),
                recorded_at: Timestamp(0),
                event: Event {
                    id: EventId::derived(CommitId(Uuid::nil()), 0),
                    occurred_at: None,
                    metadata: None,
                    tokens: EventTokens::default(),
                    fact,
                },
            }
        };
        let events: Vec<RecordedEvent> = history.split(' ').rev().map(event).collect();
        let closed = closed.split(' ').map(id).collect();
        assert_eq!(cut(&events, &closed), expected, "{history} {closed:?}");
    }

    #[test]
    fn the_turn_of_a_call_without_an_output_is_found() {
        check("m ca", "a", Some(1));
        check("m ca m m", "a", Some(3));
        // An output needs its call among the events.
        check("m ca cb oa", "b", Some(3));
        check("m cb ca oa", "b", Some(3));
        check("m ca oa m cb", "b", Some(1));
        check("m oa cb oc", "b", None);
        // Answered calls, and calls that do not exist.
        check("m ca oa", "a", None);
        check("m ca oa", "b", None);
        check("m ca m", "a x", Some(2));
        check("ca m cb", "a b", Some(3));
    }
}
