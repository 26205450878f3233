//! Access: every operation of the served description with every kind of caller.

mod callers;
mod matrix;
mod not_found;
mod origins;
mod rules;
