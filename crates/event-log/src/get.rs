//! Reading one message of a stream: from any replica, or from the leader.

use async_nats::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::{CommitId, Sequence, Timestamp};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

use crate::connection::{Connection, Outgoing};
use crate::error::Unavailable;
use crate::headers::{self, TraceHeaders};

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
    /// The commit that it is; `None`: it is none.
    pub(crate) fn commit(&self) -> Option<CommitId> {
        let head = wire::commit::open_head(self.payload.clone()).ok()?;
        head.recent.last().map(|commit| commit.id)
    }
}

/// Which message of a stream.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) enum Which<'a> {
    /// A subject's last.
    #[serde(rename = "last_by_subj")]
    LastOf(&'a str),
    /// The one with this sequence.
    #[serde(rename = "seq")]
    At(u64),
}

/// The first message of a subject from a sequence on.
#[derive(Debug, Serialize)]
pub(crate) struct NextOf<'a> {
    pub(crate) seq: u64,
    pub(crate) next_by_subj: &'a str,
}

#[derive(Deserialize)]
struct LeaderAnswer {
    message: Option<LeaderMessage>,
    error: Option<LeaderFailure>,
}

#[derive(Deserialize)]
struct LeaderMessage {
    subject: String,
    seq: u64,
    hdrs: Option<String>,
    data: Option<String>,
    time: String,
}

#[derive(Deserialize)]
struct LeaderFailure {
    #[serde(default)]
    err_code: u64,
}

impl Connection {
    /// From any replica, which may be behind.
    pub(crate) async fn get(
        &self,
        stream: &str,
        which: Which<'_>,
        deadline: Instant,
    ) -> Result<Option<RawMessage>, Unavailable> {
        let (request, payload) = match which {
            Which::LastOf(of) => (format!("DIRECT.GET.{stream}.{of}"), Bytes::new()),
            Which::At(sequence) => (
                format!("DIRECT.GET.{stream}"),
                format!("{{\"seq\":{sequence}}}").into(),
            ),
        };
        let outgoing = Outgoing {
            subject: self.api_subject(&request),
            headers: None,
            payload,
        };
        let reply = self.request(outgoing, deadline).await?;
        match reply.status {
            None => of_direct(reply.headers.as_ref(), &reply.payload).map(Some),
            Some(StatusCode::NOT_FOUND) => Ok(None),
            Some(_) => Err(Unavailable::new("the server refused to read a message")),
        }
    }

    /// From the leader: every acknowledged message is seen.
    pub(crate) async fn get_from_leader(
        &self,
        stream: &str,
        query: &impl Serialize,
        deadline: Instant,
    ) -> Result<Option<RawMessage>, Unavailable> {
        let subject = self.api_subject(&format!("STREAM.MSG.GET.{stream}"));
        let answer: LeaderAnswer = self.api(subject, query, deadline).await?;
        match (answer.message, answer.error) {
            (Some(message), None) => of_leader(message).map(Some),
            (_, Some(failure)) if failure.err_code == NO_MESSAGE_FOUND => Ok(None),
            _ => Err(Unavailable::new("the leader refused to read a message")),
        }
    }
}

/// A message as Direct Get sends it: what the stream knows of it stands in headers.
pub(crate) fn of_direct(
    headers: Option<&HeaderMap>,
    payload: &Bytes,
) -> Result<RawMessage, Unavailable> {
    let read = || {
        let headers = headers?;
        Some(RawMessage {
            subject: headers::subject_of(headers)?.to_owned(),
            sequence: Sequence(headers::sequence_of(headers)?),
            payload: payload.clone(),
            trace: headers::trace_of(headers),
            stored_at: timestamp_of(headers::time_of(headers)?)?,
        })
    };
    read().ok_or(Unavailable::new(
        "a message came without its sequence or time",
    ))
}

fn of_leader(message: LeaderMessage) -> Result<RawMessage, Unavailable> {
    let decode = |text: Option<String>| STANDARD.decode(text.unwrap_or_default());
    let read = || {
        Some(RawMessage {
            subject: message.subject,
            sequence: Sequence(message.seq),
            payload: decode(message.data).ok()?.into(),
            trace: trace_of_block(&decode(message.hdrs).ok()?),
            stored_at: timestamp_of(&message.time)?,
        })
    };
    read().ok_or(Unavailable::new("the leader's answer cannot be read"))
}

/// A time as the server writes it: RFC 3339, with nanoseconds.
fn timestamp_of(text: &str) -> Option<Timestamp> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos())
        .ok()
        .map(Timestamp)
}

/// The trace in a block of headers as it stands on the wire.
fn trace_of_block(block: &[u8]) -> TraceHeaders {
    let mut trace = TraceHeaders::default();
    for line in String::from_utf8_lossy(block).lines() {
        if let Some((name, value)) = line.split_once(':') {
            trace.put(name, value.trim());
        }
    }
    trace
}
