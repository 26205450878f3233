//! A bounded model of appends with one idempotency key: two concurrent attempts, lost responses, other commits that push the
//! key out of the head, the clocks of writers, and the duplicate window of the stream.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use std::time::Duration;

use domain::Timestamp;
use event_log::DUPLICATE_WINDOW;
use stateright::{Checker as _, Model, Property};

use super::{CLOCK_LEEWAY, KeyAge, age_of};

/// One tick of the model's time.
const TICK: Duration = Duration::from_secs(30);
/// The time in the key. In the course of the model it is ahead, young, and older than the window.
const MADE_AT: i8 = 24;
/// The duration of the model.
const TICKS_MAX: i8 = 48;
/// The duplicate window in ticks.
const WINDOW_TICKS: i8 = 20;
/// Maximum number of attempts of the caller, and of concurrent attempts.
const ATTEMPTS_MAX: u8 = 3;
const ATTEMPTS_AT_ONCE: usize = 2;
/// Maximum number of other commits. The head of the model names one commit, so that one is enough to push the key out of it.
const OTHERS_MAX: u8 = 2;

/// The explored rule.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A key from the future is looked up and accepted; a key is young for the window minus the leeway.
    AcceptsFuture,
    /// The rule of the code.
    Current,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now: i8,
    /// The record: for each commit with the key, the time of its storage; `None` for other commits.
    log: Vec<Option<i8>>,
    attempts: u8,
    others: u8,
    /// Attempts that are decided and not published: the expected last commit, and the time of the decision.
    decided: Vec<(usize, i8)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Tick,
    Other,
    /// A writer decides an attempt; its clock has this skew in ticks.
    Decide(i8),
    /// The attempt is published. Its response may be lost: the caller may always retry.
    Publish(usize),
    /// The writer ends before it publishes.
    Lose(usize),
}

#[derive(Debug, Clone, Copy)]
struct Appends(Rule);

fn time(ticks: i8) -> Timestamp {
    let tick = i64::try_from(TICK.as_nanos()).unwrap();
    Timestamp(i64::from(ticks) * tick)
}

impl Appends {
    fn age(self, clock: i8) -> KeyAge {
        let current = age_of(time(MADE_AT), time(clock));
        match self.0 {
            Rule::Current => current,
            Rule::AcceptsFuture => {
                let leeway = i8::try_from(CLOCK_LEEWAY.as_secs() / TICK.as_secs()).unwrap();
                let young = clock - (WINDOW_TICKS - leeway)..=clock + leeway;
                if young.contains(&MADE_AT) { KeyAge::Young { since: time(MADE_AT) } } else { KeyAge::Old }
            }
        }
    }

    /// Whether an attempt appends: the head does not name the key, and a look-up does not find it.
    fn appends(self, state: &State, clock: i8) -> bool {
        let is_named = state.log.last().is_some_and(Option::is_some);
        let is_known = || state.log.iter().any(Option::is_some);
        !is_named
            && match self.age(clock) {
                KeyAge::Young { .. } => true,
                KeyAge::Old => !is_known(),
                KeyAge::Ahead => false,
            }
    }
}

/// Stores the commit, unless the window contains the key or another commit is last. Then the attempt reads the outcome and
/// starts again.
fn publish(state: &mut State, (expected, _): (usize, i8)) {
    let mut stored = state.log.iter().flatten();
    let is_known = stored.any(|at| state.now - *at < WINDOW_TICKS);
    if state.log.len() == expected && !is_known {
        state.log.push(Some(state.now));
    }
}

impl Model for Appends {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State { now: 0, log: vec![None], attempts: 0, others: 0, decided: Vec::new() }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // An attempt is published within one tick, or never.
        let is_due = |(_, at): &(usize, i8)| *at < state.now;
        if state.now < TICKS_MAX && !state.decided.iter().any(is_due) {
            actions.push(Action::Tick);
        }
        if state.others < OTHERS_MAX {
            actions.push(Action::Other);
        }
        if state.attempts < ATTEMPTS_MAX && state.decided.len() < ATTEMPTS_AT_ONCE {
            actions.extend((-1..=1).map(Action::Decide));
        }
        for attempt in 0..state.decided.len() {
            actions.extend([Action::Publish(attempt), Action::Lose(attempt)]);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick => state.now += 1,
            Action::Other => {
                state.others += 1;
                state.log.push(None);
            }
            Action::Decide(skew) => {
                state.attempts += 1;
                if self.appends(&state, state.now + skew) {
                    state.decided.push((state.log.len(), state.now));
                }
            }
            Action::Publish(attempt) => {
                let attempt = state.decided.remove(attempt);
                publish(&mut state, attempt);
            }
            Action::Lose(attempt) => {
                state.decided.remove(attempt);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a key is committed once", |_, state: &State| state.log.iter().flatten().count() <= 1),
            Property::sometimes("a key is committed", |_, state: &State| state.log.iter().any(Option::is_some)),
        ]
    }
}

#[test]
fn the_window_in_ticks_equals_the_duplicate_window() {
    let ticks = u32::try_from(WINDOW_TICKS).unwrap();
    assert_eq!(DUPLICATE_WINDOW, TICK * ticks);
}

#[test]
fn a_key_is_committed_once() {
    let checked = Appends(Rule::Current).checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
}

#[test]
fn a_key_from_the_future_could_be_committed_twice() {
    let checked = Appends(Rule::AcceptsFuture).checker().spawn_bfs().join();
    checked.assert_any_discovery("a key is committed once");
}
