//! Where a stretch of a partition ends. Pure.

use domain::Sequence;

/// Whether nothing of a partition is left to read up to `to`, behind what was read. `next_on_leader`: the first message of
/// the stream after it, as the leader says; a replica's word is not enough, since it may lack the end.
///
/// A next message past `to` is no end: what an archive holds comes before the conversation's last commit, which is always
/// in the stream. So where the stream has nothing more, the archive has nothing more either.
pub(super) fn is_end(read: Sequence, to: Sequence, next_on_leader: Option<Sequence>) -> bool {
    read >= to || next_on_leader.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_says_where_a_stretch_ends() {
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
