//! Serves connections until the client, a timeout or the drain closes them.

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

use super::accept::{Connection, Listener, connections};
use super::bodies::{BodyProgress, ReceivedBody, SentBody};
use super::close_reason::{CloseReason, count_closed};
use super::config::ConnectionConfig;
use super::exchange::{Exchange, NamedSlots};
use super::lifetime::{Decision, Lifetime};
use super::stream_task::{StreamExecutor, is_stream, watch};
use super::{CUT_GRACE, CutOnDrop, Drain, Drained};
use crate::health::Health;
use crate::net::saturation::{self, Gauges};

/// The address of the client: an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// The settings that the connections of one server share.
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

/// Serves until `shutdown`, drains for at most `drain_max`, and closes the remaining connections.
pub(crate) async fn serve<A, F, B>(
    listener: Listener,
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
    let permits = Arc::new(Semaphore::new(listener.connections_max));
    let gauges = Gauges {
        server: listener.server,
        slots,
        connections: Arc::clone(&permits),
        connections_max: listener.connections_max,
    };
    let saturated_after = Duration::from_millis(rules.connection.saturated_after_ms);
    let monitor = saturation::watch(gauges, saturated_after, health.clone());
    let _monitor = AbortOnDropHandle::new(tokio::spawn(monitor));
    let tasks = TaskTracker::new();
    {
        let accepted = connections(listener, permits, rules.drain.clone());
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
    // Connections that do not close in time end with the process.
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
                exchange.start_response();
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
                break if draining { CloseReason::Shutdown } else { lifetime.close_reason() };
            }
            () = &mut cuts => break CloseReason::Shutdown,
            reason = &mut closing => break reason,
            () = &mut begins, if !draining => {
                draining = true;
                serving.as_mut().graceful_shutdown();
            }
            _ = checks.tick() => match lifetime.check(&activity) {
                Decision::Keep => {}
                Decision::Finish => serving.as_mut().graceful_shutdown(),
                Decision::Close(reason) => break reason,
            },
        }
    };
    count_closed(rules.server, reason);
}
