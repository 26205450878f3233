//! `/dashboard/system`: the state of the deployment, parked conversations and tenants, for operators.

pub mod parked;
pub mod show_system;
pub mod switch_tenant;

/// The path of the page.
const PATH: &str = "/dashboard/system";
