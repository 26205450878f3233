//! What the endpoints of the HTTP listener share: state, settings, callers, limits, cookies, positions, live streams, exports.
//!
//! It has no endpoint, and knows neither the gateway nor the dashboard, which are above it. [`cors`] and [`rate_limits`] cover every request;
//! [`callers`] identifies the caller; [`live`] streams conversations, and [`export`] writes them as files. What callers do with conversations is
//! in the crate `conversations`, and what all requests of any server share (size, time, panics) in `runtime::http`, which converts every error
//! to a problem.

pub mod callers;
pub mod config;
pub mod cookies;
pub mod cors;
pub mod csv_row;
pub mod day_range;
pub mod export;
pub mod idempotency;
pub mod lag_samples;
pub mod live;
pub mod not_found;
pub mod openid;
pub mod positions;
pub mod prices;
pub mod rate_limits;
pub mod sse;
pub mod state;
pub mod visitor_quotas;
