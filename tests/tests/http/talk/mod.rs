//! Models that answer: turns, streams that are lost and found, sessions, and the AI SDK's own requests.

mod ai_sdk;
mod clients;
mod ground;
mod restart;
mod sessions;
mod sse;
mod streams;
mod tools;
mod turns;
