//! `/dashboard`: pages for people, rendered on the server by the crate `pages`.
//!
//! [`routes`] is the table of every page with the role that it needs; a new page is a file and one line there. [`guard`] runs
//! before each of them: it identifies the [`Person`](person::Person), checks the role, and admits a POST only from a page of the same origin
//! with the token of the session's forms. Handlers read what they show and return a [`Page`](page::Page); an `HttpProblem` becomes a page
//! as well ([`responses`]).
//!
//! The session is a signed token in a cookie that scripts cannot read; it is not stored. Pages are not operations of the
//! OpenAPI description. Folders follow the URLs. The gateway mounts [`routes`]; this crate does not know it.

pub mod assets;
pub mod audit;
pub mod conversation_filter;
pub mod conversation_matches;
pub mod conversations;
pub mod form;
mod freshness;
pub mod guard;
pub mod list_conversations;
mod list_url;
pub mod page;
pub mod person;
pub mod responses;
pub mod routes;
pub mod save_view;
pub mod search_texts;
pub mod session_cookie;
pub mod settings;
pub mod show_audit_log;
pub mod sign_in;
pub mod sign_out;
pub mod system;
pub mod usage;

/// The path of the first page.
pub const BASE_PATH: &str = "/dashboard";
