//! Identifies callers: frontends with an agent's public API key, and tenants' administrators.

pub mod admin;
pub mod frontend;
mod frontend_session;
pub mod headers;
pub mod problems;
pub mod session_renewal;
