//! The protocol of reads from replicas that lag, explored exhaustively within bounds: two conversations of one partition, a
//! follower, the rows, and a caller who writes and reads.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use domain::Sequence;
use stateright::{Checker as _, Model, Property};

use super::decision::{Seen, Source, Step, step};

/// Most commits of the partition.
const COMMITS_MAX: usize = 4;
/// Most reads of the caller.
const READS_MAX: u8 = 2;
/// The conversations of the partition.
const CONVERSATIONS: [u8; 2] = [0, 1];

/// Which reads ask for more than a replica says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As it was: what a replica says is answered.
    Unfenced,
    /// As it is: [`step`].
    Fenced,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct State {
    /// The leader's commits in order: the conversation of each. The place of a commit, from 1 on, is its sequence.
    log: Vec<u8>,
    /// How many of them the follower holds.
    follower: usize,
    /// How many of them the rows hold.
    rows: usize,
    /// How many commits there were at the caller's last acknowledgement: the caller's token.
    token: usize,
    reads: u8,
    reading: Option<Reading>,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Reading {
    conversation: u8,
    /// The token that the read gives, or 0.
    fence: usize,
    /// The last commit of the conversation among those that the answer must hold.
    must: usize,
    /// Whether the conversation was there when the read began.
    was_there: bool,
    next: Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Next {
    /// Rows and a replica are asked.
    Replica,
    /// The leader is asked how far the partition reaches.
    Partition,
    /// The leader is asked for the last commit, after it said how far the partition reaches; 0: it was not asked.
    Last { partition: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Answer {
    last: usize,
    reading: Reading,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    /// A commit; by the caller or by somebody else.
    Commit { conversation: u8, is_callers: bool },
    /// The follower applies a commit.
    Apply,
    /// The projector writes a commit's rows.
    Project,
    /// The caller reads, with the token or without one.
    Read { conversation: u8, is_fenced: bool },
    /// The read asks whom it must ask next.
    Ask,
}

struct Reads(Rule);

fn sequence(place: usize) -> Sequence {
    Sequence(u64::try_from(place).unwrap())
}

/// The last commit of a conversation among the first `count`; 0: none.
fn last_of(log: &[u8], conversation: u8, count: usize) -> usize {
    let mut known = log.iter().take(count);
    let place = known.rposition(|of| *of == conversation);
    place.map_or(0, |index| index + 1)
}

impl State {
    fn read(&mut self, conversation: u8, is_fenced: bool) {
        let fence = if is_fenced { self.token } else { 0 };
        self.reads += 1;
        self.answer = None;
        self.reading = Some(Reading {
            conversation,
            fence,
            must: last_of(&self.log, conversation, fence),
            was_there: last_of(&self.log, conversation, self.log.len()) > 0,
            next: Next::Replica,
        });
    }

    fn ask(&mut self, rule: Rule) {
        let Some(mut reading) = self.reading.take() else {
            return;
        };
        let all = self.log.len();
        let (last, source) = match reading.next {
            Next::Replica => {
                let known = self.follower.max(self.rows);
                (
                    last_of(&self.log, reading.conversation, known),
                    Source::Replica,
                )
            }
            Next::Partition => {
                reading.next = Next::Last { partition: all };
                self.reading = Some(reading);
                return;
            }
            Next::Last { partition } => {
                let partition = sequence(partition);
                (
                    last_of(&self.log, reading.conversation, all),
                    Source::Leader { partition },
                )
            }
        };
        let seen = Seen {
            source,
            last: sequence(last),
            is_running: false,
        };
        let next = match rule {
            Rule::Unfenced => Step::Answer,
            Rule::Fenced => step(seen, sequence(reading.fence)),
        };
        reading.next = match next {
            Step::Answer => {
                let answer = Answer {
                    last,
                    reading,
                    source,
                };
                self.answer = Some(answer);
                return;
            }
            Step::AskLeader => Next::Last { partition: 0 },
            Step::AskPartition | Step::Wait => Next::Partition,
        };
        self.reading = Some(reading);
    }
}

impl Model for Reads {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::default()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for conversation in CONVERSATIONS {
            if state.log.len() < COMMITS_MAX {
                actions.extend([true, false].map(|is_callers| Action::Commit {
                    conversation,
                    is_callers,
                }));
            }
            if state.reading.is_none() && state.reads < READS_MAX {
                actions.extend([true, false].map(|is_fenced| Action::Read {
                    conversation,
                    is_fenced,
                }));
            }
        }
        if state.follower < state.log.len() {
            actions.push(Action::Apply);
        }
        if state.rows < state.log.len() {
            actions.push(Action::Project);
        }
        if state.reading.is_some() {
            actions.push(Action::Ask);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Commit {
                conversation,
                is_callers,
            } => {
                state.log.push(conversation);
                if is_callers {
                    state.token = state.log.len();
                }
            }
            Action::Apply => state.follower += 1,
            Action::Project => state.rows += 1,
            Action::Read {
                conversation,
                is_fenced,
            } => state.read(conversation, is_fenced),
            Action::Ask => state.ask(self.0),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(HOLDS, |_, state: &State| {
                let holds = |answer: &Answer| answer.last >= answer.reading.must;
                state.answer.as_ref().is_none_or(holds)
            }),
            Property::always(ABSENT, |_, state: &State| {
                let is_true = |answer: &Answer| answer.last > 0 || !answer.reading.was_there;
                state.answer.as_ref().is_none_or(is_true)
            }),
            Property::always(ENDS, |_, state: &State| {
                // The leader holds every acknowledged commit: the second answer to a question about the partition is the last.
                let again = |reading: &Reading| {
                    reading.next == Next::Partition && reading.fence > state.log.len()
                };
                !state.reading.as_ref().is_some_and(again)
            }),
            Property::sometimes(CHEAP, |_, state: &State| {
                let is_cheap =
                    |answer: &Answer| answer.source == Source::Replica && answer.reading.fence > 0;
                state.answer.as_ref().is_some_and(is_cheap)
            }),
        ]
    }
}

const HOLDS: &str = "a read holds what its token names";
const ABSENT: &str = "only what is not there is not found";
const ENDS: &str = "no token is ahead of the leader";
const CHEAP: &str = "a read with a token is answered by a replica";

#[test]
fn reads_hold_what_their_tokens_name() {
    let checked = Reads(Rule::Fenced).checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
}

#[test]
fn reads_without_fences_missed_writes_and_conversations() {
    let checked = Reads(Rule::Unfenced).checker().spawn_bfs().join();
    checked.assert_any_discovery(HOLDS);
    checked.assert_any_discovery(ABSENT);
}
