//! `/v1/admin`.

mod listings;
mod provider_logs;
