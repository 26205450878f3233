//! A bounded model of appends with one idempotency key: two concurrent attempts, lost responses, other commits that push the
//! key out of the head, the clocks of writers, which show any time and jump, the clocks of servers, and the duplicate window of
//! the stream.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use std::time::Duration;

use domain::Timestamp;
use event_log::{DUPLICATE_WINDOW, SERVER_SKEW_MAX, ServerTime};
use stateright::{Checker as _, Model, Property};

use super::{CLOCK_LEEWAY, KeyAge, WINDOW_RESERVE, age_of};

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
/// How much the clock of a server may be ahead of the slowest one.
const SKEW_TICKS: i8 = 1;
/// How long after its decision an attempt is published at the latest: less than four ticks.
const PUBLISH_TICKS_MAX: i8 = 3;
/// The offsets of the clocks of writers: minutes and more, in both directions. A writer has any of them at any time.
const WRITER_CLOCKS: [i8; 7] = [-24, -12, -1, 0, 1, 12, 24];

/// The explored rule.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A key from the future is looked up and accepted; a key is young for the window minus the leeway.
    AcceptsFuture,
    /// The age is judged by the clock of the writer.
    OwnClock,
    /// The rule of the code, with publishes that arrive a tick too late.
    LatePublishes,
    /// The rule of the code.
    Current,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    now: i8,
    /// The record: for each commit with the key, the time of its storage by its leader; `None` for other commits.
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
    /// A writer decides an attempt.
    Decide(Clocks),
    /// The attempt is published to a leader whose clock is ahead by these ticks. Its response may be lost: the caller may always
    /// retry.
    Publish(usize, i8),
    /// The writer ends before it publishes.
    Lose(usize),
}

/// The clocks at a decision: how much each is ahead, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clocks {
    Writer(i8),
    /// The server, and how long its answer took.
    Server {
        ahead: i8,
        way: i8,
    },
}

#[derive(Debug, Clone, Copy)]
struct Appends(Rule);

fn time(ticks: i8) -> Timestamp {
    let tick = i64::try_from(TICK.as_nanos()).unwrap();
    Timestamp(i64::from(ticks) * tick)
}

/// The time that a writer judges by.
fn known_time(now: i8, clocks: Clocks) -> ServerTime {
    let (latest, way) = match clocks {
        Clocks::Writer(ahead) => (now + ahead, 0),
        Clocks::Server { ahead, way } => (now + ahead, way),
    };
    ServerTime { earliest: time(latest - way), latest: time(latest) }
}

impl Appends {
    /// The clocks that a writer may judge by.
    fn clocks(self) -> Vec<Clocks> {
        match self.0 {
            Rule::OwnClock => WRITER_CLOCKS.map(Clocks::Writer).into(),
            Rule::AcceptsFuture => (0..=SKEW_TICKS).map(Clocks::Writer).collect(),
            Rule::LatePublishes | Rule::Current => {
                let servers = (0..=SKEW_TICKS).flat_map(|ahead| [0, 1].map(|way| Clocks::Server { ahead, way }));
                servers.collect()
            }
        }
    }

    fn publish_ticks_max(self) -> i8 {
        match self.0 {
            Rule::LatePublishes => PUBLISH_TICKS_MAX + 1,
            Rule::AcceptsFuture | Rule::OwnClock | Rule::Current => PUBLISH_TICKS_MAX,
        }
    }

    fn age(self, now: i8, clocks: Clocks) -> KeyAge {
        let known = known_time(now, clocks);
        match self.0 {
            Rule::OwnClock | Rule::LatePublishes | Rule::Current => age_of(time(MADE_AT), known),
            Rule::AcceptsFuture => {
                let leeway = i8::try_from(CLOCK_LEEWAY.as_secs() / TICK.as_secs()).unwrap();
                let young = now - (WINDOW_TICKS - leeway)..=now + leeway;
                if young.contains(&MADE_AT) { KeyAge::Young { since: time(MADE_AT) } } else { KeyAge::Old }
            }
        }
    }

    /// Whether an attempt appends: the head does not name the key, and a look-up does not find it.
    fn appends(self, state: &State, clocks: Clocks) -> bool {
        let is_named = state.log.last().is_some_and(Option::is_some);
        let is_known = || state.log.iter().any(Option::is_some);
        !is_named
            && match self.age(state.now, clocks) {
                KeyAge::Young { .. } => true,
                KeyAge::Old => !is_known(),
                KeyAge::Ahead => false,
            }
    }
}

/// Stores the commit, unless the window contains the key or another commit is last. Then the attempt reads the outcome and
/// starts again.
fn publish(state: &mut State, expected: usize, ahead: i8) {
    let leader_time = state.now + ahead;
    let mut stored = state.log.iter().flatten();
    let is_known = stored.any(|at| leader_time - *at < WINDOW_TICKS);
    if state.log.len() == expected && !is_known {
        state.log.push(Some(leader_time));
    }
}

impl Model for Appends {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State { now: 0, log: vec![None], attempts: 0, others: 0, decided: Vec::new() }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        // An attempt is published in time, or never.
        let is_due = |(_, at): &(usize, i8)| *at + self.publish_ticks_max() <= state.now;
        if state.now < TICKS_MAX && !state.decided.iter().any(is_due) {
            actions.push(Action::Tick);
        }
        if state.others < OTHERS_MAX {
            actions.push(Action::Other);
        }
        if state.attempts < ATTEMPTS_MAX && state.decided.len() < ATTEMPTS_AT_ONCE {
            actions.extend(self.clocks().into_iter().map(Action::Decide));
        }
        for attempt in 0..state.decided.len() {
            actions.extend((0..=SKEW_TICKS).map(|ahead| Action::Publish(attempt, ahead)));
            actions.push(Action::Lose(attempt));
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
            Action::Decide(clocks) => {
                state.attempts += 1;
                if self.appends(&state, clocks) {
                    state.decided.push((state.log.len(), state.now));
                }
            }
            Action::Publish(attempt, ahead) => {
                let (expected, _) = state.decided.remove(attempt);
                publish(&mut state, expected, ahead);
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
    let ticks = |count: i8| TICK * u32::try_from(count).unwrap();
    assert_eq!(DUPLICATE_WINDOW, ticks(WINDOW_TICKS));
    assert_eq!(SERVER_SKEW_MAX, ticks(SKEW_TICKS));
    assert_eq!(WINDOW_RESERVE, SERVER_SKEW_MAX * 2 + ticks(PUBLISH_TICKS_MAX + 1));
}

#[test]
fn a_key_is_committed_once() {
    let checked = Appends(Rule::Current).checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
}

#[test]
fn a_key_could_be_committed_twice_by_other_rules() {
    for rule in [Rule::AcceptsFuture, Rule::OwnClock, Rule::LatePublishes] {
        let checked = Appends(rule).checker().threads(2).spawn_bfs().join();
        assert!(checked.discovery("a key is committed once").is_some(), "{rule:?}");
    }
}
