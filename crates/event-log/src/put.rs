//! Puts of messages into streams that keep one message per subject.

use bytes::Bytes;
use domain::Sequence;
use uuid::Uuid;

use crate::get::{MessageQuery, RawMessage};
use crate::publish::{Ack, Publication};
use crate::{Record, Unavailable};

/// The outcome of a put. Each is final.
pub(crate) enum Put {
    /// The message is the last of its subject.
    Stored(Sequence),
    /// The last message of the subject is neither the expected one nor ours.
    Superseded(Option<RawMessage>),
}

impl Record {
    /// Puts a message into a stream that keeps one message per subject, if the current one is `expected`. `rejected`: the error
    /// of a rejection.
    pub(crate) async fn put(
        &self,
        stream: &str,
        subject: String,
        expected: Option<Sequence>,
        payload: Bytes,
        rejected: &'static str,
    ) -> Result<Put, Unavailable> {
        let publication = Publication {
            subject: subject.clone(),
            id: Some(&Uuid::new_v4().to_string()),
            expected,
            payload: payload.clone(),
            ..Publication::default()
        };
        let ack_deadline = Self::ack_deadline(self.deadline());
        let answer = self.connection().publish(publication, ack_deadline);
        let unresolved = match answer.await {
            Ok(Ack::Stored(sequence) | Ack::Duplicate(sequence)) => {
                return Ok(Put::Stored(sequence));
            }
            Ok(Ack::Refused { .. }) => Unavailable::new(rejected),
            Err(unavailable) => unavailable,
        };
        let last = MessageQuery::LastOfSubject(&subject);
        match self.get_from_leader(stream, &last).await? {
            Some(last) if last.payload == payload => Ok(Put::Stored(last.sequence)),
            last if last.as_ref().map(|last| last.sequence) == expected => Err(unresolved),
            last => Ok(Put::Superseded(last)),
        }
    }
}
