//! Server-sent events: the headers of their responses, and the header with which clients resume.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;

/// The header in which browsers send the id of the last event that they received.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// The time after which a client opens a lost stream again.
pub const RETRY: Duration = Duration::from_secs(1);

/// The response with these events. No proxy may store or buffer it.
#[must_use]
pub fn response(events: Body) -> Response {
    let mut response = Response::new(events);
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache, no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
