//! Making the rows anew beside the live ones: by an operator's process, with the projector's own folding.
//!
//! [`load()`] fills a schema in bulk with what the record holds; [`project`](crate::project()) then follows the record in it;
//! [`switch()`] brings it and the live one to the same place and moves the pointer. Projectors notice, and go on in it.

mod catch_up;
mod chunk;
mod end;
mod load;
#[cfg(test)]
mod model;
mod switch;

pub use catch_up::CatchUpError;
pub use chunk::{CHUNK_BYTES, CHUNK_ROWS};
pub use load::{LANES, LoadError, load};
pub use switch::{SWITCH_ATTEMPTS_MAX, Switch, SwitchError, Switched, switch};
