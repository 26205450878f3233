//! Up to when the rows contain every commit.

use std::time::Duration;

use domain::TenantId;
use pages::layout::Freshness;
use read_model::projections::conversations::{projected_until, wait_until_reached};

use history::Deadline;
use http_listener::state::HttpState;

/// Whether the rows of a tenant contain everything that was acknowledged before this call, or else up to when. The page is shown in any
/// case.
pub(super) async fn freshness(state: &HttpState, tenant: &TenantId) -> Freshness {
    let reader = &state.gateway.reader;
    let deadline = Deadline::until(None);
    let Ok(ends) = deadline.record(reader.record.ends()).await else {
        return Freshness::None;
    };
    let model = &reader.read_model.of(tenant);
    let is_reached = wait_until_reached(model, &ends, Duration::ZERO);
    match deadline.rows(is_reached).await {
        Ok(true) => Freshness::Current,
        Ok(false) => match deadline.rows(projected_until(model)).await {
            Ok(Some(at)) => Freshness::UpTo(at),
            Ok(None) | Err(_) => Freshness::None,
        },
        Err(_) => Freshness::None,
    }
}
