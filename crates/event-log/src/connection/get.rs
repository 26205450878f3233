//! Reads single messages of a stream, from any replica or from the leader.

use async_nats::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::{CommitId, Sequence, Timestamp};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

use crate::connection::read_limit::Source;
use crate::connection::reads::ApiAnswer;
use crate::connection::{ApiFailure, Connection, Outgoing};
use crate::error::Unavailable;
use crate::headers;
use crate::headers::TraceHeaders;

/// "no message found".
const NO_MESSAGE_FOUND: u64 = 10_037;

/// A message of any stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawMessage {
    pub(crate) subject: String,
    pub(crate) sequence: Sequence,
    pub(crate) payload: Bytes,
    pub(crate) trace: TraceHeaders,
    /// When the server stored it.
    pub(crate) stored_at: Timestamp,
}

impl RawMessage {
    /// Whether the message only closes its subject for the first commit of a conversation.
    pub(crate) fn is_closing(&self) -> bool {
        self.payload.is_empty()
    }

    /// Its commit id; `None`: the message is not a commit.
    pub(crate) fn commit(&self) -> Option<CommitId> {
        let head = wire::commit::open_head(self.payload.clone()).ok()?;
        head.recent.last().map(|commit| commit.id)
    }
}

/// A query for one message of a stream.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) enum MessageQuery<'a> {
    #[serde(rename = "last_by_subj")]
    LastOfSubject(&'a str),
    #[serde(rename = "seq")]
    Sequence(u64),
}

/// The first message of a subject at or after a sequence.
#[derive(Debug, Serialize)]
pub(crate) struct NextOfSubject<'a> {
    seq: u64,
    next_by_subj: &'a str,
}

impl<'a> NextOfSubject<'a> {
    /// The first message of a subject, which may end in a wildcard, after a sequence.
    pub(crate) fn after(next_by_subj: &'a str, after: Sequence) -> Self {
        let seq = after.0.saturating_add(1);
        Self { seq, next_by_subj }
    }
}

#[derive(Deserialize)]
struct LeaderAnswer {
    message: Option<LeaderMessage>,
    error: Option<ApiFailure>,
}

impl ApiAnswer for LeaderAnswer {
    fn failure(&self) -> Option<&ApiFailure> {
        self.error.as_ref()
    }
}

#[derive(Deserialize)]
struct LeaderMessage {
    subject: String,
    seq: u64,
    hdrs: Option<String>,
    data: Option<String>,
    time: String,
}

impl Connection {
    /// Reads from any replica, which may lag.
    pub(crate) async fn get(
        &self,
        stream: &str,
        query: MessageQuery<'_>,
        deadline: Instant,
    ) -> Result<Option<RawMessage>, Unavailable> {
        let (request, payload) = match query {
            MessageQuery::LastOfSubject(subject) => (format!("DIRECT.GET.{stream}.{subject}"), Bytes::new()),
            MessageQuery::Sequence(sequence) => {
                (format!("DIRECT.GET.{stream}"), format!("{{\"seq\":{sequence}}}").into())
            }
        };
        let subject = self.api_subject(&request);
        let send = || {
            let outgoing = Outgoing { subject: subject.clone(), headers: None, payload: payload.clone() };
            self.request(outgoing, deadline)
        };
        let reply = self.read_with_resends(Source::Replica, deadline, send).await?;
        match reply.status {
            None => parse_direct_reply(reply.headers.as_ref(), &reply.payload).map(Some),
            Some(StatusCode::NOT_FOUND) => Ok(None),
            Some(_) => Err(Unavailable::new("the server rejected a read")),
        }
    }

    /// Reads from the leader, which has every acknowledged message.
    pub(crate) async fn get_from_leader(
        &self,
        stream: &str,
        query: &impl Serialize,
        deadline: Instant,
    ) -> Result<Option<RawMessage>, Unavailable> {
        let request = format!("STREAM.MSG.GET.{stream}");
        let answer: LeaderAnswer = self.api_read(&request, query, deadline).await?;
        match (answer.message, answer.error) {
            (Some(message), None) => parse_leader_reply(message).map(Some),
            (_, Some(failure)) if failure.err_code == NO_MESSAGE_FOUND => Ok(None),
            _ => Err(Unavailable::new("the leader rejected a read")),
        }
    }
}

/// Parses a reply of Direct Get, which has the stream's metadata in headers.
pub(crate) fn parse_direct_reply(headers: Option<&HeaderMap>, payload: &Bytes) -> Result<RawMessage, Unavailable> {
    let read = || {
        let headers = headers?;
        Some(RawMessage {
            subject: headers::subject_of(headers)?.to_owned(),
            sequence: Sequence(headers::sequence_of(headers)?),
            payload: payload.clone(),
            trace: headers::trace_of(headers),
            stored_at: parse_timestamp(headers::time_of(headers)?)?,
        })
    };
    read().ok_or(Unavailable::new("a message has no sequence or time"))
}

fn parse_leader_reply(message: LeaderMessage) -> Result<RawMessage, Unavailable> {
    let decode = |text: Option<String>| STANDARD.decode(text.unwrap_or_default());
    let read = || {
        Some(RawMessage {
            subject: message.subject,
            sequence: Sequence(message.seq),
            payload: decode(message.data).ok()?.into(),
            trace: parse_trace(&decode(message.hdrs).ok()?),
            stored_at: parse_timestamp(&message.time)?,
        })
    };
    read().ok_or(Unavailable::new("the leader's reply cannot be decoded"))
}

/// Parses a time of the server: RFC 3339 with nanoseconds.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos()).ok().map(Timestamp)
}

/// Formats a time for the server; times before 1970 become 1970, before any message.
pub(crate) fn to_rfc3339(time: Timestamp) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(time.0.max(0)))
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_else(|| "1970-01-01T00:00:00Z".to_owned())
}

/// Parses the trace headers of a block of raw headers.
fn parse_trace(block: &[u8]) -> TraceHeaders {
    let mut trace = TraceHeaders::default();
    for line in String::from_utf8_lossy(block).lines() {
        if let Some((name, value)) = line.split_once(':') {
            trace.put(name, value.trim());
        }
    }
    trace
}
