//! Rewinds: the versions to which they return, and the events that they hide.

use super::*;
use crate::event::{HistoryRewound, HistorySummarised, RunStarted};
use crate::head::{RewindPlace, SummaryPlace};

fn rewound(to: u64) -> Fact {
    Fact::from(HistoryRewound { to: Version(to) })
}

fn summarised(through: u64) -> Fact {
    Fact::from(HistorySummarised {
        through: Version(through),
        text: "They spoke.".to_owned(),
        model: None,
        previous: None,
    })
}

fn beyond(index: usize, to: u64, last: u64) -> Rejection {
    Rejection::RewindBeyondHistory { index, to: Version(to), last: Version(last) }
}

fn stale(index: usize, reached: u64) -> Rejection {
    Rejection::SummaryStale { index, reached: Version(reached) }
}

fn started() -> Action {
    Action::StartRun(Box::new(StartRun {
        started: RunStarted { run: RunId(Uuid::from_u128(1)), model: None, provider: None },
        events: Vec::new(),
    }))
}

/// The number of decided events.
fn count(before: Vec<Action>, facts: Vec<Fact>) -> Result<usize, Rejection> {
    let outcome = decide(head_after(before).as_ref(), &command(99, append(facts)));
    outcome.map(|decision| match decision {
        Decision::Commit(events) => events.len(),
        Decision::Unchanged => 0,
    })
}

#[test]
fn rewinds_return_to_existing_versions() {
    let check = |facts: Vec<Fact>, expected: Result<usize, Rejection>| {
        let before = vec![created(), append([said("a"), said("b")])];
        assert_eq!(count(before, facts.clone()), expected, "{facts:?}");
    };
    check(vec![rewound(1)], Ok(1));
    check(vec![rewound(3)], Ok(1));
    check(vec![rewound(4)], Err(beyond(0, 4, 3)));
    check(vec![said("c"), rewound(4)], Ok(2));
    check(vec![rewound(4), said("c")], Err(beyond(0, 4, 3)));
    check(vec![rewound(2), said("c"), rewound(2)], Ok(3));
    let running = vec![created(), append([said("a")]), started()];
    let run = RunId(Uuid::from_u128(1));
    let refused = count(running, vec![rewound(2)]);
    assert_eq!(refused, Err(Rejection::RunActive { run }));
}

#[test]
fn hidden_calls_are_not_open() {
    let check = |facts: Vec<Fact>, expected: Result<usize, Rejection>| {
        let before = vec![created(), append([said("a"), called("x")])];
        assert_eq!(count(before, facts.clone()), expected, "{facts:?}");
    };
    let not_open = Rejection::CallNotOpen { index: 1, call_id: CallId::parse("x").unwrap() };
    check(vec![rewound(2), returned("x", None)], Err(not_open));
    check(vec![rewound(3), returned("x", None)], Ok(2));
    check(vec![rewound(2), called("x")], Ok(2));
}

#[test]
fn summaries_after_a_rewind() {
    let check = |facts: Vec<Fact>, expected: Result<usize, Rejection>| {
        let before = vec![created(), append([said("a"), said("b"), summarised(3), said("c")])];
        assert_eq!(count(before, facts.clone()), expected, "{facts:?}");
    };
    // Whether the rewind hides the summary at version 4.
    check(vec![rewound(3), summarised(2)], Ok(2));
    check(vec![rewound(4), summarised(3)], Err(stale(1, 3)));
    // Hidden versions, visible versions, and the rewind itself.
    check(vec![rewound(2), summarised(5)], Err(stale(1, 6)));
    check(vec![rewound(2), summarised(2)], Ok(2));
    check(vec![rewound(2), summarised(6)], Ok(2));
}

#[test]
fn the_head_ignores_hidden_events() {
    let mut actions =
        vec![created(), append([called("a"), said("b"), called("c"), summarised(3)]), append([rewound(3), said("d")])];
    let head = head_after(actions.clone()).unwrap();
    let open: Vec<&str> = head.open_calls.iter().map(|call| call.call_id.as_str()).collect();
    assert_eq!(open, ["a"]);
    let rewind = RewindPlace { version: Version(6), to: Version(3) };
    assert_eq!(head.latest_rewind, Some(rewind));
    let summary = SummaryPlace { version: Version(5), through: Version::ZERO };
    assert_eq!(head.latest_summary, Some(summary));
    assert_eq!(head.totals.context_tokens, u64::from(TOKENS) * 4);
    actions.push(ERASE);
    assert_eq!(head_after(actions).unwrap().latest_rewind, None);
}
