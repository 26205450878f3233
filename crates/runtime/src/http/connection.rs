//! The transport of an HTTP connection: HTTP/1.1 or HTTP/2, detected by the first bytes.

use std::time::Duration;

use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;

use super::config::HttpConfig;
use crate::net::StreamExecutor;

/// Maximum number of concurrent requests on one HTTP/2 connection. Further requests wait in the client.
const CONNECTION_REQUESTS_MAX: u32 = 256;

/// Time without traffic before an HTTP/2 PING is sent, and the maximum wait for its reply.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Added to `header_bytes_max` in the transport, so that the response is a problem and not the 431 without a body of the
/// transport.
const HEADER_SLACK_BYTES: usize = 16 * 1024;

/// Minimum size of the header buffer of the transport, in bytes.
const HEADER_BUFFER_BYTES_MIN: usize = 8 * 1024;

/// Maximum number of headers of a request. More get a 431 without a body.
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
