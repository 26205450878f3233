//! The HTTP door: for frontends, which hold an agent's public key, and for what anybody may ask.
//!
//! One endpoint a file; [`router`] lists them, and the description that `GET /openapi.json` serves is made from them. What
//! all requests share (size, time, panics) is the server's in `runtime::http`; what all requests of this door share (origins,
//! rates) stands here. Every error is a problem, by [`problem`].

pub mod client_address;
pub mod config;
pub mod cors;
pub mod get_health;
pub mod get_limits;
pub mod limiter;
pub mod limits;
pub mod openapi;
pub mod problem;
pub mod router;
pub mod state;

pub use config::HttpSection;
pub use state::HttpState;
