//! What is gathered for one transaction, and how it is cut when it is too much for one.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Partition, Timestamp};
use event_log::TraceHeaders;
use read_model::projections::conversations::{Batch, Item};

use crate::metrics;
use crate::reader::Read;

/// Messages that are gathered for one transaction.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// By partition, in the order in which they were read.
    pub(crate) reads: BTreeMap<Partition, Vec<Read>>,
    /// How many rows of events they come to.
    pub(crate) rows: usize,
}

impl Gathered {
    pub(crate) fn add(&mut self, partition: Partition, read: Read) {
        self.rows += rows_of(read.item.as_ref());
        self.reads.entry(partition).or_default().push(read);
    }
}

/// What is told of a batch once it is written.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) stored_at: Vec<Timestamp>,
    pub(crate) traces: Vec<TraceHeaders>,
    pub(crate) rows: usize,
}

impl Note {
    /// Tells how long each commit's rows were on their way, by now, in nanoseconds since 1970.
    pub(crate) fn tell(&self, now: i64) {
        for stored_at in &self.stored_at {
            let after = u64::try_from(now.saturating_sub(stored_at.0)).unwrap_or(0);
            metrics::projected(Duration::from_nanos(after));
        }
    }

    /// The span of the transaction: a child of its first traced commit, linked to the others.
    pub(crate) fn span(&self) -> tracing::Span {
        let span = tracing::info_span!(
            "projector.batch.apply",
            commits = self.stored_at.len(),
            rows = self.rows
        );
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

/// The later half first. What took too long as a whole may be done in parts.
pub(crate) fn halved(batches: Vec<Batch>) -> impl Iterator<Item = Vec<Batch>> {
    let (first, rest): (Vec<_>, Vec<_>) = batches.into_iter().map(Batch::halved).unzip();
    let rest: Vec<_> = rest.into_iter().flatten().collect();
    [rest, first].into_iter()
}

fn rows_of(item: Option<&Item>) -> usize {
    match item {
        Some(Item::Commit(commit)) => commit.opened.commit.events.len(),
        Some(Item::Unreadable { .. }) | None => 1,
    }
}
