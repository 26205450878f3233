//! What a read does next, by where it came from and how far it reaches. Pure; `model.rs` checks it.

use domain::Sequence;

/// Who gave a read its last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The rows alone.
    Rows,
    /// The rows, and any replica of the record, which may lag.
    Replica,
    /// The rows, and the stream's leader.
    Leader {
        /// The partition's last sequence as the leader knew it before the read; 0: it was not asked.
        partition: Sequence,
    },
}

/// What a read has seen of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// Who was asked.
    pub(super) source: Source,
    /// The conversation's last commit; 0: none.
    pub(super) last: Sequence,
    /// Whether a run is under way there.
    pub(super) is_running: bool,
}

/// What a read does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// It answers with what it has seen.
    Answer,
    /// It asks the stream's leader for the last commit.
    AskLeader,
    /// It asks the leader how far the partition reaches, and then for the last commit: the fence may be the position of
    /// another conversation's commit, behind which this one has none.
    AskPartition,
    /// It waits for the rows, and reads again.
    Wait,
}

/// What a read does that must reach `fence`; 0: no position.
///
/// A read without a fence asks the leader only for a conversation that nobody seems to know. A read with one asks it also
/// whether a run that seems to be under way is finished: the caller has the position of the run's beginning, and may have
/// heard the run to its end since.
pub(super) fn step(seen: Seen, fence: Sequence) -> Step {
    if seen.source == Source::Replica && seen.is_running && fence > Sequence(0) {
        return Step::AskLeader;
    }
    if seen.last >= fence && seen.last > Sequence(0) {
        return Step::Answer;
    }
    match seen.source {
        Source::Rows if fence == Sequence(0) => Step::Answer,
        Source::Rows => Step::Wait,
        Source::Replica => Step::AskLeader,
        Source::Leader { partition } if seen.last.max(partition) >= fence => Step::Answer,
        Source::Leader { .. } => Step::AskPartition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_answers_once_it_holds_what_it_must() {
        let check = |source, (last, fence): (u64, u64), expected| {
            let seen = Seen {
                source,
                last: Sequence(last),
                is_running: false,
            };
            assert_eq!(step(seen, Sequence(fence)), expected, "{seen:?} {fence}");
            // Of a run that seems to be under way a replica's word is not enough.
            let running = Seen {
                is_running: true,
                ..seen
            };
            let is_asked = source == Source::Replica && fence > 0;
            let expected = if is_asked { Step::AskLeader } else { expected };
            assert_eq!(step(running, Sequence(fence)), expected, "{running:?}");
        };
        let leader = |partition| Source::Leader {
            partition: Sequence(partition),
        };
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
    }
}
