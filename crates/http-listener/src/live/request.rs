//! Where a live stream starts, and the address that it counts for.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::{Version, ViolationReason};
use runtime::http::{HttpProblem, Query};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::sse::LAST_EVENT_ID;
use crate::state::HttpState;
use conversations::request::out_of_range;

/// Where a live stream starts.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LiveQuery {
    /// Only events after this version; absent: from the first. The header `last-event-id` has precedence.
    after: Option<u64>,
}

/// A request for a live stream.
#[derive(Debug)]
pub struct LiveRequest {
    /// Only events after this version.
    after: Version,
    /// The parameter that has the version.
    field: &'static str,
    /// The client's address.
    pub(super) address: Option<IpAddr>,
}

impl FromRequestParts<HttpState> for LiveRequest {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let Query(query) = Query::<LiveQuery>::from_request_parts(parts, state).await?;
        let last = parts.headers.get(LAST_EVENT_ID).filter(|last| !last.is_empty());
        let (after, field) = match last {
            Some(last) => (last_version(last.to_str().ok())?, LAST_EVENT_ID),
            None => (query.after.unwrap_or_default(), "after"),
        };
        let limits = &state.limits;
        Ok(Self { after: Version(after), field, address: limits.address_of(&parts.extensions, &parts.headers) })
    }
}

impl LiveRequest {
    /// The first version to send to a client that has no event after `last`, the version of the conversation.
    ///
    /// # Errors
    /// 400: the client names an event that does not exist.
    pub(super) fn first(&self, last: Version) -> Result<Version, HttpProblem> {
        if self.after > last {
            let after = self.after;
            let rule = format!("is {after}, the maximum is {last}: the version of the last event");
            return Err(HttpProblem::from(out_of_range(rule).within(self.field)));
        }
        Ok(self.after.next())
    }
}

fn last_version(text: Option<&str>) -> Result<u64, HttpProblem> {
    let version = text.and_then(|text| text.parse().ok());
    version.ok_or_else(|| {
        let detail = "the header last-event-id is not the id of an event: leave it out to get all events";
        HttpProblem::of_field(ViolationReason::Malformed, LAST_EVENT_ID, detail)
    })
}
