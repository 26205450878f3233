//! The protocol of reads from lagging replicas, explored exhaustively within bounds: two conversations of one partition, a
//! follower, the rows, and a caller that writes and reads.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use domain::Sequence;
use stateright::{Checker as _, Model, Property};

use super::decision::{ReadState, Source, Step, step};

/// Maximum number of commits of the partition.
const COMMITS_MAX: usize = 4;
/// Maximum number of reads of the caller.
const READS_MAX: u8 = 2;
/// The conversations of the partition.
const CONVERSATIONS: [u8; 2] = [0, 1];

/// Which reads use more than a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The answer of a replica is final, as in an earlier version.
    Unfenced,
    /// [`step`] decides, as implemented.
    Fenced,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct State {
    /// The conversations of the commits on the leader, in order. The sequence of a commit is its index plus 1.
    log: Vec<u8>,
    /// Number of commits on the follower.
    follower: usize,
    /// Number of commits in the rows.
    rows: usize,
    /// The position token of the caller: the number of commits at its last acknowledgement.
    token: usize,
    reads: u8,
    reading: Option<PendingRead>,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PendingRead {
    conversation: u8,
    /// The token of the read, or 0.
    fence: usize,
    /// The last commit of the conversation that the answer must contain.
    required: usize,
    /// Whether the conversation existed when the read started.
    existed: bool,
    next: Next,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Next {
    /// Read rows and a replica.
    Replica,
    /// Read the last sequence of the partition from the leader.
    Partition,
    /// Read the last commit from the leader, after the last sequence of the partition; 0: not read.
    Last { partition: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Answer {
    last: usize,
    reading: PendingRead,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    /// A commit by the caller or by another writer.
    Commit { conversation: u8, is_callers: bool },
    /// The follower applies a commit.
    Apply,
    /// The projector writes the rows of a commit.
    Project,
    /// The caller reads with or without its token.
    Read { conversation: u8, is_fenced: bool },
    /// The read executes its next step.
    Advance,
}

struct Reads(Rule);

fn sequence(number: usize) -> Sequence {
    Sequence(u64::try_from(number).unwrap())
}

/// The last commit of a conversation among the first `count`; 0: none.
fn last_of(log: &[u8], conversation: u8, count: usize) -> usize {
    let mut commits = log.iter().take(count);
    let index = commits.rposition(|other| *other == conversation);
    index.map_or(0, |index| index + 1)
}

impl State {
    fn read(&mut self, conversation: u8, is_fenced: bool) {
        let fence = if is_fenced { self.token } else { 0 };
        self.reads += 1;
        self.answer = None;
        self.reading = Some(PendingRead {
            conversation,
            fence,
            required: last_of(&self.log, conversation, fence),
            existed: last_of(&self.log, conversation, self.log.len()) > 0,
            next: Next::Replica,
        });
    }

    fn advance(&mut self, rule: Rule) {
        let Some(mut reading) = self.reading.take() else {
            return;
        };
        let all = self.log.len();
        let (count, source) = match reading.next {
            Next::Replica => (self.follower.max(self.rows), Source::Replica),
            Next::Partition => {
                reading.next = Next::Last { partition: all };
                self.reading = Some(reading);
                return;
            }
            Next::Last { partition } => {
                let partition = sequence(partition);
                (all, Source::Leader { partition })
            }
        };
        let last = last_of(&self.log, reading.conversation, count);
        let read = ReadState { source, last: sequence(last), is_running: false };
        let next = match rule {
            Rule::Unfenced => Step::Answer,
            Rule::Fenced => step(read, sequence(reading.fence)),
        };
        reading.next = match next {
            Step::Answer => {
                let answer = Answer { last, reading, source };
                self.answer = Some(answer);
                return;
            }
            Step::AskLeader => Next::Last { partition: 0 },
            Step::AskPartition | Step::AskPrimary | Step::Wait => Next::Partition,
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
                actions.extend([true, false].map(|is_callers| Action::Commit { conversation, is_callers }));
            }
            if state.reading.is_none() && state.reads < READS_MAX {
                actions.extend([true, false].map(|is_fenced| Action::Read { conversation, is_fenced }));
            }
        }
        if state.follower < state.log.len() {
            actions.push(Action::Apply);
        }
        if state.rows < state.log.len() {
            actions.push(Action::Project);
        }
        if state.reading.is_some() {
            actions.push(Action::Advance);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Commit { conversation, is_callers } => {
                state.log.push(conversation);
                if is_callers {
                    state.token = state.log.len();
                }
            }
            Action::Apply => state.follower += 1,
            Action::Project => state.rows += 1,
            Action::Read { conversation, is_fenced } => state.read(conversation, is_fenced),
            Action::Advance => state.advance(self.0),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(INCLUDES_WRITES, |_, state: &State| {
                let includes = |answer: &Answer| answer.last >= answer.reading.required;
                state.answer.as_ref().is_none_or(includes)
            }),
            Property::always(FINDS_CONVERSATIONS, |_, state: &State| {
                let is_true = |answer: &Answer| answer.last > 0 || !answer.reading.existed;
                state.answer.as_ref().is_none_or(is_true)
            }),
            Property::always(TERMINATES, |_, state: &State| {
                // The leader has every acknowledged commit, so one read of the partition's last sequence is enough.
                let again = |reading: &PendingRead| reading.next == Next::Partition && reading.fence > state.log.len();
                !state.reading.as_ref().is_some_and(again)
            }),
            Property::sometimes(USES_REPLICA, |_, state: &State| {
                let is_from_replica = |answer: &Answer| answer.source == Source::Replica && answer.reading.fence > 0;
                state.answer.as_ref().is_some_and(is_from_replica)
            }),
        ]
    }
}

const INCLUDES_WRITES: &str = "a read contains the commit of its token";
const FINDS_CONVERSATIONS: &str = "a read finds every conversation that existed before it";
const TERMINATES: &str = "no token is ahead of the leader";
const USES_REPLICA: &str = "a replica answers a read with a token";

#[test]
fn reads_contain_the_commits_of_their_tokens() {
    let checked = Reads(Rule::Fenced).checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
}

#[test]
fn reads_without_fences_miss_writes_and_conversations() {
    let checked = Reads(Rule::Unfenced).checker().spawn_bfs().join();
    checked.assert_any_discovery(INCLUDES_WRITES);
    checked.assert_any_discovery(FINDS_CONVERSATIONS);
}
