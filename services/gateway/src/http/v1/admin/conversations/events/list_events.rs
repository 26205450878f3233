//! `GET /v1/admin/conversations/{id}/events`: the complete transcript of a conversation.

use axum::extract::State;
use domain::{ConversationKey, Version};
use history::{Bounds, Direction, Page, decode};
use runtime::http::{HttpProblem, Json, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use wire::status::Problem;

use api_json::fact::EventBody;
use conversations::request::BoundedNumber;
use http_listener::callers::admin::Admin;
use http_listener::state::HttpState;

/// Page size.
pub const EVENTS_PAGE: BoundedNumber = BoundedNumber { field: "limit", default: 200, max: 1_000 };
/// Maximum number of bytes of events in a page, as the record stores them; a page has at least one event.
pub const EVENTS_PAGE_BYTES_MAX: u64 = 3 * 1024 * 1024;

/// Which events to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListEventsQuery {
    /// Only events after this version: `nextAfter` of the previous page; absent: from the first.
    after: Option<u64>,
    /// Page size; 0 or absent: 200.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// A page of events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventsPage {
    /// The events by version, without gaps.
    events: Vec<EventBody>,
    /// The version of the conversation's last event.
    version: u64,
    /// `after` of the next page; absent: this is the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<u64>,
}

/// All events of a conversation, in order.
#[utoipa::path(
    get,
    path = "/v1/admin/conversations/{id}/events",
    tag = "admin",
    params(("id" = String, Path, description = "The conversation."), ListEventsQuery),
    responses((status = 200, description = "A page of events.", body = EventsPage)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn list_events(
    State(state): State<HttpState>,
    admin: Admin,
    Path(id): Path<String>,
    Query(query): Query<ListEventsQuery>,
) -> Result<Json<EventsPage>, HttpProblem> {
    let events_max = EVENTS_PAGE.take(query.limit.unwrap_or_default())?;
    let target = admin.target(&state, &id).await?;
    let query = history::Range {
        from: Version(query.after.unwrap_or_default()).next(),
        ..history::Range::all(Direction::Forward)
    };
    let bounds = Bounds::of(events_max, EVENTS_PAGE_BYTES_MAX);
    let page = Page::recorded(&state.gateway.reader, &target, query, bounds).await?;
    Ok(Json(EventsPage {
        events: event_bodies(&target.key, &page)?,
        version: page.position.version.0,
        next_after: page.next.map(|next| next.version.0.saturating_sub(1)),
    }))
}

/// The events of a page, as JSON.
pub(in crate::http) fn event_bodies(key: &ConversationKey, page: &Page) -> Result<Vec<EventBody>, HttpProblem> {
    let events: Result<Vec<EventBody>, Problem> = page
        .events
        .iter()
        .map(|row| {
            let event = decode(key, row)?;
            Ok(EventBody::from(&event))
        })
        .collect();
    events.map_err(HttpProblem::from)
}
