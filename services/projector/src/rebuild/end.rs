//! Decides whether a range of a partition is completely read. Pure.

use domain::Sequence;

/// Whether a partition is completely read up to `to`. `next` is a message after `read`: the first one of the stream, according to the
/// leader (a replica may lag), or, without one, any of the archive.
///
/// A next message after `to` does not mean the end: the archive may contain earlier commits.
pub(super) fn is_end(read: Sequence, to: Sequence, next: Option<Sequence>) -> bool {
    read >= to || next.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_has_no_next_message() {
        let check = |read: u64, next: Option<u64>, expected: bool| {
            let next = next.map(Sequence);
            assert_eq!(is_end(Sequence(read), Sequence(7), next), expected, "{read} {next:?}");
        };
        check(7, None, true);
        check(8, Some(9), true);
        check(6, Some(7), false);
        check(6, Some(8), false);
        check(6, None, true);
        check(0, None, true);
    }
}
