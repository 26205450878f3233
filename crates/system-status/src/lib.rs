//! The status of a deployment, for operators: what was read ([`readings`]), the computed status ([`report`], by `from_readings` and
//! `needs`), and its texts ([`text`]). Only [`reader`] and [`roles`] do I/O.
//!
//! `hansard status` reads with the rights of an operator. The System page of the dashboard reads with those of a gateway, which are
//! fewer: see [`Reader::of_gateway`].

mod from_readings;
mod needs;
pub mod reader;
pub mod readings;
pub mod report;
pub mod roles;
pub mod text;

pub use reader::Reader;
pub use report::{LAG_MAX_SECONDS_DEFAULT, Limits, Status};
