//! Publishing a batch of parts.

use bytes::Bytes;
use domain::{ConversationKey, RunId, Sequence};
use metrics::counter;
use tokio::time::Instant;

use super::{PartsPlace, StoredParts};
use crate::error::Unavailable;
use crate::get::Which;
use crate::headers::TraceHeaders;
use crate::publish::{Ack, Publication};
use crate::record::Record;
use crate::resolve::{cause_of, wait};

/// Most times that one batch is published.
const PUBLISHES_MAX: u32 = 12;
/// Most times that the leader is asked before one of them.
const READS_MAX: u32 = 64;
const RETRIES: &str = "hansard_parts_retries_total";

/// What became of a batch. Each is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartsOutcome {
    /// It is in the stream, once, byte for byte, right behind the batch that it names: by this call or an earlier one.
    Published {
        /// Where.
        sequence: Sequence,
    },
    /// The run's last batch is another than the named one. This one may stand before it, if an earlier try of it was
    /// not answered: read what is there.
    Superseded {
        /// The run's last batch; `None`: it has none, or none any more.
        last: Option<StoredParts>,
    },
}

impl Record {
    /// Publishes a batch of a run's parts, right behind the batch at `previous`; 0: there must be none.
    ///
    /// An outcome is resolved, never guessed: after a refusal, a timeout or a lost connection the stream's leader is
    /// asked what became of the batch. Equal bytes behind the same batch are the same batch, whoever sent them.
    ///
    /// # Errors
    /// [`Unavailable`] when the outcome cannot be known within the request timeout. The same call may be made again.
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
        let place = self.parts_place(key, run);
        for attempt in 0..PUBLISHES_MAX {
            let publication = Publication {
                subject: place.subject.clone(),
                id: None,
                expected: Some(previous),
                trace: &TraceHeaders::default(),
                payload: batch.clone(),
            };
            let ack_deadline = Self::ack_deadline(deadline);
            let answer = self.connection().publish(publication, ack_deadline).await;
            if let Ok(Ack::Stored(sequence)) = answer {
                return Ok(PartsOutcome::Published { sequence });
            }
            counter!(RETRIES, "cause" => cause_of(&answer)).increment(1);
            let last = self.last_in_time(&place, deadline).await?;
            if let Some(outcome) = outcome_by(last, previous, &batch) {
                return Ok(outcome);
            }
            wait(attempt, deadline).await?;
        }
        Err(Unavailable::new("the stream keeps refusing parts"))
    }

    /// The run's last batch, asked for until the leader answers: a server that starts gives no answer for a while.
    async fn last_in_time(
        &self,
        place: &PartsPlace,
        deadline: Instant,
    ) -> Result<Option<StoredParts>, Unavailable> {
        let connection = self.connection();
        for attempt in 0..READS_MAX {
            let last = Which::LastOf(&place.subject);
            match connection
                .get_from_leader(&place.stream, &last, deadline)
                .await
            {
                Ok(last) => return Ok(last.map(|last| StoredParts::of(place.partition, last))),
                Err(_) => wait(attempt, deadline).await?,
            }
        }
        Err(Unavailable::new("the leader cannot be asked"))
    }
}

/// What the run's last batch tells of a publish; `None`: the named batch is still the last, so publish again.
fn outcome_by(
    last: Option<StoredParts>,
    previous: Sequence,
    batch: &Bytes,
) -> Option<PartsOutcome> {
    let stands_at = last.as_ref().map_or(Sequence(0), |last| last.sequence);
    if stands_at == previous {
        return None;
    }
    Some(match last {
        Some(last) if last.sequence > previous && last.bytes == *batch => PartsOutcome::Published {
            sequence: last.sequence,
        },
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
    fn what_the_last_batch_tells() {
        let check = |last: Option<StoredParts>, previous, expected| {
            let outcome = outcome_by(last, Sequence(previous), &Bytes::from_static(b"ours"));
            assert_eq!(outcome, expected);
        };
        let superseded = |last: Option<StoredParts>| Some(PartsOutcome::Superseded { last });
        let published = |sequence| {
            Some(PartsOutcome::Published {
                sequence: Sequence(sequence),
            })
        };
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
