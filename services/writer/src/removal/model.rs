//! A bounded model of an erasure during an archive run and its trimming, with crashes at every step.
//!
//! One conversation has commits 0, 1 and 2. docs/explanation/protocols.md describes the states, the invariants and the
//! assumptions.

use std::time::Duration;

use domain::{ErasureStep, Sequence, Status, TOMBSTONE_IN_FLIGHT_MAX, erasure_step};
use stateright::{Checker as _, Model, Property};

/// The commits that an archive run may seal.
const SEALABLE: u8 = 0b011;
/// The sequence of a commit between an entry and its tombstone.
const LATE_COMMIT: u8 = 3;

/// The explored protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// The removal is a part of the call, segments start at any commit, and trimming is by range.
    Previous,
    /// The protocol of the code.
    Current,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Eraser {
    Idle,
    /// The entry is written; the tombstone may be in flight.
    Entered(u8),
    /// The tombstone is durable, and the call may return.
    Removing,
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Archiver {
    Idle,
    /// The catalogue has the draft; these commits are read.
    Read(u8),
    /// The segment is sealed; the record is trimmed next.
    Trimming,
    Ended,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// All appended commits, by bit.
    appended: u8,
    /// The commits in the record.
    held: u8,
    /// The sealed commits.
    sealed: u8,
    tombstone: bool,
    /// The expected last commit of a listed erasure.
    listed: Option<u8>,
    eraser: Eraser,
    archiver: Archiver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    AppendCommit,
    EnterErasure,
    AppendTombstone,
    /// The removal overwrites one commit.
    Overwrite(u8),
    EndRemoval,
    /// The process of the erasure ends, or its call is cancelled.
    CrashEraser,
    /// A writer reads the list; `is_old`: no tombstone of the entry can be in flight.
    Sweep {
        is_old: bool,
    },
    /// A replica without the first commits answers.
    ReadSegment {
        first: u8,
    },
    Seal,
    Trim,
    SweepSegments,
}

impl State {
    fn last(&self) -> u8 {
        7 - u8::try_from(self.appended.leading_zeros()).unwrap()
    }

    fn status(&self) -> Status {
        if self.tombstone { Status::Erased } else { Status::Active }
    }
}

impl Protocol {
    fn erase(self, state: &mut State, step: Step) -> Option<()> {
        match (step, state.eraser) {
            (Step::EnterErasure, Eraser::Idle) if !state.tombstone => {
                let last = state.last();
                if self == Self::Current {
                    state.listed = Some(state.listed.map_or(last, |one| one.max(last)));
                }
                state.eraser = Eraser::Entered(last);
            }
            // The append has an expected sequence: after the commit of another writer, the eraser starts again.
            (Step::AppendTombstone, Eraser::Entered(behind)) => {
                state.tombstone |= behind == state.last();
                state.eraser = if state.tombstone { Eraser::Removing } else { Eraser::Idle };
            }
            (Step::Overwrite(commit), Eraser::Removing) if state.held & (1 << commit) != 0 => {
                state.held &= !(1 << commit);
            }
            (Step::EndRemoval, Eraser::Removing) if state.held == 0 => {
                (state.listed, state.eraser) = (None, Eraser::Ended);
            }
            (Step::CrashEraser, Eraser::Entered(_) | Eraser::Removing) => {
                state.eraser = Eraser::Ended;
            }
            _ => return None,
        }
        Some(())
    }

    /// A sweep of the list, decided by the code of the writer.
    fn sweep(self, state: &mut State, is_old: bool) -> Option<()> {
        let behind = state.listed.filter(|_| self == Self::Current)?;
        // The assumption: a tombstone in flight arrives before its entry is old.
        if is_old && matches!(state.eraser, Eraser::Entered(_)) {
            return None;
        }
        let age = if is_old { TOMBSTONE_IN_FLIGHT_MAX } else { Duration::ZERO };
        let last = (Sequence(state.last().into()), state.status());
        match erasure_step(Sequence(behind.into()), age, Some(last)) {
            ErasureStep::Overwrite { .. } => state.eraser = Eraser::Removing,
            ErasureStep::Forget => state.listed = None,
            ErasureStep::Wait => return None,
        }
        Some(())
    }

    fn archive(self, state: &mut State, step: Step) -> Option<()> {
        match (step, state.archiver) {
            (Step::ReadSegment { first }, Archiver::Idle) if !state.tombstone => {
                let read = state.held & SEALABLE & !((1 << first) - 1);
                state.archiver = Archiver::Read(read);
            }
            (Step::Seal, Archiver::Read(read)) => {
                // A tombstone changes the entry in the catalogue: the run drops the segment.
                let has_first = self == Self::Previous || read & 1 != 0;
                let is_sealed = read != 0 && !state.tombstone && has_first;
                state.sealed |= if is_sealed { read } else { 0 };
                state.archiver = if is_sealed { Archiver::Trimming } else { Archiver::Ended };
            }
            (Step::Trim, Archiver::Trimming) => {
                let range = match self {
                    Self::Previous => SEALABLE,
                    Self::Current => state.sealed,
                };
                state.held &= if state.tombstone { u8::MAX } else { !range };
                state.archiver = Archiver::Ended;
            }
            (Step::SweepSegments, _) if state.tombstone && state.sealed != 0 => state.sealed = 0,
            _ => return None,
        }
        Some(())
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            appended: 0b111,
            held: 0b111,
            sealed: 0,
            tombstone: false,
            listed: None,
            eraser: Eraser::Idle,
            archiver: Archiver::Idle,
        }]
    }

    fn actions(&self, _state: &State, steps: &mut Vec<Step>) {
        steps.extend([
            Step::AppendCommit,
            Step::EnterErasure,
            Step::AppendTombstone,
            Step::EndRemoval,
            Step::CrashEraser,
            Step::Seal,
            Step::Trim,
            Step::SweepSegments,
        ]);
        steps.extend((0..=LATE_COMMIT).map(Step::Overwrite));
        steps.extend([false, true].map(|is_old| Step::Sweep { is_old }));
        steps.extend([0, 1].map(|first| Step::ReadSegment { first }));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::AppendCommit if !state.tombstone && state.last() < LATE_COMMIT => {
                next.appended |= 1 << LATE_COMMIT;
                next.held |= 1 << LATE_COMMIT;
            }
            Step::AppendCommit => return None,
            Step::EnterErasure | Step::AppendTombstone | Step::Overwrite(_) | Step::EndRemoval | Step::CrashEraser => {
                self.erase(&mut next, step)?;
            }
            Step::Sweep { is_old } => self.sweep(&mut next, is_old)?,
            Step::ReadSegment { .. } | Step::Seal | Step::Trim | Step::SweepSegments => {
                self.archive(&mut next, step)?;
            }
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NOTHING_IS_LOST, |_, state: &State| {
                state.tombstone || state.held | state.sealed == state.appended
            }),
            Property::always(REMOVAL_IS_FOUND, |_, state: &State| {
                let is_finished = state.held == 0;
                !state.tombstone || is_finished || state.listed.is_some() || state.eraser == Eraser::Removing
            }),
            Property::sometimes("an erasure is complete", |_, state: &State| {
                state.tombstone && state.held | state.sealed == 0 && state.listed.is_none()
            }),
            Property::sometimes("a segment is trimmed", |_, state: &State| {
                !state.tombstone && state.sealed != 0 && state.held & SEALABLE == 0
            }),
        ]
    }
}

const NOTHING_IS_LOST: &str = "a commit that is not erased is in the record or in a segment";
const REMOVAL_IS_FOUND: &str = "a tombstone with commits before it is listed or being removed";

#[test]
fn the_previous_protocol_loses_commits_and_removals() {
    let checked = Protocol::Previous.checker().spawn_bfs().join();
    for property in [NOTHING_IS_LOST, REMOVAL_IS_FOUND] {
        assert!(checked.discovery(property).is_some(), "{property}");
    }
}

#[test]
fn the_current_protocol_loses_none() {
    let checked = Protocol::Current.checker().spawn_bfs().join();
    checked.assert_properties();
    let states = checked.unique_state_count();
    assert!(states > 200, "{states}");
}
