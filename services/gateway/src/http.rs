//! The surfaces of the HTTP listener: for frontends with an agent's public key, for tenants' administrators, and for public endpoints.
//!
//! Folders follow the URLs, without `/api` and without ids: `POST /api/chats/{id}/messages` is `chats/send_message`,
//! `POST /api/chat` in `ai_sdk`, `GET /v1/admin/usage` in `v1/admin`. Each endpoint is a file; an action of a resource, such as
//! `/stop`, is a file in the folder of the resource. [`router`] lists the endpoints, and the description at
//! `GET /openapi.json` is generated from them.
//!
//! The crate `dashboard` has the pages for people. The crate `http_listener` has what all endpoints share: callers, limits, cookies,
//! positions, live streams. [`turns`] reads the bodies of turns and delivers answers. What endpoints do with conversations is in the
//! crate `conversations`. `runtime::http` converts every error to a problem.

pub mod ai_sdk;
pub mod chats;
pub mod get_health;
pub mod mcp;
pub mod openai;
pub mod openapi;
pub mod router;
pub mod search;
pub mod sessions;
pub mod turns;
pub mod v1;
pub mod widget;
