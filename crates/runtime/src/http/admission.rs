//! Admission: each request and each stream takes a slot, or is rejected.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use tokio_util::sync::CancellationToken;

use super::config::HttpConfig;
use super::problem::HttpProblem;
use crate::net::{Drain, Exchange, Slot, Slots, memory_slots};

#[derive(Debug)]
pub(super) struct Admission {
    requests: Arc<Slots>,
    streams: Arc<Slots>,
    /// The memory of all bodies, without streams.
    memory: Arc<Slots>,
    drain: Drain,
    retry_after: Duration,
}

impl Admission {
    pub(super) fn new(config: &HttpConfig, drain: Drain) -> Self {
        let preempt_after = config.transport.preempt_after();
        Self {
            requests: Slots::new("http.requests", config.requests_max, preempt_after),
            streams: Slots::new("http.streams", config.streams_max, preempt_after),
            memory: Slots::new("http.memory", memory_slots(config.bodies_bytes_max), preempt_after),
            drain,
            retry_after: Duration::from_millis(config.retry_after_ms),
        }
    }

    pub(super) fn slots(&self) -> Vec<Arc<Slots>> {
        let all = [&self.requests, &self.streams, &self.memory];
        all.map(Arc::clone).to_vec()
    }

    pub(super) fn memory(&self) -> Arc<Slots> {
        Arc::clone(&self.memory)
    }

    /// Takes a slot without waiting: a queue would only hide the load.
    fn admit(&self, slots: &Arc<Slots>) -> Result<Slot, HttpProblem> {
        if self.drain.has_begun() {
            return Err(self.draining());
        }
        slots.acquire(1).ok_or_else(|| self.overloaded(slots))
    }

    fn draining(&self) -> HttpProblem {
        let detail = "the server is shutting down: connect again";
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "DRAINING", detail).retry_after(self.retry_after)
    }

    fn overloaded(&self, slots: &Slots) -> HttpProblem {
        let (max, noun) = (slots.max, slots.kind());
        self.at_limit(&format!("{max} {noun}"))
    }

    /// The bodies of all requests and responses use the memory that they may use.
    pub(super) fn out_of_memory(&self) -> HttpProblem {
        self.at_limit("the bytes of all requests and responses")
    }

    fn at_limit(&self, limit: &str) -> HttpProblem {
        let detail = format!("the server is at its limit of {limit}: try again later");
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", detail).retry_after(self.retry_after)
    }

    /// Another request took the slot of a request that waited for its client.
    pub(super) fn preempted(&self) -> HttpProblem {
        self.overloaded(&self.requests)
    }
}

/// Takes a slot for a request. Layers that reject requests are outside of this one: rejected requests take no slot.
pub(super) async fn admit(State(admission): State<Arc<Admission>>, mut request: Request, next: Next) -> Response {
    let slot = match admission.admit(&admission.requests) {
        Ok(slot) => slot,
        Err(problem) => return problem.into_response(),
    };
    if let Some(exchange) = request.extensions().get::<Arc<Exchange>>() {
        exchange.hold(slot);
    }
    request.extensions_mut().insert(admission);
    next.run(request).await
}

/// Signals the start of the drain to handlers: an extension of every request.
#[derive(Debug, Clone)]
pub struct DrainSignal(CancellationToken);

impl DrainSignal {
    pub(super) fn new(token: CancellationToken) -> Self {
        Self(token)
    }

    /// Waits until the drain begins. Streams must then end within `drain_ms`.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// The token that is cancelled when the drain begins.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

/// A slot for a stream. Use it as the first argument of a handler, so that a rejected request does no work, and build the
/// response with [`StreamSlot::respond`].
#[derive(Debug)]
pub struct StreamSlot {
    slot: Slot,
    exchange: Arc<Exchange>,
    drain: DrainSignal,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct IsStream;

impl StreamSlot {
    /// The signal of the drain.
    #[must_use]
    pub fn drain(&self) -> DrainSignal {
        self.drain.clone()
    }

    /// Marks the response as a stream: it has no timeout, and holds the slot until its body is sent or dropped.
    #[must_use]
    pub fn respond(self, mut response: Response) -> Response {
        self.exchange.hold(self.slot);
        response.extensions_mut().insert(IsStream);
        response
    }
}

impl<S: Sync> FromRequestParts<S> for StreamSlot {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let extensions = &parts.extensions;
        let (Some(admission), Some(exchange), Some(drain)) =
            (extensions.get::<Arc<Admission>>(), extensions.get::<Arc<Exchange>>(), extensions.get::<DrainSignal>())
        else {
            let detail = "the server of this route has no stream slots";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return Err(HttpProblem::new(status, "INTERNAL", detail));
        };
        Ok(Self { slot: admission.admit(&admission.streams)?, exchange: Arc::clone(exchange), drain: drain.clone() })
    }
}
