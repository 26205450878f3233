//! Reads of rows from replicas of Postgres, explored exhaustively within bounds: the commits of one conversation, the rows of
//! the primary and of two replicas, which may restart, and a caller that writes and reads.
//!
//! A read has two statements: the row of the conversation, and then its events. Rows that a snapshot includes are not read from the
//! record, so the second statement must find them.
//!
//! docs/explanation/protocols.md describes states, invariants and assumptions.

use domain::Sequence;
use stateright::{Checker as _, Model, Property};

use super::decision::{ReadState, Source, Step, step};

/// Maximum number of commits.
const COMMITS_MAX: u8 = 3;
/// Maximum number of reads of the caller.
const READS_MAX: u8 = 2;
/// Maximum number of restarts of replicas.
const RESTARTS_MAX: u8 = 1;

/// Which server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As implemented: [`step`] decides, and one replica answers a read until it restarts.
    Pinned,
    /// The rows of a replica are final for reads that skip the record.
    Unfenced,
    /// Each statement may use another replica.
    Unpinned,
    /// A replica that restarted continues its reads.
    RestartsIgnored,
}

/// A server of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Server {
    Primary,
    Replica(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct State {
    /// Number of commits in the record.
    commits: u8,
    /// Number of commits in the rows of the primary.
    rows: u8,
    /// Number of commits in the rows of each replica.
    replicas: [u8; 2],
    /// The number of restarts of each replica that were noticed.
    generations: [u8; 2],
    /// The last commit that the caller knows as recorded.
    token: u8,
    reads: u8,
    reading: Option<PendingRead>,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct PendingRead {
    server: Server,
    /// The generation of its replica when the read began.
    generation: u8,
    /// The token of the read, or 0.
    fence: u8,
    /// Whether it uses the record too.
    is_fresh: bool,
    /// Whether the rows of the primary had the conversation when the read began.
    had_row: bool,
    /// The rows and the commits that the first statement and the record returned.
    first: Option<(u8, u8)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Answer {
    reading: PendingRead,
    /// The rows that the second statement found.
    events: u8,
    server: Server,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Commit,
    /// The projector writes the rows of a commit.
    Project,
    /// A replica replays the rows of a commit.
    Replay(usize),
    /// A replica restarts. It may continue before what it had replayed.
    Restart(usize),
    /// The caller reads, and a replica is chosen.
    Read {
        replica: usize,
        is_fenced: bool,
        is_fresh: bool,
    },
    /// The read executes its next statement.
    Advance,
}

struct Reads(Rule);

impl State {
    fn rows_of(&self, server: Server) -> u8 {
        match server {
            Server::Primary => self.rows,
            Server::Replica(index) => self.replicas[index],
        }
    }

    /// The server of the next statement of a read.
    fn server_of(&self, rule: Rule, reading: PendingRead) -> Server {
        match reading.server {
            Server::Replica(index) if rule == Rule::Unpinned && reading.first.is_some() => Server::Replica(1 - index),
            Server::Replica(index) if rule != Rule::RestartsIgnored => {
                let has_restarted = self.generations[index] != reading.generation;
                if has_restarted { Server::Primary } else { reading.server }
            }
            Server::Replica(_) | Server::Primary => reading.server,
        }
    }

    fn advance(&mut self, rule: Rule) {
        let Some(mut reading) = self.reading.take() else {
            return;
        };
        let server = self.server_of(rule, reading);
        let rows = self.rows_of(server);
        if reading.first.is_some() {
            self.answer = Some(Answer { reading, events: rows, server });
            return;
        }
        let (last, source) = match (reading.is_fresh, reading.server) {
            // Any replica of the record; the other model has one that lags.
            (true, _) => (rows.max(self.commits), Source::Replica),
            (false, Server::Replica(_)) => (rows, Source::RowsOfReplica),
            (false, Server::Primary) => (rows, Source::Rows),
        };
        let state = ReadState { source, last: Sequence(u64::from(last)), is_running: false };
        let next = match rule {
            Rule::Unfenced if !reading.is_fresh => Step::Answer,
            Rule::Pinned | Rule::Unfenced | Rule::Unpinned | Rule::RestartsIgnored => {
                step(state, Sequence(u64::from(reading.fence)))
            }
        };
        match next {
            Step::AskPrimary => reading.server = Server::Primary,
            Step::Answer | Step::AskLeader | Step::AskPartition => {
                reading.server = server;
                reading.first = Some((rows, last));
            }
            Step::Wait => {}
        }
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
        if state.commits < COMMITS_MAX {
            actions.push(Action::Commit);
        }
        if state.rows < state.commits {
            actions.push(Action::Project);
        }
        for replica in [0, 1] {
            if state.replicas[replica] < state.rows {
                actions.push(Action::Replay(replica));
            }
            let restarts: u8 = state.generations.iter().sum();
            if restarts < RESTARTS_MAX && state.replicas[replica] > 0 {
                actions.push(Action::Restart(replica));
            }
            if state.reading.is_none() && state.reads < READS_MAX {
                let read = |(is_fenced, is_fresh)| Action::Read { replica, is_fenced, is_fresh };
                let kinds = [(true, true), (true, false), (false, true), (false, false)];
                actions.extend(kinds.map(read));
            }
        }
        if state.reading.is_some() {
            actions.push(Action::Advance);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Commit => {
                state.commits += 1;
                state.token = state.commits;
            }
            Action::Project => state.rows += 1,
            Action::Replay(replica) => state.replicas[replica] += 1,
            Action::Restart(replica) => {
                state.replicas[replica] -= 1;
                state.generations[replica] += 1;
            }
            Action::Read { replica, is_fenced, is_fresh } => {
                state.reads += 1;
                state.answer = None;
                state.reading = Some(PendingRead {
                    server: Server::Replica(replica),
                    generation: state.generations[replica],
                    fence: if is_fenced { state.token } else { 0 },
                    is_fresh,
                    had_row: state.rows > 0,
                    first: None,
                });
            }
            Action::Advance => state.advance(self.0),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        /// Whether an answer fulfils a condition on what it began with, the rows and commits of its first statement, and itself.
        fn holds(state: &State, condition: fn(PendingRead, (u8, u8), &Answer) -> bool) -> bool {
            state.answer.as_ref().is_none_or(|answer| {
                let first = answer.reading.first.unwrap_or_default();
                condition(answer.reading, first, answer)
            })
        }
        vec![
            Property::always(INCLUDES_WRITES, |_, state: &State| {
                holds(state, |reading, (_, last), _| last >= reading.fence)
            }),
            Property::always(FINDS_CONVERSATIONS, |_, state: &State| {
                holds(state, |reading, (_, last), _| last > 0 || !reading.had_row)
            }),
            Property::always(FINDS_EVENTS, |_, state: &State| {
                holds(state, |_, (rows, _), answer| answer.events >= rows)
            }),
            Property::sometimes(USES_REPLICA, |_, state: &State| {
                state.answer.as_ref().is_some_and(|answer| answer.server != Server::Primary && answer.reading.fence > 0)
            }),
        ]
    }
}

const INCLUDES_WRITES: &str = "a read contains the commit of its token";
const FINDS_CONVERSATIONS: &str = "a read finds every conversation that had a row before it";
const FINDS_EVENTS: &str = "the second statement finds the rows of the first";
const USES_REPLICA: &str = "a replica answers a read with a token";

#[test]
fn reads_from_replicas_are_complete() {
    let checked = Reads(Rule::Pinned).checker().threads(2).spawn_bfs().join();
    checked.assert_properties();
}

#[test]
fn rows_of_a_replica_alone_miss_writes_and_conversations() {
    let checked = Reads(Rule::Unfenced).checker().spawn_bfs().join();
    checked.assert_any_discovery(INCLUDES_WRITES);
    checked.assert_any_discovery(FINDS_CONVERSATIONS);
}

#[test]
fn two_replicas_in_one_read_miss_events() {
    let checked = Reads(Rule::Unpinned).checker().spawn_bfs().join();
    checked.assert_any_discovery(FINDS_EVENTS);
}

#[test]
fn a_replica_that_restarted_misses_events() {
    let checked = Reads(Rule::RestartsIgnored).checker().spawn_bfs().join();
    checked.assert_any_discovery(FINDS_EVENTS);
}
