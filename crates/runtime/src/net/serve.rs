//! Serves connections, each to its end: it ends by itself, is closed by a bound, drains, or is cut.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::sync::Semaphore;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::accept::{Connection, Listening, accepted};
use super::bodies::{BodyProgress, ReceivedBody, SentBody};
use super::close_reason::{CloseReason, closed};
use super::config::ConnectionConfig;
use super::exchange::{Exchange, NamedSlots};
use super::lifetime::{Lifetime, Verdict};
use super::stream_task::{StreamExecutor, is_stream, watch};
use super::{CUT_GRACE, CutOnDrop, Drain, Drained};
use crate::health::Health;
use crate::net::saturation::{self, Gauges};

/// Who is at the other end of the connection: an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// What every connection of a server is served by.
#[derive(Clone)]
pub(crate) struct Rules {
    /// The protocol of the server, as a label of metrics.
    pub(crate) server: &'static str,
    pub(crate) transport: Builder<StreamExecutor>,
    pub(crate) connection: ConnectionConfig,
    pub(crate) header_timeout: Duration,
    pub(crate) body_progress: BodyProgress,
    pub(crate) drain: Drain,
}

/// Serves until `shutdown`, then drains for `drain_max`, and cuts what is left.
pub(crate) async fn serve<A, F, B>(
    listening: Listening,
    rules: Rules,
    answer: A,
    slots: NamedSlots,
    health: Health,
    shutdown: CancellationToken,
    drain_max: Duration,
) -> Drained
where
    A: Fn(Request<ReceivedBody>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let cut = CutOnDrop(rules.drain.clone());
    let connections = Arc::new(Semaphore::new(listening.connections_max));
    let gauges = Gauges {
        server: listening.server,
        slots,
        connections: Arc::clone(&connections),
        connections_max: listening.connections_max,
    };
    let monitor = saturation::watch(gauges, rules.connection.saturated_after(), health.clone());
    let _monitor = AbortOnDropHandle::new(tokio::spawn(monitor));
    let tasks = TaskTracker::new();
    {
        let accepted = accepted(listening, connections, rules.drain.clone());
        let mut accepted = pin!(accepted.take_until(shutdown.cancelled_owned()));
        while let Some(connection) = accepted.next().await {
            tasks.spawn(serve_connection(connection, rules.clone(), answer.clone()));
        }
    }
    health.drain();
    rules.drain.begin();
    tasks.close();
    if timeout(drain_max, tasks.wait()).await.is_ok() {
        return Drained::Clean;
    }
    drop(cut);
    // A connection that does not even close is left to the end of the process.
    let _ = timeout(CUT_GRACE, tasks.wait()).await;
    Drained::Cut
}

async fn serve_connection<A, F, B>(connection: Connection, rules: Rules, answer: A)
where
    A: Fn(Request<ReceivedBody>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let activity = connection.activity();
    let peer = Peer(connection.peer());
    let body_progress = rules.body_progress;
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |request: Request<Incoming>| {
            let (activity, answer) = (Arc::clone(&activity), answer.clone());
            async move {
                let exchange = Exchange::new(activity, is_stream());
                watch(&exchange);
                let mut request = request
                    .map(|body| ReceivedBody::new(body, body_progress, Arc::clone(&exchange)));
                request.extensions_mut().insert(peer);
                request.extensions_mut().insert(Arc::clone(&exchange));
                let response = answer(request).await?;
                exchange.answer();
                Ok::<_, Infallible>(response.map(|body| SentBody::new(body, exchange)))
            }
        })
    };
    let mut serving = pin!(
        rules
            .transport
            .serve_connection(TokioIo::new(connection), service)
    );
    let mut lifetime = Lifetime::new(rules.connection, rules.header_timeout);
    let mut checks = interval(lifetime.check_interval());
    let (mut begins, mut cuts) = (pin!(rules.drain.begins()), pin!(rules.drain.cuts()));
    let mut closing = pin!(activity.closing());
    let mut draining = false;
    let reason = loop {
        tokio::select! {
            ended = &mut serving => {
                if let Err(error) = ended {
                    tracing::debug!(error, "connection ended");
                }
                break if draining { CloseReason::Shutdown } else { lifetime.ended() };
            }
            () = &mut cuts => break CloseReason::Shutdown,
            reason = &mut closing => break reason,
            () = &mut begins, if !draining => {
                draining = true;
                serving.as_mut().graceful_shutdown();
            }
            _ = checks.tick() => match lifetime.check(&activity) {
                Verdict::Keep => {}
                Verdict::Finish => serving.as_mut().graceful_shutdown(),
                Verdict::Close(reason) => break reason,
            },
        }
    };
    closed(rules.server, reason);
}
