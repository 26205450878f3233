//! Publishes to a stream and decodes the acknowledgement.

use bytes::Bytes;
use domain::Sequence;
use serde::Deserialize;
use tokio::time::Instant;

use crate::connection::{ApiFailure, Connection, Outgoing};
use crate::error::Unavailable;
use crate::headers;
use crate::headers::TraceHeaders;

/// A message that is stored once, after the expected last message of its subject.
#[derive(Debug, Default)]
pub(crate) struct Publication<'a> {
    pub(crate) subject: String,
    /// `None`: only the expected sequence prevents a second copy.
    pub(crate) id: Option<&'a str>,
    pub(crate) expected: Option<Sequence>,
    pub(crate) trace: Option<&'a TraceHeaders>,
    pub(crate) payload: Bytes,
}

/// The acknowledgement of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ack {
    Stored(Sequence),
    /// A message with this id is stored: this one, or one of another subject of the stream.
    Duplicate(Sequence),
    /// This copy of the message is not stored; an earlier one may be.
    Refused {
        /// The server's error code.
        code: u64,
    },
}

impl Ack {
    /// Whether the replicas still process an earlier copy of the message or another one of its subject. The outcome is known as soon as most of
    /// them answer, so this is no reason to give up.
    pub(crate) fn is_in_flight(self) -> bool {
        let codes = [DUPLICATE_IN_FLIGHT, WRONG_LAST_SEQUENCE_IN_FLIGHT];
        matches!(self, Self::Refused { code } if codes.contains(&code))
    }
}

/// "wrong last sequence": the expected message is not the subject's last. A single replica also returns it for the retry of
/// a stored publish, because it checks sequences before ids.
pub(crate) const WRONG_LAST_SEQUENCE: u64 = 10_071;
/// "wrong last sequence", while the replicas still process another publish to the subject.
pub(crate) const WRONG_LAST_SEQUENCE_IN_FLIGHT: u64 = 10_164;
/// "duplicate message id is in process": the replicas still process an earlier copy.
pub(crate) const DUPLICATE_IN_FLIGHT: u64 = 10_158;

#[derive(Deserialize)]
struct Answer {
    seq: Option<u64>,
    #[serde(default)]
    duplicate: bool,
    error: Option<ApiFailure>,
}

impl Connection {
    pub(crate) async fn publish(&self, publication: Publication<'_>, deadline: Instant) -> Result<Ack, Unavailable> {
        let reply = self.request(publication.into(), deadline).await?;
        read(&reply.payload)
    }
}

impl From<Publication<'_>> for Outgoing {
    fn from(publication: Publication<'_>) -> Self {
        let expected = publication.expected.map_or(0, |sequence| sequence.0);
        Self {
            subject: publication.subject,
            headers: Some(headers::for_publish(publication.id, expected, publication.trace)),
            payload: publication.payload,
        }
    }
}

/// Decodes an acknowledgement.
pub(crate) fn read(payload: &[u8]) -> Result<Ack, Unavailable> {
    let unreadable = Unavailable::new("the reply to a publish cannot be decoded");
    let answer: Answer = serde_json::from_slice(payload).map_err(|_| unreadable)?;
    if let Some(failure) = answer.error {
        let code = failure.err_code;
        return Ok(Ack::Refused { code });
    }
    match answer.seq {
        Some(sequence) if answer.duplicate => Ok(Ack::Duplicate(Sequence(sequence))),
        Some(sequence) if sequence > 0 => Ok(Ack::Stored(Sequence(sequence))),
        _ => Err(unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &str, expected: Option<Ack>) {
        assert_eq!(read(payload.as_bytes()).ok(), expected, "{payload}");
    }

    #[test]
    fn replies_of_nats_server() {
        let refused = |code| Some(Ack::Refused { code });
        check(r#"{"stream":"HANSARD_0","seq":7}"#, Some(Ack::Stored(Sequence(7))));
        check(r#"{"stream":"HANSARD_0","seq":1,"duplicate": true}"#, Some(Ack::Duplicate(Sequence(1))));
        check(
            r#"{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 1"},"stream":"HANSARD_0","seq":0}"#,
            refused(WRONG_LAST_SEQUENCE),
        );
        check(
            r#"{"error":{"code":400,"err_code":10164,"description":"wrong last sequence"},"stream":"HANSARD_0","seq":0}"#,
            refused(WRONG_LAST_SEQUENCE_IN_FLIGHT),
        );
        check(
            r#"{"error":{"code":409,"err_code":10158,"description":"duplicate message id is in process"}}"#,
            refused(DUPLICATE_IN_FLIGHT),
        );
        check(r#"{"stream":"HANSARD_0","seq":0}"#, None);
        check(r#"{"stream":"HANSARD_0"}"#, None);
        check("+OK", None);
    }
}
