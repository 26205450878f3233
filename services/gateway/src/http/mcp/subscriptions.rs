//! `subscriptions/listen`: a notification for each conversation that changes, over the follower of live events.
//!
//! Only the revision 2026-07-28 has it: its stream is the answer of one request. `resources/subscribe` of 2025-11-25 needs a
//! session, which a stateless server does not have; over standard input, `hansard mcp` is that session.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, header};
use futures::future::{join_all, select_all};
use rmcp::model::{ErrorData, SubscriptionFilter};
use rmcp::service::SubscriptionSink;
use runtime::http::{HttpProblem, StreamSlot};
use tokio::time::{Instant, timeout_at};
use wire::status::Reason;

use super::resources::{conversation_id, unreadable};
use super::tools::{ToolContext, ToolName};
use http_listener::live::{Followed, FollowedItem};

/// The method.
const METHOD: &str = "subscriptions/listen";
/// The header that names the method of a request.
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
/// Most resources of a subscription. Each counts as a live stream.
const RESOURCES_MAX: usize = 16;
/// Changes within this time are one notification of a resource.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(100);

/// A resource that is followed.
struct Resource {
    uri: String,
    followed: Followed,
}

/// Whether a request asks for a stream.
pub(super) fn is_listen(request: &Request) -> bool {
    let method = request.headers().get(METHOD_HEADER);
    method.is_some_and(|method| method.as_bytes() == METHOD.as_bytes())
}

/// Gives a stream its slot. Other answers, such as errors, hold none.
pub(super) fn respond(slot: StreamSlot, mut response: Response<Body>) -> Response<Body> {
    let content_type = response.headers().get(header::CONTENT_TYPE);
    if content_type.is_none_or(|value| !value.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    let headers = response.headers_mut();
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    slot.respond(response)
}

/// The requested resources; a filter without any is not served.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resource_subscriptions.clone_from(&requested.resource_subscriptions);
    accepted
}

/// Notifies of changes until the stream is too old, or a resource cannot be followed any more. Each resource gets a first
/// notification when it is followed: changes before it may have none.
///
/// # Errors
/// The code of a missing resource for a missing conversation and for a foreign one alike; `-32602` for too many resources.
pub(super) async fn listen(
    context: ToolContext<'_>,
    address: Option<IpAddr>,
    sink: &SubscriptionSink,
) -> Result<(), ErrorData> {
    let live = &context.state.section.live;
    let ends_at = Instant::now() + Duration::from_millis(live.age_max_ms);
    let resources = open(context, address, sink.accepted()).await?;
    if resources.is_empty() {
        return Ok(());
    }
    let notifying = resources.into_iter().map(|resource| Box::pin(notify(resource, sink)));
    // The client listens again, and its access is checked again.
    let _ = timeout_at(ends_at, select_all(notifying)).await;
    Ok(())
}

async fn open(
    context: ToolContext<'_>,
    address: Option<IpAddr>,
    filter: &SubscriptionFilter,
) -> Result<Vec<Resource>, ErrorData> {
    let uris: BTreeSet<&String> = filter.resource_subscriptions.iter().flatten().collect();
    if uris.len() > RESOURCES_MAX {
        let count = uris.len();
        let message = format!(
            "resourceSubscriptions has {count} resources, at most {RESOURCES_MAX} are followed: listen to fewer"
        );
        return Err(ErrorData::invalid_params(message, None));
    }
    if !ToolName::FetchChatHistory.is_for(context.caller) {
        let message = "the token lacks the scope read";
        return Err(ErrorData::invalid_params(message, None));
    }
    let opened = uris.into_iter().map(|uri| follow(context, address, uri));
    join_all(opened).await.into_iter().collect()
}

async fn follow(context: ToolContext<'_>, address: Option<IpAddr>, uri: &str) -> Result<Resource, ErrorData> {
    let missing = || {
        let message = format!("no such resource for this caller: {uri}");
        ErrorData::resource_not_found(message, None)
    };
    let id = conversation_id(uri).ok_or_else(missing)?;
    let opened = async {
        let viewed = context.caller.viewed(context.state, id).await?;
        Followed::open(context.state, address, viewed, |last| Ok(last.next())).await
    };
    let followed = opened.await.map_err(|problem: HttpProblem| {
        if problem.reason() == Some(Reason::ConversationNotFound) {
            return missing();
        }
        unreadable(&problem.into())
    })?;
    Ok(Resource { uri: uri.to_owned(), followed })
}

/// Notifies of the changes of a resource, until it cannot be followed. The last notification makes the client read it again.
async fn notify(mut resource: Resource, sink: &SubscriptionSink) {
    loop {
        let is_open = resource.changed().await;
        let sent = sink.notify_resource_updated(resource.uri.clone()).await;
        if !is_open || sent.is_err() {
            return;
        }
    }
}

impl Resource {
    /// Waits for a change, and a moment for further ones; `false`: it cannot be followed any more.
    async fn changed(&mut self) -> bool {
        let Ok(FollowedItem::Event(_) | FollowedItem::CaughtUp(_)) = self.followed.next().await else {
            return false;
        };
        let until = Instant::now() + NOTIFICATION_INTERVAL;
        loop {
            match timeout_at(until, self.followed.next()).await {
                Err(_) => return true,
                Ok(Ok(_)) => {}
                Ok(Err(_)) => return false,
            }
        }
    }
}
