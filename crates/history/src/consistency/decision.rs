//! Decides the next step of a read, from its source and its last commit. Pure; `model.rs` checks it.

use domain::Sequence;

/// The source of the last commit of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The rows of the primary, without the record.
    Rows,
    /// The rows of a replica of Postgres, which may lag, without the record.
    RowsOfReplica,
    /// The rows and any replica of the record, which may lag.
    Replica,
    /// The rows and the leader of the stream.
    Leader {
        /// The last sequence of the partition on the leader, before the read; 0: not read.
        partition: Sequence,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ReadState {
    pub(super) source: Source,
    /// The last commit of the conversation; 0: none.
    pub(super) last: Sequence,
    /// Whether a run is active after that commit.
    pub(super) is_running: bool,
}

/// The next step of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Answer,
    /// Read the last commit from the leader of the stream.
    AskLeader,
    /// Read the last sequence of the partition from the leader, and then the last commit: the fence may be the position of
    /// a commit of another conversation, and this one may have no later commit.
    AskPartition,
    /// Read the rows of the primary.
    AskPrimary,
    /// Wait for the rows of the primary, and read again.
    Wait,
}

/// The next step of a read that must reach `fence`; 0: no fence.
///
/// A read without a fence uses the leader only if neither rows nor replica contain the conversation. A read with a fence also
/// uses it if a run is active: the fence may be the position of the run's start, and the caller may have seen its end.
///
/// Beside the record, it does not matter which server the rows are from: older rows only make the tail longer. Without the
/// record, rows of a replica that lack the fence or the conversation do not suffice.
pub(super) fn step(state: ReadState, fence: Sequence) -> Step {
    if state.source == Source::Replica && state.is_running && fence > Sequence(0) {
        return Step::AskLeader;
    }
    if state.last >= fence && state.last > Sequence(0) {
        return Step::Answer;
    }
    match state.source {
        Source::Rows if fence == Sequence(0) => Step::Answer,
        Source::Rows => Step::Wait,
        Source::RowsOfReplica => Step::AskPrimary,
        Source::Replica => Step::AskLeader,
        Source::Leader { partition } if state.last.max(partition) >= fence => Step::Answer,
        Source::Leader { .. } => Step::AskPartition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_answers_after_it_reached_the_fence() {
        let check = |source, (last, fence): (u64, u64), expected| {
            let state = ReadState { source, last: Sequence(last), is_running: false };
            assert_eq!(step(state, Sequence(fence)), expected, "{state:?} {fence}");
            // During an active run, a replica is not sufficient.
            let running = ReadState { is_running: true, ..state };
            let needs_leader = source == Source::Replica && fence > 0;
            let expected = if needs_leader { Step::AskLeader } else { expected };
            assert_eq!(step(running, Sequence(fence)), expected, "{running:?}");
        };
        let leader = |partition| Source::Leader { partition: Sequence(partition) };
        check(Source::Replica, (3, 0), Step::Answer);
        check(Source::Replica, (3, 3), Step::Answer);
        check(Source::Replica, (3, 4), Step::AskLeader);
        check(Source::Replica, (0, 0), Step::AskLeader);
        check(leader(0), (0, 0), Step::Answer);
        check(leader(0), (4, 4), Step::Answer);
        check(leader(0), (3, 4), Step::AskPartition);
        check(leader(3), (3, 4), Step::AskPartition);
        check(leader(4), (3, 4), Step::Answer);
        check(leader(4), (0, 4), Step::Answer);
        check(Source::Rows, (0, 0), Step::Answer);
        check(Source::Rows, (3, 4), Step::Wait);
        check(Source::Rows, (4, 4), Step::Answer);
        check(Source::RowsOfReplica, (0, 0), Step::AskPrimary);
        check(Source::RowsOfReplica, (3, 0), Step::Answer);
        check(Source::RowsOfReplica, (3, 4), Step::AskPrimary);
        check(Source::RowsOfReplica, (4, 4), Step::Answer);
    }
}
