//! `/v1/admin`: what administrators see of their tenant.

pub mod conversations;
pub mod get_usage;
pub mod provider_logs;
pub mod search_tenant;
