//! Everything: the record is read from its beginning and folded, the rows are walked, and the two compared by digest.
//!
//! Conversations are taken in the order of rows, as many at a time as memory may hold. When the record has more, those
//! that come last are left for the next pass.

use std::collections::BTreeMap;

use domain::audit::faults;
use domain::{ConversationKey, Partition, Sequence};
use event_log::FollowedMessage;
use futures::StreamExt as _;
use read_model::projections::conversations::verification::{Folded, KeyRange, RowsWalk};
use serde_json::json;

use super::Ground;
use super::history::open;
use super::report::Report;
use super::sampled::one;

/// After how many messages progress is told.
const PROGRESS_MESSAGES: u64 = 256;

/// What the record says of one conversation.
struct Told {
    /// `None`: none of its messages could be read.
    folded: Option<Folded>,
    is_suspect: bool,
    events: u64,
}

/// One pass: the conversations of a range that fit, the first of them by order.
struct Pass<'r> {
    range: &'r KeyRange,
    at_once: usize,
    told: BTreeMap<ConversationKey, Told>,
    /// From here on, conversations are another pass's.
    ceiling: Option<ConversationKey>,
    is_first: bool,
}

/// Verifies every conversation of a range.
pub(super) async fn run(
    ground: &Ground,
    range: &KeyRange,
    at_once: usize,
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut left = Some(range.clone());
    let mut is_first = true;
    while let Some(range) = left.take() {
        let mut pass = Pass {
            range: &range,
            at_once,
            told: BTreeMap::new(),
            ceiling: None,
            is_first,
        };
        pass.read(ground, report).await?;
        let last = pass.told.keys().next_back().cloned();
        let until = last.filter(|_| pass.ceiling.is_some());
        let told = pass.told;
        let rows = until
            .as_ref()
            .map_or(range.clone(), |last| range.clone().until(last));
        compare(ground, told, rows, report).await?;
        left = until.map(|last| range.after(&last));
        is_first = false;
    }
    Ok(())
}

impl Pass<'_> {
    /// Reads the record up to where it ends now.
    async fn read(&mut self, ground: &Ground, report: &mut Report) -> anyhow::Result<()> {
        let mut ends = Vec::new();
        let mut steps = 0;
        for partition in (0..ground.record.partitions()).map(Partition) {
            let bounds = ground.record.bounds_of(partition).await?;
            // A stream that was never written to would be waited for in vain.
            if bounds.first <= bounds.last {
                steps += bounds.last.0;
                ends.push((partition, bounds.last));
            }
        }
        report.start("verify: record", steps);
        let mut done = 0;
        for (partition, last) in ends {
            // What is archived may come before all that the stream holds.
            let mut messages = ground.archive.follow(partition, Sequence(0));
            while let Some(message) = messages.next().await {
                let message = message?;
                let sequence = message.message.position.sequence;
                self.take(&message, report)?;
                if sequence.0 % PROGRESS_MESSAGES == 0 {
                    report.advance(done + sequence.0, steps);
                }
                // The last may be gone by now, so the last one that there is ends it too.
                if sequence >= last || message.pending == 0 {
                    break;
                }
            }
            done += last.0;
        }
        Ok(())
    }

    fn take(&mut self, message: &FollowedMessage, report: &mut Report) -> anyhow::Result<()> {
        let Some(key) = &message.key else {
            return self.foreign(message, report);
        };
        if !self.range.contains(key) || self.ceiling.as_ref().is_some_and(|ceiling| key >= ceiling)
        {
            return Ok(());
        }
        let Ok(placed) = open(key, &message.message) else {
            self.told_of(key).is_suspect = true;
            return Ok(());
        };
        let told = self.told_of(key);
        let commit = &placed.opened.commit;
        let previous = told.folded.as_ref();
        let previous = previous.map(|folded| (folded.head(), folded.sequence()));
        told.is_suspect |= !faults(previous, commit, &placed.opened.body).is_empty();
        told.events += u64::try_from(commit.events.len()).unwrap_or(u64::MAX);
        match &mut told.folded {
            Some(folded) => folded.absorb(&placed),
            None => told.folded = Some(Folded::begin(&placed)),
        }
        if self.told.len() > self.at_once
            && let Some((last, _)) = self.told.pop_last()
        {
            self.ceiling = Some(last);
        }
        Ok(())
    }

    fn told_of(&mut self, key: &ConversationKey) -> &mut Told {
        self.told.entry(key.clone()).or_insert_with(|| Told {
            folded: None,
            is_suspect: false,
            events: 0,
        })
    }

    /// A message that belongs to no conversation is in no row.
    fn foreign(&self, message: &FollowedMessage, report: &mut Report) -> anyhow::Result<()> {
        if !self.is_first {
            return Ok(());
        }
        let position = message.message.position;
        let (partition, sequence) = (position.partition.0, position.sequence.0);
        let line = json!({"kind": "foreign_subject", "partition": partition, "sequence": sequence});
        let what =
            format!("message {sequence} of partition {partition} has no conversation's subject");
        report.finding(
            &line,
            [
                String::new(),
                "foreign_subject".to_owned(),
                what,
                String::new(),
            ],
        )
    }
}

/// Walks the rows, and examines what the record did not tell so.
async fn compare(
    ground: &Ground,
    mut told: BTreeMap<ConversationKey, Told>,
    rows: KeyRange,
    report: &mut Report,
) -> anyhow::Result<()> {
    let steps = u64::try_from(told.len()).unwrap_or(u64::MAX);
    report.start("verify: rows", steps);
    let mut walk = RowsWalk::over(&ground.model, rows);
    while let Some(page) = walk.next().await? {
        for conversation in page.conversations {
            let told = told
                .remove(&conversation.key)
                .filter(|told| !told.is_suspect);
            let events = told.as_ref().map_or(0, |told| told.events);
            let expected = told.and_then(|told| told.folded).map(Folded::digest);
            if expected == Some(conversation.digest) {
                report.whole(1, events);
            } else {
                one(ground, &conversation.key, report).await?;
            }
        }
        let left = u64::try_from(told.len()).unwrap_or(u64::MAX);
        report.advance(steps.saturating_sub(left), steps);
    }
    for key in told.keys() {
        one(ground, key, report).await?;
    }
    Ok(())
}
