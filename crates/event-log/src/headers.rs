//! The headers that the record writes and reads.

use std::time::Duration;

use async_nats::header::{
    HeaderName, NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_LAST_SEQUENCE, NATS_MESSAGE_ID,
    NATS_MESSAGE_TTL, NATS_SEQUENCE, NATS_SUBJECT, NATS_TIME_STAMP,
};
use async_nats::{HeaderMap, HeaderValue};

/// W3C Trace Context.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// W3C Trace Context.
pub(crate) const TRACESTATE: &str = "tracestate";
/// Most bytes of one header of a trace: W3C's own bound for `tracestate`.
const TRACE_BYTES_MAX: usize = 512;
/// How many messages of a batch's subject follow.
const NUM_PENDING: &str = "Nats-Num-Pending";

/// The trace that a commit was appended under, as W3C Trace Context writes it; empty when nothing was traced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceHeaders {
    /// The header `traceparent`.
    pub traceparent: Option<String>,
    /// The header `tracestate`.
    pub tracestate: Option<String>,
}

impl TraceHeaders {
    /// Takes a header; one of another name is ignored.
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

/// The headers of a publish that is stored once, after the message that is expected to be its subject's last.
pub(crate) fn of_publish(id: Option<&str>, expected: u64, trace: &TraceHeaders) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(id) = id {
        headers.insert(NATS_MESSAGE_ID, id);
    }
    headers.insert(
        NATS_EXPECTED_LAST_SUBJECT_SEQUENCE,
        HeaderValue::from(expected),
    );
    for name in [TRACEPARENT, TRACESTATE] {
        // A value with a line break would end the header: it is no trace, and is left out.
        if let Some(value) = trace.get(name)
            && value.len() <= TRACE_BYTES_MAX
            && let Ok(value) = value.parse::<HeaderValue>()
        {
            headers.insert(name, value);
        }
    }
    headers
}

/// The headers of a publish that is stored once, and for so long.
pub(crate) fn of_passing(id: &str, ttl: Duration) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id);
    headers.insert(NATS_MESSAGE_TTL, HeaderValue::from(ttl.as_secs()));
    headers
}

pub(crate) fn trace_of(headers: &HeaderMap) -> TraceHeaders {
    let mut trace = TraceHeaders::default();
    if let Some(value) = headers.get(TRACEPARENT) {
        trace.put(TRACEPARENT, value.as_str());
        if let Some(value) = headers.get(TRACESTATE) {
            trace.put(TRACESTATE, value.as_str());
        }
    }
    trace
}

/// The sequence that the server stamped on a stored message; the last one, for a publisher may have written its own.
pub(crate) fn sequence_of(headers: &HeaderMap) -> Option<u64> {
    number(headers, NATS_SEQUENCE)
}

/// The sequence of the message before: of the same batch, or of the same subject where messages are republished.
pub(crate) fn last_sequence_of(headers: &HeaderMap) -> Option<u64> {
    number(headers, NATS_LAST_SEQUENCE)
}

pub(crate) fn subject_of(headers: &HeaderMap) -> Option<&str> {
    headers.get_last(NATS_SUBJECT).map(HeaderValue::as_str)
}

/// When the server stored a message, as it writes times.
pub(crate) fn time_of(headers: &HeaderMap) -> Option<&str> {
    headers.get_last(NATS_TIME_STAMP).map(HeaderValue::as_str)
}

pub(crate) fn pending_of(headers: &HeaderMap) -> Option<u64> {
    headers.get_last(NUM_PENDING)?.as_str().parse().ok()
}

fn number(headers: &HeaderMap, name: HeaderName) -> Option<u64> {
    headers.get_last(name)?.as_str().parse().ok()
}
