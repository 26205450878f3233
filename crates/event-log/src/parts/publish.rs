//! Publishes batches of run parts.

use bytes::Bytes;
use domain::{ConversationKey, RunId, Sequence};
use metrics::counter;
use tokio::time::Instant;

use super::StoredParts;
use crate::append::Route;
use crate::append::resolve::{cause_of, wait};
use crate::connection::get::MessageQuery;
use crate::connection::publish::{Ack, Publication};
use crate::error::Unavailable;
use crate::record::Record;

/// Maximum publishes of one batch, without those that were refused since an earlier one is in flight.
const PUBLISHES_MAX: u32 = 12;
/// Maximum reads of the leader before each of them.
const READS_MAX: u32 = 64;
const RETRIES: &str = "hansard_parts_retries_total";

/// The outcome of publishing a batch. Each is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartsOutcome {
    /// The batch is in the stream, once, byte for byte, directly after the named batch: by this call or an earlier one.
    Published {
        /// Its sequence.
        sequence: Sequence,
    },
    /// The run's last batch is not the named one. This batch may be before it if an earlier attempt got no answer: read the
    /// stored batches.
    Superseded {
        /// The run's last batch; `None`: no batch yet, or all have expired.
        last: Option<StoredParts>,
    },
}

impl Record {
    /// Publishes a batch of a run's parts directly after the batch at `previous`; 0: as the first batch.
    ///
    /// The outcome is always known: after a rejection, a timeout or a lost connection it is read from the stream's leader.
    /// Equal bytes after the same batch are the same batch, whichever caller sent them.
    ///
    /// # Errors
    /// [`Unavailable`] when the outcome is not known within the request timeout. Retry the same call.
    #[tracing::instrument(
        name = "log.parts.publish",
        level = "debug",
        skip_all,
        fields(tenant.id = %key.tenant, conversation.id = %key.conversation, run.id = %run)
    )]
    pub async fn publish_parts(
        &self,
        key: &ConversationKey,
        run: RunId,
        previous: Sequence,
        batch: Bytes,
    ) -> Result<PartsOutcome, Unavailable> {
        let deadline = self.deadline();
        let route = self.parts_route(key, run).await?;
        let (mut attempt, mut publishes) = (0_u32, 0);
        while publishes < PUBLISHES_MAX {
            let publication = Publication {
                subject: route.subject.clone(),
                expected: Some(previous),
                payload: batch.clone(),
                ..Publication::default()
            };
            let ack_deadline = Self::ack_deadline(deadline);
            let answer = self.connection().publish(publication, ack_deadline).await;
            if let Ok(Ack::Stored(sequence)) = answer {
                return Ok(PartsOutcome::Published { sequence });
            }
            counter!(RETRIES, "cause" => cause_of(&answer)).increment(1);
            let last = self.last_in_time(&route, deadline).await?;
            if let Some(outcome) = outcome_by(last, previous, &batch) {
                return Ok(outcome);
            }
            wait(attempt, deadline).await?;
            publishes += u32::from(!answer.is_ok_and(Ack::is_in_flight));
            attempt = attempt.saturating_add(1);
        }
        Err(Unavailable::new("the stream rejects every publish of parts"))
    }

    /// The run's last batch; retried until the leader answers, because a starting server does not answer for a while.
    async fn last_in_time(&self, route: &Route, deadline: Instant) -> Result<Option<StoredParts>, Unavailable> {
        let (connection, partition) = (self.connection(), route.partition);
        let query = MessageQuery::LastOfSubject(&route.subject);
        for attempt in 0..READS_MAX {
            let last = connection.get_from_leader(&route.stream, &query, deadline);
            match last.await {
                Ok(last) => return Ok(last.map(|last| StoredParts::from_message(partition, last))),
                Err(_) => wait(attempt, deadline).await?,
            }
        }
        Err(Unavailable::new("the leader does not answer"))
    }
}

/// Derives the outcome of a publish from the run's last batch; `None`: the named batch is still the last, so publish again.
fn outcome_by(last: Option<StoredParts>, previous: Sequence, batch: &Bytes) -> Option<PartsOutcome> {
    let last_sequence = last.as_ref().map_or(Sequence(0), |last| last.sequence);
    if last_sequence == previous {
        return None;
    }
    Some(match last {
        Some(last) if last.sequence > previous && last.bytes == *batch => {
            PartsOutcome::Published { sequence: last.sequence }
        }
        last => PartsOutcome::Superseded { last },
    })
}

#[cfg(test)]
mod tests {
    use domain::{Partition, Timestamp};

    use super::*;

    fn stored(sequence: u64, bytes: &'static str) -> StoredParts {
        StoredParts {
            partition: Partition(0),
            sequence: Sequence(sequence),
            stored_at: Timestamp(1),
            bytes: bytes.into(),
        }
    }

    #[test]
    fn outcomes_by_last_batch() {
        let check = |last: Option<StoredParts>, previous, expected| {
            let outcome = outcome_by(last, Sequence(previous), &Bytes::from_static(b"ours"));
            assert_eq!(outcome, expected);
        };
        let superseded = |last: Option<StoredParts>| Some(PartsOutcome::Superseded { last });
        let published = |sequence| Some(PartsOutcome::Published { sequence: Sequence(sequence) });
        check(None, 0, None);
        check(None, 5, superseded(None));
        check(Some(stored(5, "before")), 5, None);
        check(Some(stored(5, "ours")), 5, None);
        check(Some(stored(7, "ours")), 5, published(7));
        check(Some(stored(7, "ours")), 0, published(7));
        let theirs = || Some(stored(7, "theirs"));
        check(theirs(), 5, superseded(theirs()));
        check(theirs(), 9, superseded(theirs()));
    }
}
