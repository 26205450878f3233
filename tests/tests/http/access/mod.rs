//! Who may ask for what: every operation of the served description, by every kind of caller.

mod callers;
mod matrix;
mod not_found;
mod origins;
mod rules;
