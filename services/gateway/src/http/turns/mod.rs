//! Turns, for every endpoint that lets a model answer.
//!
//! A `turn` starts a run, which continues without its client. `answer_stream` sends the run's parts to one client as
//! server-sent events; `reply` collects them into one answer.

pub mod answer_stream;
pub mod attachments;
pub mod delayed_answer;
pub mod first_attempt;
pub mod last_turn;
pub mod permissions;
pub mod problems;
pub mod reply;
pub mod turn;
pub mod turn_body;
