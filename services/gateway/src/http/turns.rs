//! The bodies and answers of turns, for every endpoint that lets a model answer.
//!
//! `turn_body` reads what a frontend sends; `delivery` sends an answer to one client, as server-sent events or whole; `ui_answer`
//! has the events of pages.

pub mod delivery;
pub mod turn_body;
pub mod ui_answer;
