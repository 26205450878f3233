//! A bounded model of one fork and two erasures of its parent by two writers, which can crash at every step.
//!
//! docs/explanation/protocols.md describes the states, the invariants and the assumptions.

use std::time::Duration;

use domain::{
    ErasureStep, FORKS_HELD_MAX, ForkStep, Sequence, Status, TOMBSTONE_IN_FLIGHT_MAX, erasure_step, fork_step,
};
use stateright::{Checker as _, Model, Property};

/// The maximum sequence of the parent.
const LAST_MAX: u8 = 2;

/// The explored protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// A fork is acknowledged after its append.
    Unconfirmed,
    /// The parent is read again after the append of the fork, but no fork waits for an erasure.
    WithoutWait,
    /// Like the current protocol, but a rejected erasure also removes an entry that replaced the entry of another erasure.
    AlwaysWithdrawing,
    /// The protocol of the code.
    Current,
}

/// An entry of the list of pending erasures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Entry {
    behind: u8,
    /// Its last writer.
    by: usize,
    /// Whether it has not changed for [`FORKS_HELD_MAX`].
    is_old: bool,
}

impl Entry {
    fn seen_by_fork(self) -> (Sequence, Duration) {
        let age = if self.is_old { FORKS_HELD_MAX } else { Duration::ZERO };
        (Sequence(self.behind.into()), age)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Eraser {
    Idle,
    /// The entry is written. `may_withdraw`: a rejected erasure removes it.
    Entered {
        behind: u8,
        may_withdraw: bool,
    },
    /// No fork was found, or forks are severed.
    Checked {
        behind: u8,
    },
    /// The writer crashed while it published the tombstone.
    InFlight {
        behind: u8,
    },
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Forker {
    Idle,
    /// The parent exists.
    Checked,
    /// The fork is appended.
    Appended,
    /// The parent's entry is read.
    EntryRead(Option<Entry>),
    Acknowledged,
    Rejected,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Whether each erasure severs forks.
    severs: [bool; 2],
    /// The parent's last commit.
    last: u8,
    /// Whether the existing tombstone severs forks.
    tombstone: Option<bool>,
    entry: Option<Entry>,
    erasers: [Eraser; 2],
    forker: Forker,
    is_fork_after_tombstone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    AppendToParent,
    Enter(usize),
    CheckForks(usize),
    AppendTombstone(usize),
    Crash(usize),
    /// A published tombstone arrives, or is lost.
    Arrive(usize),
    Vanish(usize),
    GrowOld,
    Sweep,
    CheckParent,
    AppendFork,
    ReadEntry,
    ReadParent,
    /// The response of the fork is lost, or its wait timed out: its caller retries.
    RetryFork,
}

impl State {
    fn last(&self) -> (Sequence, Status) {
        let status = match self.tombstone {
            Some(_) => Status::Erased,
            None => Status::Active,
        };
        (Sequence(self.last.into()), status)
    }

    fn fork_exists(&self) -> bool {
        !matches!(self.forker, Forker::Idle | Forker::Checked | Forker::Rejected)
    }

    fn is_acknowledged(&self) -> bool {
        self.forker == Forker::Acknowledged
    }

    /// The append has the expected sequence `behind`.
    fn append_tombstone(&mut self, eraser: usize, behind: u8) {
        if self.tombstone.is_none() && behind == self.last {
            self.tombstone = Some(self.severs[eraser]);
            self.last += 1;
        }
    }
}

impl Protocol {
    fn erase(self, state: &mut State, step: Step) -> Option<()> {
        let (Step::Enter(by)
        | Step::CheckForks(by)
        | Step::AppendTombstone(by)
        | Step::Crash(by)
        | Step::Arrive(by)
        | Step::Vanish(by)) = step
        else {
            return None;
        };
        state.erasers[by] = match (step, state.erasers[by]) {
            (Step::Enter(_), Eraser::Idle) if state.tombstone.is_none() => {
                let earlier = state.entry.map(Entry::seen_by_fork);
                let may_withdraw = fork_step(earlier, Some(state.last())) == ForkStep::Acknowledge;
                let behind = state.last;
                state.entry =
                    Some(Entry { behind: state.entry.map_or(behind, |one| one.behind.max(behind)), by, is_old: false });
                Eraser::Entered { behind, may_withdraw: may_withdraw || self == Self::AlwaysWithdrawing }
            }
            (Step::CheckForks(_), Eraser::Entered { behind, may_withdraw }) => {
                if state.severs[by] || !state.fork_exists() {
                    Eraser::Checked { behind }
                } else {
                    // It removes only an entry that it wrote last.
                    state.entry = state.entry.filter(|one| !may_withdraw || one.by != by);
                    Eraser::Ended
                }
            }
            (Step::AppendTombstone(_), Eraser::Checked { behind }) | (Step::Arrive(_), Eraser::InFlight { behind }) => {
                state.append_tombstone(by, behind);
                Eraser::Ended
            }
            (Step::Crash(_), Eraser::Checked { behind }) => Eraser::InFlight { behind },
            (Step::Crash(_), Eraser::Entered { .. }) | (Step::Vanish(_), Eraser::InFlight { .. }) => Eraser::Ended,
            _ => return None,
        };
        Some(())
    }

    fn fork(self, state: &mut State, step: Step) -> Option<()> {
        state.forker = match (step, state.forker) {
            (Step::CheckParent, Forker::Idle) if state.tombstone.is_some() => Forker::Rejected,
            (Step::CheckParent, Forker::Idle) => Forker::Checked,
            (Step::AppendFork, Forker::Checked) => {
                state.is_fork_after_tombstone = state.tombstone.is_some();
                Forker::Appended
            }
            (Step::ReadEntry, Forker::Appended) if self == Self::Unconfirmed => Forker::Acknowledged,
            (Step::ReadEntry, Forker::Appended) => Forker::EntryRead(state.entry.filter(|_| self != Self::WithoutWait)),
            (Step::ReadParent, Forker::EntryRead(entry)) => {
                match fork_step(entry.map(Entry::seen_by_fork), Some(state.last())) {
                    ForkStep::Undo => Forker::Rejected,
                    ForkStep::Wait => Forker::Appended,
                    ForkStep::Acknowledge => Forker::Acknowledged,
                }
            }
            (Step::RetryFork, Forker::EntryRead(_)) => Forker::Appended,
            _ => return None,
        };
        Some(())
    }

    /// A sweep of the list, decided by the code of the writer.
    fn sweep(state: &mut State) -> Option<()> {
        let entry = state.entry?;
        let age = if entry.is_old { TOMBSTONE_IN_FLIGHT_MAX } else { Duration::ZERO };
        match erasure_step(Sequence(entry.behind.into()), age, Some(state.last())) {
            // The whole removal, and the removal of the entry.
            ErasureStep::Overwrite { .. } | ErasureStep::Forget => state.entry = None,
            ErasureStep::Wait => return None,
        }
        Some(())
    }

    /// The assumption: when an entry is old, no tombstone of it or of an earlier entry is in flight.
    fn grow_old(state: &mut State) -> Option<()> {
        let is_decided = |eraser: &Eraser| matches!(eraser, Eraser::Idle | Eraser::Ended);
        if !state.erasers.iter().all(is_decided) {
            return None;
        }
        state.entry.as_mut()?.is_old = true;
        Some(())
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let begun = [false, true].map(|other| State {
            severs: [false, other],
            last: 0,
            tombstone: None,
            entry: None,
            erasers: [Eraser::Idle; 2],
            forker: Forker::Idle,
            is_fork_after_tombstone: false,
        });
        begun.into()
    }

    fn actions(&self, _state: &State, steps: &mut Vec<Step>) {
        for by in [0, 1] {
            steps.extend([
                Step::Enter(by),
                Step::CheckForks(by),
                Step::AppendTombstone(by),
                Step::Crash(by),
                Step::Arrive(by),
                Step::Vanish(by),
            ]);
        }
        steps.extend([
            Step::AppendToParent,
            Step::GrowOld,
            Step::Sweep,
            Step::CheckParent,
            Step::AppendFork,
            Step::ReadEntry,
            Step::ReadParent,
            Step::RetryFork,
        ]);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::AppendToParent if state.tombstone.is_none() && state.last < LAST_MAX => {
                next.last += 1;
            }
            Step::AppendToParent => return None,
            Step::GrowOld => Self::grow_old(&mut next)?,
            Step::Sweep => Self::sweep(&mut next)?,
            Step::CheckParent | Step::AppendFork | Step::ReadEntry | Step::ReadParent | Step::RetryFork => {
                self.fork(&mut next, step)?;
            }
            Step::Enter(_)
            | Step::CheckForks(_)
            | Step::AppendTombstone(_)
            | Step::Crash(_)
            | Step::Arrive(_)
            | Step::Vanish(_) => self.erase(&mut next, step)?,
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NO_LOSS, |_, state: &State| !(state.is_acknowledged() && state.tombstone == Some(false))),
            Property::always(NO_ORPHAN, |_, state: &State| !(state.is_acknowledged() && state.is_fork_after_tombstone)),
            Property::sometimes(REJECTED, |_, state: &State| {
                state.is_acknowledged() && state.entry.is_none() && state.erasers[0] == Eraser::Ended
            }),
            Property::sometimes(OLD_ENTRY, |_, state: &State| {
                state.is_acknowledged() && state.entry.is_some_and(|entry| entry.is_old)
            }),
            Property::sometimes(ERASED, |_, state: &State| {
                state.tombstone == Some(false) && state.forker == Forker::Rejected
            }),
            Property::sometimes("a fork is severed", |_, state: &State| {
                state.is_acknowledged() && state.tombstone == Some(true)
            }),
        ]
    }
}

const NO_LOSS: &str = "no acknowledged fork loses its parent to an erasure that refuses forks";
const NO_ORPHAN: &str = "no fork is acknowledged that was appended after its parent's tombstone";
const REJECTED: &str = "a fork is acknowledged, and an erasure is rejected";
const OLD_ENTRY: &str = "a fork is acknowledged although there is an old entry";
const ERASED: &str = "an erasure that refuses forks is complete";

#[test]
fn other_protocols_lose_acknowledged_forks() {
    for protocol in [Protocol::Unconfirmed, Protocol::WithoutWait, Protocol::AlwaysWithdrawing] {
        let checked = protocol.checker().spawn_bfs().join();
        let orphan = checked.discovery(NO_ORPHAN);
        assert_eq!(orphan.is_some(), protocol == Protocol::Unconfirmed);
        assert!(checked.discovery(NO_LOSS).is_some(), "{protocol:?}");
    }
}

#[test]
fn the_current_protocol_loses_none() {
    let checked = Protocol::Current.checker().spawn_bfs().join();
    checked.assert_properties();
    let states = checked.unique_state_count();
    assert!(states > 1_000, "{states}");
}
