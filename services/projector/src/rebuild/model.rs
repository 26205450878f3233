//! A bounded model of projection with leases, and of a switch to a rebuilt schema that reads a lagging replica.
//!
//! docs/explanation/protocols.md describes the states, the invariants and the assumptions.

use domain::Sequence;
use stateright::{Checker as _, Model, Property};

use super::end::is_end;

/// Maximum number of appended commits.
const COMMITS_MAX: u8 = 3;
/// Maximum number of times that a lease is taken.
const EPOCHS_MAX: u8 = 4;

/// The explored protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// The replica determines the end of the stream, as in an earlier version.
    EndFromReplica,
    /// The leader determines the end of the stream, as implemented.
    EndFromLeader,
}

/// The rows and the checkpoint of a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Schema {
    /// Commits in the rows, as bits.
    rows: u8,
    checkpoint: u8,
    epoch: u8,
}

/// A projector: the lease that it may still hold, and its read commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Projector {
    schema: u8,
    epoch: u8,
    from: u8,
    read: Option<u8>,
}

/// A switch: takes all leases, catches up one schema after the other, and moves the pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Switch {
    Idle,
    CatchingUp { epochs: [u8; 2], to: u8, schema: u8 },
    Flipping { epochs: [u8; 2] },
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Commits on the leader, as bits; erased ones are missing.
    held: u8,
    /// The last assigned sequence.
    last: u8,
    /// The last sequence of the replica that the switch reads.
    replica: u8,
    schemas: [Schema; 2],
    live: u8,
    projectors: [Projector; 2],
    switch: Switch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Append,
    /// Erases a commit that is not the last.
    Erase(u8),
    Replicate,
    TakeLease(usize),
    Read(usize),
    Write(usize),
    TakeAll,
    CatchUp,
    Flip,
}

/// The commits up to a sequence.
fn up_to(sequence: u8) -> u8 {
    (1_u16 << (sequence + 1)).wrapping_sub(2).to_le_bytes()[0]
}

/// The first commit after a sequence.
fn next_of(held: u8, after: u8) -> Option<u8> {
    (after + 1..=COMMITS_MAX).find(|sequence| held & (1 << sequence) != 0)
}

impl Protocol {
    /// One transaction: rows and checkpoint, or nothing.
    fn write(schema: &mut Schema, epoch: u8, (previous, last, rows): (u8, u8, u8)) -> bool {
        if schema.epoch != epoch || schema.checkpoint != previous {
            return false;
        }
        schema.rows |= rows;
        schema.checkpoint = last;
        true
    }

    fn project(state: &mut State, step: Step) -> Option<()> {
        match step {
            Step::TakeLease(one) => {
                let schema = &mut state.schemas[usize::from(state.live)];
                if schema.epoch >= EPOCHS_MAX {
                    return None;
                }
                schema.epoch += 1;
                state.projectors[one] =
                    Projector { schema: state.live, epoch: schema.epoch, from: schema.checkpoint, read: None };
            }
            Step::Read(one) => {
                let projector = &mut state.projectors[one];
                if projector.epoch == 0 || projector.read.is_some() {
                    return None;
                }
                projector.read = Some(next_of(state.held, projector.from)?);
            }
            Step::Write(one) => {
                let projector = &mut state.projectors[one];
                let last = projector.read.take()?;
                let schema = &mut state.schemas[usize::from(projector.schema)];
                let batch = (projector.from, last, 1 << last);
                if Self::write(schema, projector.epoch, batch) {
                    projector.from = last;
                } else {
                    *projector = Projector::default();
                }
            }
            Step::Append | Step::Erase(_) | Step::Replicate | Step::TakeAll | Step::CatchUp | Step::Flip => {
                return None;
            }
        }
        Some(())
    }

    fn take_all(state: &mut State) -> Option<()> {
        if state.switch != Switch::Idle {
            return None;
        }
        for schema in &mut state.schemas {
            schema.epoch += 1;
        }
        let [from, to] = state.schemas;
        state.switch =
            Switch::CatchingUp { epochs: [from.epoch, to.epoch], to: from.checkpoint.max(to.checkpoint), schema: 0 };
        Some(())
    }

