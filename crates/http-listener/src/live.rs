//! Live streams of conversations, as server-sent events: the history from a version, then each new event when it is recorded.
//!
//! The id of an event is its version, so a client that reconnects with `Last-Event-ID` gets the next one. The events come
//! from [`conversations::watcher`]. Every stream ends with the event `end`, which says why, and how to resume.

mod events;
mod followed;
mod request;

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use domain::Version;
use futures::stream::unfold;
use runtime::http::{HttpProblem, StreamSlot};
use tokio::time::Instant;
use utoipa::ToSchema;

use crate::sse;
use crate::state::HttpState;
use events::Events;

pub use followed::{Followed, FollowedItem, Viewed};
pub use request::{LiveQuery, LiveRequest};

/// One server-sent event of a live stream. Comments between them keep the connection open.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what `Events` writes")]
pub struct LiveEvent {
    /// The version of the event; the value of `Last-Event-ID`. Only recorded events have one.
    #[schema(example = "3")]
    id: Option<String>,
    /// Absent: a recorded event. `caught-up`: the history is complete. `end`: the last event of the stream.
    event: Option<String>,
    /// JSON in one line. A recorded event, as in the listings of events; of `caught-up`, `{"version"}`; of `end`, `{"code",
    /// "detail", "after"}`: open the stream again with that `after`, unless the code is `CONVERSATION_ERASED` or
    /// `CONVERSATION_NOT_FOUND`.
    #[schema(example = r#"{"version":3,"type":"MessageAppended"}"#)]
    data: String,
}

/// The live stream of a conversation.
///
/// # Errors
/// 400: the client names an event that does not exist; 404: the conversation does not exist; 429 or 503: too many streams.
pub async fn respond(
    state: &HttpState,
    open: StreamSlot,
    request: LiveRequest,
    viewed: Viewed,
) -> Result<Response, HttpProblem> {
    let mut from = Version::ZERO;
    let followed = Followed::open(state, request.address, viewed, |last| {
        from = request.first(last)?;
        Ok(from)
    })
    .await?;
    let section = &state.section.live;
    let events = Events {
        followed,
        sent: Version(from.0.saturating_sub(1)),
        heartbeat: Duration::from_millis(section.heartbeat_ms),
        ends_at: Instant::now() + Duration::from_millis(section.age_max_ms),
        draining: open.drain(),
        is_open: false,
        is_over: false,
    };
    let texts = unfold(events, async |mut events| {
        let text = events.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), events))
    });
    Ok(open.respond(sse::response(Body::from_stream(texts))))
}
