//! `/v1/admin/provider-logs`.

pub mod get_provider_log;
pub mod list_provider_logs;
