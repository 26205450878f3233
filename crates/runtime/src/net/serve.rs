//! Serves connections until the client, a timeout or the drain closes them.

use std::convert::Infallible;
use std::fmt;
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
use super::exchange::{Exchange, Slots};
use super::lifetime::{Decision, Lifetime};
use super::stream_task::{StreamExecutor, is_stream, watch};
use super::{CUT_GRACE, Drain, Drained};
use crate::health::Health;
use crate::net::saturation::{self, Gauges};

/// The address of the client: an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// The settings that the connections of one server share.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) transport: Builder<StreamExecutor>,
    pub(crate) header_timeout: Duration,
    pub(crate) body_progress: BodyProgress,
    /// The memory of all bodies.
    pub(crate) memory: Arc<Slots>,
    pub(crate) drain: Drain,
}

pub(crate) struct Server {
    pub(crate) listener: Listener,
    pub(crate) rules: Rules,
    pub(crate) slots: Vec<Arc<Slots>>,
    pub(crate) health: Health,
    pub(crate) drain_max: Duration,
}

impl Server {
    /// Serves until `shutdown`, drains, and closes the remaining connections.
    pub(crate) async fn serve<A, F, B>(self, answer: A, shutdown: CancellationToken) -> Drained
    where
        A: Fn(Request<ReceivedBody>) -> F + Clone + Send + 'static,
        F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (listener, rules, health) = (self.listener, self.rules, self.health);
        let (server, config, limits) = (listener.server, listener.config, listener.limits);
        let cut = rules.drain.cut_on_drop();
        let permits = Arc::new(Semaphore::new(listener.connections_max));
        let gauges = Gauges {
            server,
            slots: self.slots,
            connections: Arc::clone(&permits),
            connections_max: listener.connections_max,
        };
        let saturated_after = Duration::from_millis(limits.saturated_after_ms);
        let monitor = saturation::watch(gauges, saturated_after, health.clone());
        let _monitor = AbortOnDropHandle::new(tokio::spawn(monitor));
        let tasks = TaskTracker::new();
        {
            let connections = connections(listener, permits, rules.drain.clone());
            let mut accepted = pin!(connections.take_until(shutdown.cancelled_owned()));
            while let Some(connection) = accepted.next().await {
                let (rules, answer) = (rules.clone(), answer.clone());
                tasks.spawn(async move {
                    let reason = serve_connection(
                        connection,
                        Lifetime::new(config, limits, rules.header_timeout),
                        rules,
                        answer,
                    )
                    .await;
                    count_closed(server, reason);
                });
            }
        }
        health.drain();
        rules.drain.begin();
        tasks.close();
        if timeout(self.drain_max, tasks.wait()).await.is_ok() {
            return Drained::Clean;
        }
        drop(cut);
        // Connections that do not close in time end with the process.
        let _ = timeout(CUT_GRACE, tasks.wait()).await;
        Drained::Cut
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// Serves a connection to its end, and returns the reason of the end.
async fn serve_connection<A, F, B>(
    connection: Connection,
    mut lifetime: Lifetime,
    rules: Rules,
    answer: A,
) -> CloseReason
where
    A: Fn(Request<ReceivedBody>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let activity = Arc::clone(&connection.activity);
    let peer = Peer(connection.peer);
    let (body_progress, memory) = (rules.body_progress, rules.memory);
    let service = {
        let activity = Arc::clone(&activity);
        service_fn(move |request: Request<Incoming>| {
            let (activity, answer) = (Arc::clone(&activity), answer.clone());
            let memory = Arc::clone(&memory);
            async move {
                let exchange = Exchange::new(activity, is_stream(), memory);
                watch(&exchange);
                let mut request = request.map(|body| ReceivedBody::new(body, body_progress, Arc::clone(&exchange)));
                request.extensions_mut().insert(peer);
                request.extensions_mut().insert(Arc::clone(&exchange));
                let response = answer(request).await?;
                exchange.start_response();
                Ok::<_, Infallible>(response.map(|body| SentBody::new(body, exchange)))
            }
        })
    };
    let mut serving = pin!(rules.transport.serve_connection(TokioIo::new(connection), service));
    let mut checks = interval(lifetime.check_interval());
    let (mut begins, mut cuts) = (pin!(rules.drain.begins()), pin!(rules.drain.cuts()));
    let mut closing = pin!(activity.closing());
    let mut draining = false;
    loop {
        tokio::select! {
            ended = &mut serving => {
                if let Err(error) = ended {
                    tracing::debug!(error, "connection ended");
                }
                return if draining { CloseReason::SHUTDOWN } else { lifetime.close_reason() };
            }
            () = &mut cuts => return CloseReason::SHUTDOWN,
            () = &mut closing => return CloseReason::PREEMPTED,
            () = &mut begins, if !draining => {
                draining = true;
                serving.as_mut().graceful_shutdown();
            }
            _ = checks.tick() => match lifetime.check(&activity) {
                Decision::Keep => {}
                Decision::Finish => serving.as_mut().graceful_shutdown(),
                Decision::Close(reason) => return reason,
            },
        }
    }
}
