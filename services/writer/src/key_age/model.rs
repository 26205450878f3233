//! The protocol of appends under one idempotency key, explored exhaustively within bounds: two attempts at once, lost answers,
//! other commits that push the key out of the head, writers' clocks, and the stream's duplicate window.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use std::time::Duration;

use domain::Timestamp;
use event_log::DUPLICATE_WINDOW;
use stateright::{Checker as _, Model, Property};

use super::{CLOCK_LEEWAY, KeyAge, age_of};

/// One tick of the model's time.
const TICK: Duration = Duration::from_secs(30);
/// The time in the key: as time goes by, it is far ahead, young, and older than the window.
const MADE_AT: i8 = 24;
/// How long the model runs.
const TICKS_MAX: i8 = 48;
/// The duplicate window in ticks.
const WINDOW_TICKS: i8 = 20;
/// Most attempts of the caller, and of them at once.
const ATTEMPTS_MAX: u8 = 3;
const ATTEMPTS_AT_ONCE: usize = 2;
/// Most commits of others: one is enough to push a key out of a head that names one commit.
const OTHERS_MAX: u8 = 2;

/// The rule by which a key is judged.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// As it was: a key from the future is looked up and accepted, and young up to the window less the leeway.
    AcceptsTheFuture,
    /// As it is.
    Current,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now: i8,
    /// The record: of each commit when it was stored, where the key is its id; `None`: it is another one.
    log: Vec<Option<i8>>,
    attempts: u8,
    others: u8,
    /// Attempts that are decided and not published: the last commit that they expect, and when they were decided.
    decided: Vec<(usize, i8)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Tick,
    Other,
    /// An attempt is decided by a writer whose clock is off by so many ticks.
    Decide(i8),
    /// The attempt is published. Its answer may be lost: the caller may try again in any case.
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
            Rule::AcceptsTheFuture => {
                let leeway = i8::try_from(CLOCK_LEEWAY.as_secs() / TICK.as_secs()).unwrap();
                let young = clock - (WINDOW_TICKS - leeway)..=clock + leeway;
                if young.contains(&MADE_AT) {
                    KeyAge::Young {
                        since: time(MADE_AT),
                    }
                } else {
                    KeyAge::Old
                }
            }
        }
    }

    /// Whether an attempt goes on to append: the head does not name the key, and nobody else must know it.
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

/// The commit is stored unless the window knows the key or another commit is last; then the outcome is read, and the attempt is
/// an attempt again.
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
        vec![State {
            now: 0,
            log: vec![None],
            attempts: 0,
            others: 0,
            decided: Vec::new(),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // An attempt is published within a tick, or never.
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
            Property::always("a key is committed once", |_, state: &State| {
                state.log.iter().flatten().count() <= 1
            }),
            Property::sometimes("a key is committed", |_, state: &State| {
                state.log.iter().any(Option::is_some)
            }),
        ]
    }
}

#[test]
fn the_window_in_ticks_is_the_streams() {
    assert_eq!(
        DUPLICATE_WINDOW,
        TICK * u32::try_from(WINDOW_TICKS).unwrap()
    );
}

#[test]
fn a_key_is_committed_once() {
    let checked = Appends(Rule::Current)
        .checker()
        .threads(2)
        .spawn_bfs()
        .join();
    checked.assert_properties();
}

#[test]
fn a_key_from_the_future_was_committed_twice() {
    let checked = Appends(Rule::AcceptsTheFuture).checker().spawn_bfs().join();
    checked.assert_any_discovery("a key is committed once");
}
