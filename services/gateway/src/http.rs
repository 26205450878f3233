//! The HTTP listener: for frontends with an agent's public key, for tenants' administrators, and for public endpoints.
//!
//! Folders follow the URLs, without `/api` and without ids: `POST /api/chats/{id}/messages` is `chats/send_message`,
//! `POST /api/chat` in `ai_sdk`, `GET /v1/admin/usage` in `v1/admin`. Each endpoint is a file; an action of a resource, such as
//! `/stop`, is a file in the folder of the resource. [`router`] lists the endpoints, and the description at
//! `GET /openapi.json` is generated from them.
//!
//! `runtime::http` has what all requests of any server share: size, time, panics. The other modules here are shared by
//! endpoints: [`cors`] and [`rate_limits`] cover every request; [`callers`] identifies the caller; [`turns`] starts runs and delivers
//! their answers; [`live`] streams conversations. What they do with conversations is in the crate `conversations`.
//! `runtime::http` converts every error to a problem.

pub mod ai_sdk;
pub mod callers;
pub mod chats;
pub mod config;
mod cookies;
pub mod cors;
mod csv_row;
pub mod dashboard;
mod day_range;
pub mod frontend_settings;
pub mod get_health;
pub mod idempotency;
pub mod live;
pub mod mcp;
mod member_names;
pub mod message_pages;
pub mod not_found;
pub mod openai;
pub mod openapi;
pub mod positions;
pub mod prices;
pub mod rate_limits;
pub mod router;
pub mod search;
pub mod sessions;
pub mod sse;
pub mod state;
pub mod turns;
pub mod v1;
pub mod visitor_quotas;
pub mod widget;

pub use callers::admin::Admin;
pub use callers::frontend::{CallerHeaders, CallerIds, Frontend};
pub use config::HttpSection;
pub use idempotency::IdempotencyKey;
pub use state::HttpState;
