//! The messages of one transaction, and the split of batches that fail as a whole.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::TraceHeaders;
use read_model::projections::conversations::Batch;

use crate::metrics;
use crate::projection_kind::ProjectionKind;
use crate::reader::{Read, rows_of};

#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// By partition, in the order of reading.
    pub(crate) reads: BTreeMap<Partition, Vec<Read>>,
    pub(crate) rows: usize,
}

impl Pending {
    pub(crate) fn add(&mut self, partition: Partition, read: Read) {
        self.rows += rows_of(read.item.as_ref());
        self.reads.entry(partition).or_default().push(read);
    }
}

/// Data for metrics and traces of a transaction.
#[derive(Debug)]
pub(crate) struct BatchTelemetry {
    pub(crate) stored_at: Vec<Timestamp>,
    pub(crate) traces: Vec<TraceHeaders>,
    pub(crate) rows: usize,
}

impl BatchTelemetry {
    /// Records the time from storing each commit to `now`, in nanoseconds since 1970.
    pub(crate) fn record_latency(&self, kind: ProjectionKind, now: i64) {
        for stored_at in &self.stored_at {
            let after = u64::try_from(now.saturating_sub(stored_at.0)).unwrap_or(0);
            metrics::projected(kind, Duration::from_nanos(after));
        }
    }

    /// The span of the transaction: a child of its first traced commit, linked to the others.
    pub(crate) fn span(&self) -> tracing::Span {
        let span = tracing::info_span!("projector.batch.apply", commits = self.stored_at.len(), rows = self.rows);
        let mut traces = self.traces.iter();
        if let Some(first) = traces.next() {
            runtime::telemetry::set_remote_parent(&span, |name| first.get(name));
        }
        for trace in traces {
            runtime::telemetry::link_remote(&span, |name| trace.get(name));
        }
        span
    }
}

/// The messages after the checkpoint.
///
/// A partition is read again from the checkpoint that a lost answer left, and later parts of the same batch may be written after
/// that: their messages are read twice.
pub(crate) fn unwritten(mut reads: Vec<Read>, written: Sequence) -> Vec<Read> {
    reads.retain(|read| read.sequence > written);
    reads
}

/// Splits batches into halves, the later half first: a transaction that timed out may succeed in parts.
pub(crate) fn split(batches: Vec<Batch>) -> impl Iterator<Item = Vec<Batch>> {
    let (first, rest): (Vec<_>, Vec<_>) = batches.into_iter().map(Batch::split).unzip();
    let rest: Vec<_> = rest.into_iter().flatten().collect();
    [rest, first].into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The later part of a batch was written after its partition was read again from the end of the earlier part.
    #[test]
    fn messages_that_were_written_are_not_written_again() {
        let check = |read: &[u64], written, expected: &[u64]| {
            let reads = read.iter().map(|at| Read::at(Sequence(*at))).collect();
            let left: Vec<u64> = unwritten(reads, Sequence(written)).into_iter().map(|read| read.sequence.0).collect();
            assert_eq!(left, expected);
        };
        check(&[], 0, &[]);
        check(&[1, 2, 5], 0, &[1, 2, 5]);
        check(&[3, 4, 5, 7], 5, &[7]);
        check(&[3, 4, 5], 5, &[]);
        check(&[3, 4, 5], 4, &[5]);
    }
}
