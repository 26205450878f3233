//! Decides whether a range of a partition is completely read. Pure.

use domain::Sequence;

/// Whether a partition is completely read up to `to`. `next_on_leader` is the first message of the stream after `read`,
/// according to the leader; a replica may lag.
///
/// A next message after `to` does not mean the end: the archive may contain earlier commits. They precede the last commit of
/// their conversation, which is always in the stream. So if the stream has no next message, the archive has none either.
pub(super) fn is_end(read: Sequence, to: Sequence, next_on_leader: Option<Sequence>) -> bool {
    read >= to || next_on_leader.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_determines_the_end() {
        let check = |read: u64, next: Option<u64>, expected: bool| {
            let next = next.map(Sequence);
            assert_eq!(
                is_end(Sequence(read), Sequence(7), next),
                expected,
                "{read} {next:?}"
            );
        };
        check(7, None, true);
        check(8, Some(9), true);
        check(6, Some(7), false);
        check(6, Some(8), false);
        check(6, None, true);
        check(0, None, true);
    }
}
