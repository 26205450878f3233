//! Rendering and parsing, by bytes and facts.

mod notation;
mod reading;
mod rendering;
mod replies;

mod turns;
mod whole_context;