    /// Reads one message of the replica, or the end.
    fn catch_up(self, state: &mut State) -> Option<()> {
        let Switch::CatchingUp { epochs, to, schema } = state.switch else {
            return None;
        };
        let index = usize::from(schema);
        let previous = state.schemas[index].checkpoint;
        let (read, rows) = if previous >= to {
            (previous, 0)
        } else {
            let on_leader = |after| next_of(state.held, after).map(|next| Sequence(next.into()));
            let leader_ends = |after: u8| is_end(Sequence(after.into()), Sequence(to.into()), on_leader(after));
            let replicated = state.held & up_to(state.replica);
            match next_of(replicated, previous) {
                _ if self != Self::EndFromReplica && leader_ends(previous) => (to, 0),
                None => return None,
                Some(next) => {
                    let is_last = next_of(replicated, next).is_none();
                    let ends = next >= to || is_last && (self == Self::EndFromReplica || leader_ends(next));
                    let rows = if next <= to { 1 << next } else { 0 };
                    (if ends { to } else { next }, rows)
                }
            }
        };
        let batch = (previous, read, rows);
        if !Self::write(&mut state.schemas[index], epochs[index], batch) {
            state.switch = Switch::Ended;
        } else if read >= to {
            state.switch = match schema {
                0 => Switch::CatchingUp { epochs, to, schema: 1 },
                _ => Switch::Flipping { epochs },
            };
        }
        Some(())
    }

    fn flip(state: &mut State) -> Option<()> {
        let Switch::Flipping { epochs } = state.switch else {
            return None;
        };
        let is_held = state.schemas.map(|schema| schema.epoch) == epochs;
        if is_held {
            state.live = 1;
        }
        state.switch = Switch::Ended;
        Some(())
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            held: 0,
            last: 0,
            replica: 0,
            schemas: [Schema::default(); 2],
            live: 0,
            projectors: [Projector::default(); 2],
            switch: Switch::Idle,
        }]
    }

    fn actions(&self, _state: &State, steps: &mut Vec<Step>) {
        steps.extend([Step::Append, Step::Replicate, Step::TakeAll, Step::CatchUp, Step::Flip]);
        steps.extend((1..=COMMITS_MAX).map(Step::Erase));
        for one in 0..2 {
            steps.extend([Step::TakeLease(one), Step::Read(one), Step::Write(one)]);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Append if state.last < COMMITS_MAX => {
                next.last += 1;
                next.held |= 1 << next.last;
            }
            Step::Erase(commit) if commit < state.last => next.held &= !(1 << commit),
            Step::Replicate if state.replica < state.last => next.replica += 1,
            Step::Append | Step::Erase(_) | Step::Replicate => return None,
            Step::TakeLease(_) | Step::Read(_) | Step::Write(_) => Self::project(&mut next, step)?,
            Step::TakeAll => Self::take_all(&mut next)?,
            Step::CatchUp => self.catch_up(&mut next)?,
            Step::Flip => Self::flip(&mut next)?,
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ROWS_ARE_COMPLETE, |_, state: &State| {
                let is_complete = |schema: &Schema| {
                    let due = state.held & up_to(schema.checkpoint);
                    due & !schema.rows == 0
                };
                state.schemas.iter().all(is_complete)
            }),
            Property::sometimes("readers are switched", |_, state: &State| {
                state.live == 1 && state.schemas[1].checkpoint == COMMITS_MAX
            }),
        ]
    }
}

const ROWS_ARE_COMPLETE: &str = "rows contain every commit of the record up to their checkpoint";

#[test]
fn an_end_from_the_replica_loses_commits() {
    let checked = Protocol::EndFromReplica.checker().spawn_bfs().join();
    assert!(checked.discovery(ROWS_ARE_COMPLETE).is_some());
}

#[test]
fn an_end_from_the_leader_keeps_rows_complete() {
    let checked = Protocol::EndFromLeader.checker().spawn_bfs().join();
    checked.assert_properties();
    assert!(checked.unique_state_count() > 10_000, "{}", checked.unique_state_count());
}
