//! Summaries: the versions that they cover, and their recorded fields.

use super::*;
use crate::event::{Annotation, HistorySummarised};
use crate::head::SummaryPlace;

fn summarised(through: u64) -> Fact {
    Fact::from(HistorySummarised {
        through: Version(through),
        text: "They spoke.".to_owned(),
        model: None,
        previous: None,
    })
}

fn beyond(index: usize, through: u64, last: u64) -> Rejection {
    Rejection::SummaryBeyondHistory { index, through: Version(through), last: Version(last) }
}

fn stale(index: usize, reached: u64) -> Rejection {
    Rejection::SummaryStale { index, reached: Version(reached) }
}

#[test]
fn versions_that_a_summary_can_cover() {
    let three = || vec![created(), append([said("a"), said("b")])];
    let summed = || vec![created(), append([said("a"), summarised(2), said("b")])];
    for (case, before, facts, expected) in [
        ("nothing", three(), vec![summarised(0)], Err(stale(0, 0))),
        ("the first event", three(), vec![summarised(1)], Ok(1)),
        ("all events", three(), vec![summarised(3)], Ok(1)),
        ("itself", three(), vec![summarised(4)], Err(beyond(0, 4, 3))),
        ("an event of its own commit", three(), vec![said("c"), summarised(4)], Ok(2)),
        ("an event after it", three(), vec![summarised(4), said("c")], Err(beyond(0, 4, 3))),
        ("no further than the last", summed(), vec![summarised(2)], Err(stale(0, 2))),
        ("less than the last", summed(), vec![said("c"), summarised(1)], Err(stale(1, 2))),
        ("the last one", summed(), vec![summarised(3)], Ok(1)),
        ("no further than one of its own commit", three(), vec![summarised(2), summarised(2)], Err(stale(1, 2))),
        ("further than one of its own commit", three(), vec![summarised(2), summarised(3)], Ok(2)),
    ] {
        let outcome = decide(head_after(before).as_ref(), &command(99, append(facts)));
        let count = outcome.map(|decision| match decision {
            Decision::Commit(events) => events.len(),
            Decision::Unchanged => 0,
        });
        assert_eq!(count, expected, "{case}");
    }
}

#[test]
fn an_archived_or_erased_conversation_takes_no_summary() {
    check(vec![created(), Action::Archive], append([summarised(1)]), Err(Rejection::Archived));
    check(vec![created(), ERASE], append([summarised(1)]), Err(Rejection::Erased));
}

/// The caller's value is ignored.
#[test]
fn a_recorded_summary_names_the_one_before_it() {
    let head = head_after(vec![created(), append([said("a"), summarised(2)])]);
    let Fact::Annotation(Annotation::HistorySummarised(summary)) = summarised(3) else { panic!("another fact") };
    let claimed = Fact::from(HistorySummarised { previous: Some(Version(1)), ..summary });
    let facts = [claimed, summarised(4)];
    let Ok(Decision::Commit(events)) = decide(head.as_ref(), &command(9, append(facts))) else {
        panic!("nothing was decided")
    };
    let previous = |event: &Event| {
        let Fact::Annotation(Annotation::HistorySummarised(summary)) = &event.fact else { panic!("another fact") };
        summary.previous
    };
    assert_eq!((previous(&events[0]), previous(&events[1])), (Some(Version(3)), Some(Version(4))));
}

#[test]
fn the_head_contains_the_latest_summary_until_the_erasure() {
    let mut actions = vec![created(), append([called("a"), summarised(1)]), append([summarised(3), said("b")])];
    let head = head_after(actions.clone()).unwrap();
    let place = SummaryPlace { version: Version(4), through: Version(3) };
    assert_eq!(head.latest_summary, Some(place));
    assert_eq!(head.open_calls.len(), 1);
    actions.push(ERASE);
    assert_eq!(head_after(actions).unwrap().latest_summary, None);
}
