//! Models that answer: turns, streams that are lost and found, sessions, and the AI SDK's own requests.

mod ai_sdk;
mod approvals;
mod changed;
mod clients;
mod failed;
mod given;
mod ground;
mod killed;
mod late;
mod model_words;
mod restart;
mod resumed;
mod roles;
mod sessions;
mod sse;
mod streams;
mod tools;
mod turns;

use tests::model;
