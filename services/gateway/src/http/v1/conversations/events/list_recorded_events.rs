//! `GET /v1/conversations/{id}/events`: the events of a conversation, by range, kind and direction.

use std::collections::BTreeSet;

use axum::extract::{FromRequestParts, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse as _, Response};
use domain::{EventKind, Version, Violation, ViolationReason};
use history::{Bounds, Direction, Page};
use read_model::queries::EventQuery;
use runtime::http::{HttpProblem, Json, Path, Query, StreamSlot};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::http::v1::admin::conversations::events::list_events::{EVENTS_PAGE, EVENTS_PAGE_BYTES_MAX, event_bodies};
use api_json::fact::EventBody;
use conversations::open::read_fenced;
use http_listener::callers::service::{Service, ServiceHeaders};
use http_listener::export::{Export, ExportFormat, NDJSON};
use http_listener::state::HttpState;

/// Which events to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListRecordedQuery {
    /// The first version; absent: 1. In descending order, the last one of the listing.
    from: Option<u64>,
    /// The last version; absent: the newest. In descending order, the first one of the listing: `next` of the previous page.
    to: Option<u64>,
    /// Only these types, separated by commas, such as `MessageAppended,ToolCalled`; absent: all.
    kinds: Option<String>,
    /// The order of versions; absent: ascending.
    #[param(inline)]
    order: Option<Order>,
    /// Page size; 0 or absent: 200.
    #[param(maximum = 1000)]
    limit: Option<u32>,
}

/// The order of a listing.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The oldest first.
    #[default]
    Asc,
    /// The newest first.
    Desc,
}

/// A page of events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEventsPage {
    /// The events, in order.
    events: Vec<EventBody>,
    /// The version of the conversation's last event.
    version: u64,
    /// The version of the next page's first event: `from` in ascending order, `to` in descending order. Absent: this is the last
    /// page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
}

/// List the events of a conversation.
///
/// Everything that was recorded, including events that a rewind hides. With `accept: application/x-ndjson`, the answer is the
/// whole range in ascending order, streamed, with one event in each line; `limit` and `order` are rejected. It has the state of
/// the conversation at the start. Its last line is `{"end":{"version":N}}`: an answer without it is incomplete.
#[utoipa::path(
    get,
    path = "/v1/conversations/{id}/events",
    tag = "conversations",
    params(
        ("id" = String, Path, description = "The conversation."),
        ListRecordedQuery,
        ServiceHeaders,
    ),
    responses((
        status = 200,
        description = "A page of events; or all of them, in lines.",
        content((RecordedEventsPage = "application/json"), (String = "application/x-ndjson"))
    )),
    security(("service_token" = []))
)]
pub(in crate::http) async fn list_recorded_events(
    State(state): State<HttpState>,
    LinesSlot(lines): LinesSlot,
    service: Service,
    Path(id): Path<String>,
    Query(query): Query<ListRecordedQuery>,
) -> Result<Response, HttpProblem> {
    let kinds: Vec<EventKind> = kinds(query.kinds.as_deref().unwrap_or_default())?.into_iter().collect();
    let from = Version(query.from.unwrap_or_default().max(1));
    let to = query.to.map_or(EventQuery::OPEN_END, Version);
    if let Some(open) = lines {
        query.check_lines()?;
        let target = service.target(&state, &id).await?;
        let (target, conversation) = read_fenced(&state, target).await?;
        let gateway = state.gateway.clone();
        let export = Export::new(gateway, target, conversation, ExportFormat::Ndjson).within(from, to, kinds);
        return Ok(export.respond(open, &format!("conversation-{id}")));
    }
    let events_max = EVENTS_PAGE.take(query.limit.unwrap_or_default())?;
    let target = service.target(&state, &id).await?;
    let query = history::Range {
        from,
        to,
        kinds: &kinds,
        ..history::Range::all(match query.order.unwrap_or_default() {
            Order::Asc => Direction::Forward,
            Order::Desc => Direction::Backward,
        })
    };
    let bounds = Bounds::of(events_max, EVENTS_PAGE_BYTES_MAX);
    let recorded = Page::recorded(&state.gateway.reader, &target, query, bounds).await?;
    let page = RecordedEventsPage {
        events: event_bodies(&target.key, &recorded)?,
        version: recorded.position.version.0,
        next: recorded.next.map(|next| next.version.0),
    };
    Ok(Json(page).into_response())
}

impl ListRecordedQuery {
    /// Lines have the whole range, in ascending order.
    fn check_lines(&self) -> Result<(), HttpProblem> {
        let paging = [("limit", self.limit.is_some()), ("order", self.order.is_some())];
        match paging.into_iter().find(|(_, is_given)| *is_given) {
            Some((field, _)) => {
                let detail = "is for pages: leave it out, or accept application/json";
                Err(HttpProblem::of_field(ViolationReason::Conflict, field, detail))
            }
            None => Ok(()),
        }
    }
}

/// Whether the caller accepts NDJSON by name; then with a slot for the stream.
pub(in crate::http) struct LinesSlot(Option<StreamSlot>);

impl<S: Sync> FromRequestParts<S> for LinesSlot {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let mut accepted = parts.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        if !accepted.any(|value| value.to_ascii_lowercase().contains(NDJSON)) {
            return Ok(Self(None));
        }
        StreamSlot::from_request_parts(parts, state).await.map(|slot| Self(Some(slot)))
    }
}

/// The kinds in a list; empty: all.
fn kinds(list: &str) -> Result<BTreeSet<EventKind>, Violation> {
    let names = list.split(',').filter(|name| !name.is_empty());
    let kinds = names.map(|name| {
        EventKind::from_name(name).ok_or_else(|| {
            let rule = "has a type that this version does not define: use names such as MessageAppended";
            Violation::new(ViolationReason::Malformed, rule).within("kinds")
        })
    });
    kinds.collect()
}
