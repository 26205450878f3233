//! The query of a response.

use serde::Deserialize;
use utoipa::IntoParams;

/// How to deliver a response.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct GetResponseQuery {
    /// Whether to send its events: those so far, then the next ones.
    #[serde(default)]
    pub(super) stream: bool,
    /// Only events with higher numbers. The last event is always sent.
    pub(super) starting_after: Option<u64>,
}
