//! One connection: HTTP/1.1 or HTTP/2, told apart by its first bytes, served until it ends, drains or is cut.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::time::sleep;
use tower::ServiceExt;

use super::config::HttpConfig;
use crate::net::{Connection, Drain};

/// The most requests at once on one HTTP/2 connection; more wait at the caller.
const CONNECTION_REQUESTS_MAX: u32 = 256;

/// How long an HTTP/2 connection may be silent before it is asked for a sign of life, and how long that may take.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// What the transport reads beyond `header_bytes_max`, so that the answer is a problem and not the transport's bare 431.
const HEADER_SLACK_BYTES: usize = 16 * 1024;

/// The transport's own least buffer for headers, in bytes.
const HEADER_BUFFER_BYTES_MIN: usize = 8 * 1024;

/// The most headers of a request; more get the transport's bare 431.
const HEADERS_MAX: usize = 256;

/// Who is at the other end of the connection: an extension of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Serves a connection to its end.
pub(super) async fn serve(
    connection: Connection,
    router: Router,
    end: (Drain, Duration),
    transport: Builder<TokioExecutor>,
) {
    let (drain, header_timeout) = end;
    // One that has left already has nothing to ask.
    let Some(peer) = connection.peer().map(Peer) else {
        return;
    };
    let heard = Arc::new(AtomicBool::new(false));
    let service = {
        let heard = Arc::clone(&heard);
        service_fn(move |request: Request<Incoming>| {
            heard.store(true, Ordering::Relaxed);
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            router.clone().oneshot(request)
        })
    };
    let mut serving = pin!(transport.serve_connection(TokioIo::new(connection), service));
    let (mut begins, mut cuts) = (pin!(drain.begins()), pin!(drain.cuts()));
    let mut silence = pin!(sleep(header_timeout));
    let (mut draining, mut asked) = (false, false);
    loop {
        tokio::select! {
            ended = &mut serving => {
                if let Err(error) = ended {
                    tracing::debug!(error, "connection ended");
                }
                return;
            }
            () = &mut cuts => return,
            () = &mut begins, if !draining => {
                draining = true;
                serving.as_mut().graceful_shutdown();
            }
            // The transport's own timeout begins only once it knows the protocol.
            () = &mut silence, if !asked => {
                asked = true;
                if !heard.load(Ordering::Relaxed) {
                    return;
                }
            }
        }
    }
}

/// The transport of every connection.
pub(super) fn transport(config: &HttpConfig) -> Builder<TokioExecutor> {
    let header_bytes_max =
        (config.header_bytes_max + HEADER_SLACK_BYTES).max(HEADER_BUFFER_BYTES_MIN);
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout())
        .max_buf_size(header_bytes_max)
        .max_headers(HEADERS_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .max_concurrent_streams(CONNECTION_REQUESTS_MAX)
        .max_header_list_size(u32::try_from(header_bytes_max).unwrap_or(u32::MAX));
    builder
}
