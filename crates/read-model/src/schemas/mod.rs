//! The schemas of the projection `conversations`: the live one, one that is made anew beside it, and those that are kept.
//!
//! A rebuild makes the next schema as the live one is ([`SchemasLock::begin`]), fills it from the record by
//! [`copy`](crate::projections::conversations::copy()), makes rows of conversations ([`Building::place`]) and indexes
//! ([`Building::index`]), follows the record like any projection, compares ([`compare`]), and moves the pointer that readers
//! look at ([`flip()`]). Each step can be stopped at any moment and begun again: how far it is stands in the database.
//!
//! What is made anew has tables, settings, policies, grants, functions, keys and indexes of the live one, from the catalogue;
//! triggers and views are not followed.

mod building;
pub mod compare;
mod flip;
mod list;
mod lock;
mod structure;

pub use building::Building;
pub use flip::{Flip, Flipped, flip};
pub use list::{Phase, SchemaStanding, SchemaState, list};
pub use lock::{DROP_GRACE, Dropped, SchemasLock};

/// The tables that are filled before they get their indexes.
const BULK_TABLES: [&str; 2] = ["conversation", "event"];
