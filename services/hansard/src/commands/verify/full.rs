//! The full verification: reads the whole record, folds it, reads all rows, and compares them by digest.
//!
//! Conversations are verified in the order of their keys, as many per pass as memory may hold. The rest is left for further
//! passes over the record.

use std::collections::BTreeMap;

use archive::FollowError;
use domain::audit::faults;
use domain::{ConversationKey, Partition, Sequence};
use event_log::{FollowedMessage, without_outages};
use futures::StreamExt as _;
use read_model::projections::conversations::verification::{KeyRange, RowsFold, RowsScan};
use serde_json::json;

use super::VerifyJob;
use super::history::open;
use super::report::Report;
use super::sampled::verify_conversation;

/// The number of messages between two progress updates.
const PROGRESS_MESSAGES: u64 = 256;

/// A conversation as folded from the record.
#[derive(Default)]
struct Recorded {
    /// `None`: no message was readable.
    folded: Option<RowsFold>,
    is_suspect: bool,
    events: u64,
}

/// One pass over the record: the first conversations of a range, by key, that fit into memory.
struct Pass<'r> {
    range: &'r KeyRange,
    at_once: usize,
    recorded: BTreeMap<ConversationKey, Recorded>,
    /// Conversations from this key on are left for the next pass.
    ceiling: Option<ConversationKey>,
    is_first: bool,
}

/// Verifies every conversation of a range.
pub(super) async fn run(job: &VerifyJob, range: &KeyRange, at_once: usize, report: &mut Report) -> anyhow::Result<()> {
    let mut left = Some(range.clone());
    let mut is_first = true;
    while let Some(range) = left.take() {
        let mut pass = Pass { range: &range, at_once, recorded: BTreeMap::new(), ceiling: None, is_first };
        pass.read(job, report).await?;
        let last = pass.recorded.keys().next_back().cloned();
        let until = last.filter(|_| pass.ceiling.is_some());
        let recorded = pass.recorded;
        let rows = range.clone();
        let rows = match &until {
            Some(last) => rows.until(last),
            None => rows,
        };
        compare(job, recorded, rows, report).await?;
        left = until.map(|last| range.after(&last));
        is_first = false;
    }
    Ok(())
}

impl Pass<'_> {
    /// Reads the record up to its current end.
    async fn read(&mut self, job: &VerifyJob, report: &mut Report) -> anyhow::Result<()> {
        let mut ends = Vec::new();
        let mut steps = 0;
        for partition in (0..job.record.partitions()).map(Partition) {
            let last = job.record.bounds_of(partition).await?.last;
            let next = job.archive.next_after(partition, Sequence(0));
            // An empty partition would never return a message.
            if next.await?.is_some() {
                steps += last.0;
                ends.push((partition, last));
            }
        }
        report.start_phase("verify: record", steps);
        let mut done = 0;
        for (partition, last) in ends {
            let mut messages = without_outages(job.archive.follow(partition, Sequence(0)), FollowError::is_outage);
            while let Some(message) = messages.next().await {
                let message = message?;
                let sequence = message.message.position.sequence;
                self.take(&message, report)?;
                if sequence.0 % PROGRESS_MESSAGES == 0 {
                    report.advance(done + sequence.0, steps);
                }
                if sequence >= last
                    || (message.pending == 0 && job.record.is_exhausted(partition, sequence, last).await?)
                {
                    break;
                }
            }
            done += last.0;
        }
        Ok(())
    }

    fn take(&mut self, message: &FollowedMessage, report: &mut Report) -> anyhow::Result<()> {
        if message.is_skipped() {
            return Ok(());
        }
        let Some(key) = &message.key else {
            return self.foreign(message, report);
        };
        if !self.range.contains(key) || self.ceiling.as_ref().is_some_and(|ceiling| key >= ceiling) {
            return Ok(());
        }
        let Ok(placed) = open(key, &message.message) else {
            self.entry(key).is_suspect = true;
            return Ok(());
        };
        let recorded = self.entry(key);
        let commit = &placed.opened.commit;
        let previous = recorded.folded.as_ref().map(|folded| (folded.head(), folded.sequence()));
        recorded.is_suspect |= !faults(previous, commit, &placed.opened.body).is_empty();
        recorded.events += u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
        match &mut recorded.folded {
            Some(folded) => folded.absorb(&placed),
            None => recorded.folded = Some(RowsFold::begin(&placed)),
        }
        if self.recorded.len() > self.at_once
            && let Some((last, _)) = self.recorded.pop_last()
        {
            self.ceiling = Some(last);
        }
        Ok(())
    }

    fn entry(&mut self, key: &ConversationKey) -> &mut Recorded {
        self.recorded.entry(key.clone()).or_default()
    }

    /// Reports a message whose subject is not that of a conversation.
    fn foreign(&self, message: &FollowedMessage, report: &mut Report) -> anyhow::Result<()> {
        if !self.is_first {
            return Ok(());
        }
        let position = message.message.position;
        let (partition, sequence) = (position.partition.0, position.sequence.0);
        let line = json!({"kind": "foreign_subject", "partition": partition, "sequence": sequence});
        let what = format!("the subject of message {sequence} of partition {partition} is not that of a conversation");
        report.finding(&line, ["", "foreign_subject", &what, ""])
    }
}

/// Reads the rows, and examines each conversation that differs from the record.
async fn compare(
    job: &VerifyJob,
    mut recorded: BTreeMap<ConversationKey, Recorded>,
    rows: KeyRange,
    report: &mut Report,
) -> anyhow::Result<()> {
    let steps = u64::try_from(recorded.len()).unwrap_or(u64::MAX);
    report.start_phase("verify: rows", steps);
    let mut walk = RowsScan::new(&job.model, rows);
    while let Some(page) = walk.next().await? {
        for conversation in page.conversations {
            let recorded = recorded.remove(&conversation.key).unwrap_or_default();
            let folded = recorded.folded.filter(|_| !recorded.is_suspect);
            if folded.map(RowsFold::digest) == Some(conversation.digest) {
                report.correct(1, recorded.events);
            } else {
                verify_conversation(job, &conversation.key, report).await?;
            }
        }
        let left = u64::try_from(recorded.len()).unwrap_or(u64::MAX);
        report.advance(steps.saturating_sub(left), steps);
    }
    for key in recorded.keys() {
        verify_conversation(job, key, report).await?;
    }
    Ok(())
}
