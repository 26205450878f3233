//! Models that answer: turns, their tools and failures, and streams that are lost and resumed.

mod answers;
mod approvals;
mod failed;
pub(crate) mod ground;
mod killed;
mod late;
mod model_words;
mod restart;
mod resumed;
mod roles;
pub(crate) mod sse;
mod streams;
mod tools;

use tests::model;
