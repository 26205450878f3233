//! Models that answer: turns, streams that are lost and found, sessions, and the AI SDK's own requests.

mod ai_sdk;
mod changed;
mod clients;
mod ground;
mod killed;
mod restart;
mod sessions;
mod sse;
mod streams;
mod tools;
mod turns;
