//! The schemas of the projection `conversations`: the live one, one that a rebuild creates, and retained ones.
//!
//! A rebuild clones the structure of the live schema ([`SchemasLock::begin`]), fills the clone from the record
//! ([`copy`](crate::projections::conversations::copy())), computes the rows of conversations ([`SchemaBuild::build_conversations`]), creates
//! indexes ([`SchemaBuild::index`]), follows the record like any projection, compares ([`compare`]), and moves the pointer that
//! readers use ([`flip()`]). Each step can be stopped at any time and resumed: the database contains its phase.
//!
//! The clone has the tables, settings, policies, grants, functions, keys, indexes and triggers of the live schema, read from
//! the catalogue. Views are not cloned. A schema whose
//! events an earlier version divided into table partitions is read, written and dropped like any other; its clone has one table.

mod building;
pub mod compare;
mod flip;
mod list;
mod lock;
mod structure;

pub use building::SchemaBuild;
pub use flip::{Flip, FlipOutcome, LiveRows, flip};
pub use list::{Phase, SchemaInfo, SchemaState, list};
pub use lock::{DROP_GRACE, DropOutcome, SchemasLock};

/// The tables that are filled before their indexes are created.
const BULK_TABLES: [&str; 2] = ["conversation", "event"];
