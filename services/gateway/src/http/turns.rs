//! Turns, for every endpoint that lets a model answer.
//!
//! A `turn` starts a run, which continues without its client. `delivery` sends its answer to one client, as
//! server-sent events or whole; `ui_answer` has the events of pages.

pub mod attachments;
pub mod delivery;
pub mod first_attempt;
pub mod last_turn;
pub mod permissions;
pub mod problems;
pub mod turn;
pub mod turn_body;
pub mod ui_answer;
