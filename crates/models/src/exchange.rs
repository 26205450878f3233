//! Records attempts of requests for a listener: times, sizes and, on request, bodies.
//!
//! An exchange never contains the headers of the request, and so never its key.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use domain::event::{MessageAppended, Usage};
use domain::{Fact, Label};

use crate::error::ModelError;
use crate::piece::Piece;
use crate::recorded_reply::{EXCHANGE_BODY_BYTES_MAX, RecordedReply};

/// One attempt of a request, and its reply. `Debug` shows no contents.
#[derive(Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When the request was sent.
    pub started_at: SystemTime,
    /// The time from the start to the first piece of the reply; `None` if there was no piece.
    pub first_piece: Option<Duration>,
    /// The time from the start to the end.
    pub took: Duration,
    /// The HTTP status; `None` if there was no answer, or if the model is built in.
    pub http_status: Option<u16>,
    /// `finished`; `dropped` if the caller dropped the reply; or the code of the error.
    pub outcome: &'static str,
    /// Why the model stopped, as the server reports it.
    pub finish_reason: Option<Label>,
    /// The used tokens, as the server reports them.
    pub usage: Option<Usage>,
    /// Bytes of the request body.
    pub request_bytes: usize,
    /// Received bytes of the reply.
    pub reply_bytes: usize,
    /// The request body, with [`ExchangeDetail::Bodies`]; at most [`EXCHANGE_BODY_BYTES_MAX`] bytes.
    pub request: Option<Bytes>,
    /// The pieces of the reply and the server's error message as JSON, or the body of a rejection. With
    /// [`ExchangeDetail::Bodies`]; at most [`EXCHANGE_BODY_BYTES_MAX`] bytes.
    pub reply: Option<String>,
}

/// Which parts of exchanges a listener gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeDetail {
    /// Everything without bodies.
    Facts,
    /// Everything.
    Bodies,
}

/// Is called with each exchange at its end. The call is part of reading the reply and must return quickly.
#[derive(Clone)]
pub struct ExchangeListener {
    detail: ExchangeDetail,
    notify: Arc<dyn Fn(Exchange) + Send + Sync>,
}

impl ExchangeListener {
    /// Creates a listener.
    pub fn new(detail: ExchangeDetail, notify: impl Fn(Exchange) + Send + Sync + 'static) -> Self {
        let notify = Arc::new(notify);
        Self { detail, notify }
    }
}

impl fmt::Debug for ExchangeListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExchangeListener").field(&self.detail).finish()
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("attempt", &self.attempt)
            .field("http_status", &self.http_status)
            .field("outcome", &self.outcome)
            .field("request_bytes", &self.request_bytes)
            .field("reply_bytes", &self.reply_bytes)
            .finish_non_exhaustive()
    }
}

/// An open exchange. The listener gets it at its end, or when it is dropped. Empty without a listener.
#[derive(Debug)]
pub(crate) struct Attempt(Option<Box<OpenExchange>>);

#[derive(Debug)]
struct OpenExchange {
    listener: ExchangeListener,
    started: Instant,
    exchange: Exchange,
    reply: RecordedReply,
}

impl Attempt {
    /// Starts an exchange when its request is sent.
    pub(crate) fn begin(listener: Option<&ExchangeListener>, attempt: u32, body: &Bytes) -> Self {
        let open = listener.map(|listener| {
            let has_body = listener.detail == ExchangeDetail::Bodies && body.len() <= EXCHANGE_BODY_BYTES_MAX;
            Box::new(OpenExchange {
                listener: listener.clone(),
                started: Instant::now(),
                exchange: Exchange {
                    attempt,
                    started_at: SystemTime::now(),
                    first_piece: None,
                    took: Duration::ZERO,
                    http_status: None,
                    outcome: "dropped",
                    finish_reason: None,
                    usage: None,
                    request_bytes: body.len(),
                    reply_bytes: 0,
                    request: has_body.then(|| body.clone()),
                    reply: None,
                },
                reply: RecordedReply::default(),
            })
        });
        Self(open)
    }

    pub(crate) fn record_status(&mut self, http_status: u16) {
        if let Some(open) = &mut self.0 {
            open.exchange.http_status = Some(http_status);
        }
    }

    pub(crate) fn record_bytes(&mut self, bytes: usize) {
        if let Some(open) = &mut self.0 {
            open.exchange.reply_bytes += bytes;
        }
    }

    pub(crate) fn record_rejection(&mut self, body: &[u8]) {
        self.record_bytes(body.len());
        if let Some(open) = &mut self.0
            && open.listener.detail == ExchangeDetail::Bodies
        {
            open.exchange.reply = Some(String::from_utf8_lossy(body).into_owned());
        }
    }

    /// Records a piece of the reply or an error. The last piece and any error end the exchange.
    pub(crate) fn record(&mut self, piece: &Result<Piece, ModelError>) {
        let Some(open) = &mut self.0 else { return };
        if piece.is_ok() && open.exchange.first_piece.is_none() {
            open.exchange.first_piece = Some(open.started.elapsed());
        }
        match piece {
            Ok(Piece::Delta(delta)) => {
                if open.listener.detail == ExchangeDetail::Bodies {
                    open.reply.add(delta);
                }
                return;
            }
            Ok(Piece::Finished(reply)) => {
                open.exchange.outcome = "finished";
                if let Some(message) = reply.facts.iter().find_map(message_from) {
                    open.exchange.usage = message.usage;
                    open.exchange.finish_reason.clone_from(&message.finish_reason);
                }
            }
            Err(error) => {
                open.exchange.outcome = error.code();
                if let ModelError::Failed { error_type, message } = error {
                    let words: Vec<_> =
                        [error_type.as_str(), message.expose()].into_iter().filter(|word| !word.is_empty()).collect();
                    open.reply.fail(&words.join(": "));
                }
            }
        }
        self.end();
    }

    fn end(&mut self) {
        let Some(open) = self.0.take() else { return };
        let mut exchange = open.exchange;
        exchange.took = open.started.elapsed();
        if open.listener.detail == ExchangeDetail::Bodies && exchange.reply.is_none() {
            exchange.reply = open.reply.into_json();
        }
        (open.listener.notify)(exchange);
    }
}

fn message_from(fact: &Fact) -> Option<&MessageAppended> {
    if let Fact::MessageAppended(message) = fact {
        return Some(message);
    }
    None
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.end();
    }
}
