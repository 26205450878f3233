//! The transport of an HTTP connection: HTTP/1.1 or HTTP/2, told apart by its first bytes.

use std::time::Duration;

use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;

use super::config::HttpConfig;
use crate::net::StreamExecutor;

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

/// The transport of every connection.
pub(super) fn transport(config: &HttpConfig) -> Builder<StreamExecutor> {
    let header_bytes_max =
        (config.header_bytes_max + HEADER_SLACK_BYTES).max(HEADER_BUFFER_BYTES_MIN);
    let mut builder = Builder::new(StreamExecutor {
        write_timeout: config.connection.write_timeout(),
    });
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
