//! What an attempt came to, for who listens: times and sizes, and what was said, where that is wanted.
//!
//! The request's headers, and with them its key, are never among it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use domain::event::{MessageAppended, Usage};
use domain::{Fact, Label};

use crate::error::ModelError;
use crate::piece::Piece;
use crate::said::{EXCHANGE_BODY_BYTES_MAX, Said};

/// One request as it was sent once, and what came back. `Debug` shows no contents.
#[derive(Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Which try of the request it was, counted from 1.
    pub attempt: u32,
    /// When it was sent.
    pub started_at: SystemTime,
    /// From then to the first piece of the reply; `None`: none came.
    pub first_piece: Option<Duration>,
    /// From then to the end.
    pub took: Duration,
    /// The HTTP status; `None`: none came, or the model is built in.
    pub http_status: Option<u16>,
    /// `finished`; `dropped`, where nobody wanted more; or the failure's code.
    pub outcome: &'static str,
    /// Why the model ended, as the server says.
    pub finish_reason: Option<Label>,
    /// What it cost, as the server says.
    pub usage: Option<Usage>,
    /// Bytes of the request's body.
    pub request_bytes: usize,
    /// Bytes of the reply, as it came.
    pub reply_bytes: usize,
    /// The request's body, where bodies are wanted; at most [`EXCHANGE_BODY_BYTES_MAX`] bytes.
    pub request: Option<Bytes>,
    /// What the pieces of the reply came to, as JSON, with what the server said of a failure; or the body of a refusal. Where
    /// bodies are wanted; at most [`EXCHANGE_BODY_BYTES_MAX`] bytes.
    pub reply: Option<String>,
}

/// What is wanted of exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// All but bodies.
    Facts,
    /// Bodies too.
    Bodies,
}

/// Hears of each exchange once it is over. It is called where the reply is read, and must not take long.
#[derive(Clone)]
pub struct Listener {
    wanted: Wanted,
    hear: Arc<dyn Fn(Exchange) + Send + Sync>,
}

impl Listener {
    /// A listener that is told what it wants.
    pub fn new(wanted: Wanted, hear: impl Fn(Exchange) + Send + Sync + 'static) -> Self {
        Self {
            wanted,
            hear: Arc::new(hear),
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.wanted).finish()
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

/// An exchange that goes on; told when it is over, or dropped. Nothing at all where nobody listens.
#[derive(Debug)]
pub(crate) struct Attempt(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    listener: Listener,
    began: Instant,
    exchange: Exchange,
    said: Said,
}

impl Attempt {
    /// A request that is being sent.
    pub(crate) fn begin(listener: Option<&Listener>, attempt: u32, body: &Bytes) -> Self {
        let open = listener.map(|listener| {
            let is_told =
                listener.wanted == Wanted::Bodies && body.len() <= EXCHANGE_BODY_BYTES_MAX;
            Box::new(Open {
                listener: listener.clone(),
                began: Instant::now(),
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
                    request: is_told.then(|| body.clone()),
                    reply: None,
                },
                said: Said::default(),
            })
        });
        Self(open)
    }

    /// The head of an answer has come.
    pub(crate) fn answered(&mut self, http_status: u16) {
        if let Some(open) = &mut self.0 {
            open.exchange.http_status = Some(http_status);
        }
    }

    /// More of the answer has come.
    pub(crate) fn received(&mut self, bytes: usize) {
        if let Some(open) = &mut self.0 {
            open.exchange.reply_bytes += bytes;
        }
    }

    /// The server has refused, in these words.
    pub(crate) fn refused(&mut self, body: &[u8]) {
        self.received(body.len());
        if let Some(open) = &mut self.0
            && open.listener.wanted == Wanted::Bodies
        {
            open.exchange.reply = Some(String::from_utf8_lossy(body).into_owned());
        }
    }

    /// A piece of the reply, or why there is none; the last one ends it.
    pub(crate) fn note(&mut self, piece: &Result<Piece, ModelError>) {
        let Some(open) = &mut self.0 else { return };
        if piece.is_ok() && open.exchange.first_piece.is_none() {
            open.exchange.first_piece = Some(open.began.elapsed());
        }
        match piece {
            Ok(Piece::Delta(delta)) => {
                if open.listener.wanted == Wanted::Bodies {
                    open.said.add(delta);
                }
                return;
            }
            Ok(Piece::Finished(reply)) => {
                open.exchange.outcome = "finished";
                let message = reply.facts.iter().find_map(message_of);
                open.exchange.usage = message.and_then(|message| message.usage);
                open.exchange.finish_reason =
                    message.and_then(|message| message.finish_reason.clone());
            }
            Err(error) => {
                open.exchange.outcome = error.code();
                if let ModelError::Failed {
                    error_type,
                    message,
                } = error
                {
                    let words = [error_type.as_str(), message.expose()];
                    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
                    open.said.fail(&words.join(": "));
                }
            }
        }
        self.tell();
    }

    fn tell(&mut self) {
        let Some(open) = self.0.take() else { return };
        let Open {
            listener,
            began,
            mut exchange,
            said,
        } = *open;
        exchange.took = began.elapsed();
        if listener.wanted == Wanted::Bodies && exchange.reply.is_none() {
            exchange.reply = said.into_json();
        }
        (listener.hear)(exchange);
    }
}

fn message_of(fact: &Fact) -> Option<&MessageAppended> {
    if let Fact::MessageAppended(message) = fact {
        return Some(message);
    }
    None
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.tell();
    }
}
