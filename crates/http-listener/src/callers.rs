//! Identifies callers: frontends with an agent's public API key, back ends with a service token, and tenants' administrators.

pub mod admin;
pub mod admin_reads;
pub mod end_user;
pub mod frontend;
mod frontend_session;
pub mod headers;
pub mod problems;
pub mod service;
pub mod session_renewal;
