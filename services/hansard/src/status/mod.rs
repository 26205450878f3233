//! How the whole system stands, for operators: what was read ([`readings`]), what is made of it ([`report`], by `making` and
//! `needs`), and how it is shown ([`view`]). Only [`reader`] and [`roles`] reach anybody.

mod making;
mod needs;
pub mod reader;
pub mod readings;
pub mod report;
pub mod roles;
pub mod view;

pub use reader::Reader;
pub use readings::Readings;
pub use report::{Limits, Status};
