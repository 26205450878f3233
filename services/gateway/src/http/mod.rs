//! The HTTP door: for frontends, which hold an agent's public key, for tenants' administrators, and for what anybody may ask.
//!
//! One endpoint a file; [`router`] lists them, and the description that `GET /openapi.json` serves is made from them. What
//! all requests share (size, time, panics) is the server's in `runtime::http`; what all requests of this door share (origins,
//! rates) stands here, and so does who calls: [`frontend`] and [`admin_caller`]. Every error is a problem, by [`problem`].
//! What callers change goes through [`commands`] to the writer.

pub mod admin;
pub mod admin_caller;
pub mod body;
pub mod caller_refusal;
pub mod catch_up;
pub mod chats;
pub mod client_address;
pub mod commands;
pub mod config;
pub mod cors;
mod field_names;
pub mod frontend;
mod frontend_session;
pub mod get_health;
pub mod get_limits;
pub mod idempotency;
pub mod limiter;
pub mod limits;
pub mod named;
pub mod openapi;
pub mod owned_chat;
mod position_cookie;
pub mod positions;
pub mod problem;
pub mod router;
mod session_cookie;
mod session_renewal;
pub mod sessions;
pub mod state;
pub mod talk;

pub use config::HttpSection;
pub use state::HttpState;
