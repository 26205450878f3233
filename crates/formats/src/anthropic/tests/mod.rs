//! What is written and read, as bytes and as facts.

mod notation;
mod reading;
mod rendering;
mod replies;
mod telling;
mod turning;
