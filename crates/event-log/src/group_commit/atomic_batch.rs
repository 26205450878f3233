//! Atomic batches of the server: several messages of one stream that are stored together or not at all.
//!
//! Observed with nats-server 2.15.1: the server checks the id and the expected sequence of each message when it receives the
//! last one. A failed check rejects the whole batch with the error of the first failed message, without its name; for
//! "wrong last sequence" the text ends with the last sequence of that message's subject. The sequences of a stored batch are
//! consecutive. On one replica the server stages a batch in a folder of its own, which costs as much as about 20 single
//! messages, and then syncs once.

use domain::Sequence;
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use crate::connection::publish::Publication;
use crate::connection::{ApiFailure, Connection, Outgoing};
use crate::error::Unavailable;
use crate::headers;
use crate::headers::BatchPlace;

/// The reply to the last message of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchAck {
    /// Every message is stored.
    Stored {
        /// The sequence of the first message; the others follow.
        first: Sequence,
    },
    /// No message is stored.
    Refused {
        /// The server's error code.
        code: u64,
        /// The sequence in the error: the last one of the subject whose check failed.
        last_of_subject: Option<Sequence>,
    },
}

#[derive(Deserialize)]
struct Answer {
    seq: Option<u64>,
    count: Option<u64>,
    error: Option<ApiFailure>,
}

impl Connection {
    /// Publishes messages of one stream as one batch. After an error the outcome is unknown.
    pub(crate) async fn publish_batch(
        &self,
        publications: Vec<Publication<'_>>,
        deadline: Instant,
    ) -> Result<BatchAck, Unavailable> {
        let batch = Uuid::new_v4().simple().to_string();
        let count = publications.len();
        self.ready(deadline).await?;
        let mut last = None;
        for (number, publication) in (1..).zip(publications) {
            let mut outgoing = Outgoing::from(publication);
            let place = BatchPlace { batch: &batch, number, is_last: number == count };
            headers::add_batch_place(outgoing.headers.get_or_insert_default(), place);
            if place.is_last {
                last = Some(outgoing);
            } else {
                self.send(outgoing, deadline).await?;
            }
        }
        let last = last.ok_or(Unavailable::new("a batch is empty"))?;
        let reply = self.request(last, deadline).await?;
        read(&reply.payload, count)
    }

    async fn send(&self, outgoing: Outgoing, deadline: Instant) -> Result<(), Unavailable> {
        let headers = outgoing.headers.unwrap_or_default();
        let client = &self.client;
        let sending = client.publish_with_headers(outgoing.subject, headers, outgoing.payload);
        let lost = Unavailable::new("the connection to NATS was lost");
        timeout_at(deadline, sending).await.map_err(|_| lost)?.map_err(|_| lost)
    }
}

/// Decodes the reply to a batch of `count` messages.
fn read(payload: &[u8], count: usize) -> Result<BatchAck, Unavailable> {
    let unreadable = Unavailable::new("the reply to a batch cannot be decoded");
    let answer: Answer = serde_json::from_slice(payload).map_err(|_| unreadable)?;
    if let Some(failure) = answer.error {
        return Ok(BatchAck::Refused { code: failure.err_code, last_of_subject: last_number(&failure.description) });
    }
    let count = u64::try_from(count).map_err(|_| unreadable)?;
    match (answer.seq, answer.count) {
        (Some(last), Some(stored)) if stored == count && last >= count => {
            let first = Sequence(last - count + 1);
            Ok(BatchAck::Stored { first })
        }
        _ => Err(unreadable),
    }
}

/// The number after the last colon of a text.
fn last_number(text: &str) -> Option<Sequence> {
    let (_, number) = text.rsplit_once(':')?;
    number.trim().parse().ok().map(Sequence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::publish::WRONG_LAST_SEQUENCE;

    fn check(payload: &str, expected: Option<BatchAck>) {
        assert_eq!(read(payload.as_bytes(), 3).ok(), expected, "{payload}");
    }

    #[test]
    fn replies_of_nats_server() {
        check(r#"{"stream":"HANSARD_0","seq":9,"batch":"b","count":3}"#, Some(BatchAck::Stored { first: Sequence(7) }));
        check(
            r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 12"},"stream":"S","seq":0}"#,
            Some(BatchAck::Refused { code: WRONG_LAST_SEQUENCE, last_of_subject: Some(Sequence(12)) }),
        );
        check(
            r#"{"error":{"code":400,"err_code":10201,"description":"atomic publish batch contains duplicate message id"}}"#,
            Some(BatchAck::Refused { code: 10_201, last_of_subject: None }),
        );
    }

    #[test]
    fn other_replies_are_errors() {
        check(r#"{"stream":"HANSARD_0","seq":9,"batch":"b","count":2}"#, None);
        check(r#"{"stream":"HANSARD_0","seq":2,"batch":"b","count":3}"#, None);
        check(r#"{"stream":"HANSARD_0","seq":9}"#, None);
        check("{}", None);
        check("", None);
    }
}
