//! Who may start: a slot for each request and each stream, a rejection when there is none.

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
use crate::net::{Drain, Exchange, NamedSlots, Slot, Slots};

/// The slots of a server.
#[derive(Debug)]
pub(super) struct Admission {
    requests: Arc<Slots>,
    streams: Arc<Slots>,
    drain: Drain,
    retry_after: Duration,
}

impl Admission {
    pub(super) fn new(config: &HttpConfig, drain: Drain) -> Self {
        let preempt_after = config.connection.preempt_after();
        Self {
            requests: Slots::new("requests", config.requests_max, preempt_after),
            streams: Slots::new("streams", config.streams_max, preempt_after),
            drain,
            retry_after: config.retry_after(),
        }
    }

    pub(super) fn slots(&self) -> NamedSlots {
        vec![
            ("http.requests", Arc::clone(&self.requests)),
            ("http.streams", Arc::clone(&self.streams)),
        ]
    }

    /// A slot, at once or not at all: a queue would only hide the load.
    fn admit(&self, slots: &Arc<Slots>) -> Result<Slot, HttpProblem> {
        if self.drain.has_begun() {
            return Err(self.draining());
        }
        slots.acquire().ok_or_else(|| self.overloaded(slots))
    }

    fn draining(&self) -> HttpProblem {
        let detail = "server is shutting down: connect again";
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "DRAINING", detail)
            .retry_after(self.retry_after)
    }

    fn overloaded(&self, slots: &Slots) -> HttpProblem {
        let (max, noun) = (slots.max(), slots.kind());
        let detail = format!("server is at its bound of {max} {noun}: try again later");
        HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", detail)
            .retry_after(self.retry_after)
    }

    /// The request lost its slot while it waited for its client.
    pub(super) fn preempted(&self) -> HttpProblem {
        self.overloaded(&self.requests)
    }
}

/// Takes a slot for a request. Layers that reject stand around this one: what they reject takes no slot.
pub(super) async fn admit(
    State(admission): State<Arc<Admission>>,
    mut request: Request,
    next: Next,
) -> Response {
    let slot = match admission.admit(&admission.requests) {
        Ok(slot) => slot,
        Err(problem) => return problem.into_response(),
    };
    if let Some(exchange) = request.extensions().get::<Arc<Exchange>>() {
        exchange.occupy(slot);
    }
    request.extensions_mut().insert(admission);
    next.run(request).await
}

/// Tells a handler that the server ends: an extension of every request.
#[derive(Debug, Clone)]
pub struct Draining(CancellationToken);

impl Draining {
    pub(super) fn new(token: CancellationToken) -> Self {
        Self(token)
    }

    /// Waits until the drain begins; from then on a stream has `drain_ms` to end by itself.
    pub async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// The token that is cancelled when the drain begins.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

/// A slot for a stream. Take it as the handler's first argument, so that it is refused before any work is done, and make
/// the answer with [`OpenStream::respond`].
#[derive(Debug)]
pub struct OpenStream {
    slot: Slot,
    exchange: Arc<Exchange>,
    draining: Draining,
}

/// The response is a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct IsStream;

impl OpenStream {
    /// Tells of the server's end.
    #[must_use]
    pub fn draining(&self) -> Draining {
        self.draining.clone()
    }

    /// The answer as a stream: without a timeout, in a stream's slot until its body is sent or dropped.
    #[must_use]
    pub fn respond(self, mut response: Response) -> Response {
        self.exchange.occupy(self.slot);
        response.extensions_mut().insert(IsStream);
        response
    }
}

impl<S: Sync> FromRequestParts<S> for OpenStream {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let unserved = || {
            let detail = "the route is not served by a server that has streams";
            HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
        };
        let extensions = &parts.extensions;
        let admission = extensions.get::<Arc<Admission>>().ok_or_else(unserved)?;
        let exchange = extensions.get::<Arc<Exchange>>().ok_or_else(unserved)?;
        let draining = extensions.get::<Draining>().ok_or_else(unserved)?;
        Ok(Self {
            slot: admission.admit(&admission.streams)?,
            exchange: Arc::clone(exchange),
            draining: draining.clone(),
        })
    }
}
