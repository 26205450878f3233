//! Live streams of conversations, as server-sent events: the history from a version, then each new event when it is recorded.
//!
//! The id of an event is its version, so a client that reconnects with `Last-Event-ID` gets the next one. The events come
//! from [`crate::watcher`]. Every stream ends with the event `end`, which says why, and how to resume.

mod events;
mod request;

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use domain::{Owner, Version};
use futures::stream::unfold;
use history::Target;
use runtime::http::{HttpProblem, StreamSlot};
use tokio::time::Instant;
use tracing::Instrument as _;
use utoipa::ToSchema;

use crate::http::owned_chat::from_read_error;
use crate::http::{HttpState, OwnedChat, sse};
use crate::watcher::{self, Subscription, Watch};
use events::Events;

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

/// Whose stream it is.
#[derive(Debug)]
pub(in crate::http) struct Viewed {
    /// How to read the conversation.
    target: Target,
    /// The owner, and the version in which they own it: the stream ends when the owner changes later. `None`: the caller
    /// sees conversations of every owner.
    owner: Option<(Owner, Version)>,
}

impl From<Target> for Viewed {
    fn from(target: Target) -> Self {
        Self {
            target,
            owner: None,
        }
    }
}

impl From<OwnedChat> for Viewed {
    fn from(chat: OwnedChat) -> Self {
        let head = chat.conversation.head;
        Self {
            target: chat.target,
            owner: head.owner.map(|owner| (owner, head.version)),
        }
    }
}

/// The live stream of a conversation.
///
/// # Errors
/// 400: the client names an event that does not exist; 404: the conversation does not exist; 429 or 503: too many streams.
pub(in crate::http) async fn respond(
    state: &HttpState,
    open: StreamSlot,
    request: LiveRequest,
    viewed: Viewed,
) -> Result<Response, HttpProblem> {
    let counted = state.limits.open_live_stream(request.address)?;
    let key = viewed.target.key.clone();
    let subscription = Subscription::open(&state.gateway, viewed.target).await;
    let subscription = subscription.map_err(from_read_error)?;
    let from = request.first(subscription.version)?;
    let span = tracing::info_span!(
        "gateway.conversation.stream",
        tenant.id = key.tenant.as_str(),
        conversation.id = key.conversation.as_str(),
    );
    let section = &state.section.live;
    let watch = Watch {
        subscription,
        from,
        pause_max: Some(Duration::from_millis(section.pause_max_ms)),
    };
    let (items, work) = watcher::watch(&state.gateway, watch);
    tokio::spawn(work.instrument(span));
    let events = Events {
        items,
        key,
        owner: viewed.owner,
        sent: Version(from.0.saturating_sub(1)),
        heartbeat: Duration::from_millis(section.heartbeat_ms),
        ends_at: Instant::now() + Duration::from_millis(section.age_max_ms),
        draining: open.drain(),
        is_open: false,
        is_over: false,
        _counted: counted,
    };
    let texts = unfold(events, async |mut events| {
        let text = events.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), events))
    });
    Ok(open.respond(sse::response(Body::from_stream(texts))))
}
