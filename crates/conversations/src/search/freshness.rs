//! Up to when everything is searched.

use domain::{Position, Timestamp};
use read_model::ReadModel;
use read_model::queries::search::{SearchCheckpoint, search_progress};
use wire::status::Problem;

use super::SearchRequest;
use crate::Gateway;

/// How far the search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Freshness {
    pub(super) indexed_until: Option<Timestamp>,
    pub(super) is_reindexing: bool,
}

/// How far the search is, before it is read. Without an answer of the record, only what was indexed is known.
///
/// # Errors
/// The read model does not answer.
pub(super) async fn progress(
    gateway: &Gateway,
    rows: &ReadModel,
    request: &SearchRequest<'_>,
) -> Result<Freshness, Problem> {
    let now = gateway.now();
    let ends = request.deadline.record(gateway.reader.record.ends()).await;
    let progress = request.deadline.rows(search_progress(rows, &request.access)).await?;
    Ok(Freshness {
        indexed_until: indexed_until(now, ends.ok().as_deref(), &progress.checkpoints),
        is_reindexing: progress.is_reindexing,
    })
}

/// `ends`: the ends of the record at `now`; `None`: unknown.
fn indexed_until(now: Timestamp, ends: Option<&[Position]>, checkpoints: &[SearchCheckpoint]) -> Option<Timestamp> {
    let until = ends?.iter().map(|end| {
        let mut checkpoints = checkpoints.iter();
        let checkpoint = checkpoints.find(|one| one.partition == end.partition);
        match checkpoint {
            Some(checkpoint) if checkpoint.sequence >= end.sequence => Some(now),
            Some(checkpoint) => checkpoint.indexed_at,
            None if end.sequence.0 == 0 => Some(now),
            None => None,
        }
    });
    // One partition without an indexed commit leaves the time unknown.
    let until: Option<Vec<Timestamp>> = until.collect();
    until?.into_iter().min()
}

#[cfg(test)]
mod tests {
    use domain::{Partition, Sequence};

    use super::*;

    fn check(ends: Option<&[u64]>, indexed: &[(u64, Option<i64>)], expected: Option<i64>) {
        let position = |(partition, sequence): (u16, &u64)| Position {
            partition: Partition(partition),
            sequence: Sequence(*sequence),
        };
        let ends: Option<Vec<Position>> = ends.map(|ends| (0..).zip(ends).map(position).collect());
        let checkpoint = |(partition, (sequence, at)): (u16, &(u64, Option<i64>))| SearchCheckpoint {
            partition: Partition(partition),
            sequence: Sequence(*sequence),
            indexed_at: at.map(Timestamp),
        };
        let checkpoints: Vec<SearchCheckpoint> = (0..).zip(indexed).map(checkpoint).collect();
        let until = indexed_until(Timestamp(100), ends.as_deref(), &checkpoints);
        assert_eq!(until, expected.map(Timestamp), "{ends:?} {indexed:?}");
    }

    #[test]
    fn the_slowest_partition_decides() {
        check(Some(&[5, 7]), &[(5, Some(40)), (7, Some(50))], Some(100));
        check(Some(&[5, 7]), &[(4, Some(40)), (7, Some(50))], Some(40));
        check(Some(&[5, 7]), &[(4, Some(40)), (6, Some(30))], Some(30));
        check(Some(&[5, 7]), &[(5, Some(40)), (0, None)], None);
        check(Some(&[5, 7]), &[(5, Some(40))], None);
        check(Some(&[5, 0]), &[(5, Some(40))], Some(100));
        check(None, &[(5, Some(40))], None);
    }
}
