//! The status of the system for operators: what was read ([`readings`]), the computed status ([`report`], by `from_readings` and
//! `needs`), and its output ([`view`]). Only [`reader`] and [`roles`] do I/O.

mod from_readings;
mod needs;
pub(crate) mod reader;
pub(crate) mod readings;
pub(crate) mod report;
pub(crate) mod roles;
pub(crate) mod view;

pub(crate) use reader::Reader;
pub(crate) use report::{Limits, Status};
