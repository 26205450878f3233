//! Puts of messages into streams that keep one message per subject.

use bytes::Bytes;
use domain::Sequence;
use uuid::Uuid;

use crate::append::resolve::wait;
use crate::connection::get::{MessageQuery, RawMessage};
use crate::connection::publish::{Ack, Publication};
use crate::error::Unavailable;
use crate::record::Record;

/// Maximum retries of a put without an answer.
const RETRIES_MAX: u32 = 12;

/// The outcome of a put. Each is final.
pub(crate) enum Put {
    /// The message is the last of its subject.
    Stored(Sequence),
    /// The last message of the subject is neither the expected one nor ours.
    Superseded(Option<RawMessage>),
}

impl Record {
    /// Puts a message into a stream that keeps one message per subject, if the current one is `expected`. Retries without an
    /// answer, as long as nothing changed. `rejected`: the error of a rejection.
    pub(crate) async fn put(
        &self,
        stream: &str,
        subject: String,
        expected: Option<Sequence>,
        payload: Bytes,
        rejected: &'static str,
    ) -> Result<Put, Unavailable> {
        let (id, deadline) = (Uuid::new_v4().to_string(), self.deadline());
        let mut attempt = 0;
        loop {
            let publication = Publication {
                subject: subject.clone(),
                id: Some(&id),
                expected,
                payload: payload.clone(),
                ..Publication::default()
            };
            let ack_deadline = Self::ack_deadline(deadline);
            let answer = self.connection().publish(publication, ack_deadline).await;
            if let Ok(Ack::Stored(sequence) | Ack::Duplicate(sequence)) = answer {
                return Ok(Put::Stored(sequence));
            }
            let query = MessageQuery::LastOfSubject(&subject);
            let last = self.connection().get_from_leader(stream, &query, deadline);
            match last.await? {
                Some(last) if last.payload == payload => return Ok(Put::Stored(last.sequence)),
                last if last.as_ref().map(|last| last.sequence) != expected => {
                    return Ok(Put::Superseded(last));
                }
                _ => {}
            }
            match answer {
                Ok(ack) if ack.is_in_flight() => wait(attempt, deadline).await?,
                Ok(_) => return Err(Unavailable::new(rejected)),
                // Another server may not know the subject of a new stream yet.
                Err(_) if attempt < RETRIES_MAX => wait(attempt, deadline).await?,
                Err(unavailable) => return Err(unavailable),
            }
            attempt += 1;
        }
    }
}
