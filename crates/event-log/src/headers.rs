//! Message headers that the record writes and reads.

use std::time::Duration;

use async_nats::header::{
    IntoHeaderName, NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_LAST_SEQUENCE, NATS_MESSAGE_ID, NATS_MESSAGE_TTL,
    NATS_SEQUENCE, NATS_SUBJECT, NATS_TIME_STAMP,
};
use async_nats::{HeaderMap, HeaderValue};

/// Header name of W3C Trace Context.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// Header name of W3C Trace Context.
pub(crate) const TRACESTATE: &str = "tracestate";
/// Maximum bytes of one trace header: W3C's bound of `tracestate`.
const TRACE_BYTES_MAX: usize = 512;
/// Header name: how many more messages the subject of a batch has.
const NUM_PENDING: &str = "Nats-Num-Pending";
/// Header names of atomic batches.
const BATCH_ID: &str = "Nats-Batch-Id";
const BATCH_SEQUENCE: &str = "Nats-Batch-Sequence";
const BATCH_COMMIT: &str = "Nats-Batch-Commit";

/// The trace context of a commit (W3C Trace Context); empty without tracing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceHeaders {
    /// The header `traceparent`.
    pub traceparent: Option<String>,
    /// The header `tracestate`.
    pub tracestate: Option<String>,
}

impl TraceHeaders {
    /// Sets a header; ignores other names.
    pub fn put(&mut self, name: &str, value: &str) {
        match name {
            TRACEPARENT => self.traceparent = Some(value.to_owned()),
            TRACESTATE => self.tracestate = Some(value.to_owned()),
            _ => {}
        }
    }

    /// The header of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        match name {
            TRACEPARENT => self.traceparent.as_deref(),
            TRACESTATE => self.tracestate.as_deref(),
            _ => None,
        }
    }
}

/// The place of a message in an atomic batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchPlace<'a> {
    /// The id of the batch, at most 64 characters.
    pub(crate) batch: &'a str,
    /// The number of the message, from 1.
    pub(crate) number: usize,
    /// The last message stores the batch.
    pub(crate) is_last: bool,
}

/// Adds the headers of a message of an atomic batch.
pub(crate) fn add_batch_place(headers: &mut HeaderMap, place: BatchPlace<'_>) {
    headers.insert(BATCH_ID, place.batch);
    headers.insert(BATCH_SEQUENCE, HeaderValue::from(place.number));
    if place.is_last {
        headers.insert(BATCH_COMMIT, "1");
    }
}

/// Headers of a message that is stored once, after the expected last message of its subject.
pub(crate) fn for_publish(id: Option<&str>, expected: u64, trace: Option<&TraceHeaders>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(id) = id {
        headers.insert(NATS_MESSAGE_ID, id);
    }
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, HeaderValue::from(expected));
    for name in [TRACEPARENT, TRACESTATE] {
        // A value with a line break would end the header; it is not a trace and is omitted.
        if let Some(value) = trace.and_then(|trace| trace.get(name))
            && value.len() <= TRACE_BYTES_MAX
            && let Ok(value) = value.parse::<HeaderValue>()
        {
            headers.insert(name, value);
        }
    }
    headers
}

/// Headers of a message that is stored once and expires after `ttl`.
pub(crate) fn with_ttl(id: &str, ttl: Duration) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id);
    headers.insert(NATS_MESSAGE_TTL, HeaderValue::from(ttl.as_secs()));
    headers
}

pub(crate) fn trace_of(headers: &HeaderMap) -> TraceHeaders {
    let text = |name| Some(headers.get(name)?.as_str().to_owned());
    let traceparent = text(TRACEPARENT);
    TraceHeaders { tracestate: traceparent.as_ref().and_then(|_| text(TRACESTATE)), traceparent }
}

/// The sequence that the server added; the last header counts, because a publisher may have set its own.
pub(crate) fn sequence_of(headers: &HeaderMap) -> Option<u64> {
    number(headers, NATS_SEQUENCE)
}

/// The sequence of the previous message: of the batch, or of the subject for republished messages.
pub(crate) fn last_sequence_of(headers: &HeaderMap) -> Option<u64> {
    number(headers, NATS_LAST_SEQUENCE)
}

pub(crate) fn subject_of(headers: &HeaderMap) -> Option<&str> {
    headers.get_last(NATS_SUBJECT).map(HeaderValue::as_str)
}

/// When the server stored a message, in the server's format.
pub(crate) fn time_of(headers: &HeaderMap) -> Option<&str> {
    headers.get_last(NATS_TIME_STAMP).map(HeaderValue::as_str)
}

pub(crate) fn pending_of(headers: &HeaderMap) -> Option<u64> {
    number(headers, NUM_PENDING)
}

fn number(headers: &HeaderMap, name: impl IntoHeaderName) -> Option<u64> {
    headers.get_last(name)?.as_str().parse().ok()
}
