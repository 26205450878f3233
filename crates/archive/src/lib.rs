//! The archive: old commits of the record, sealed in segments that lie elsewhere. The only importer of `object_store`.
//!
//! A segment ([`segment`]) is one immutable object of a [`Store`]; which there are stands in the record itself, in a catalogue
//! that `event-log` keeps, so nobody can forget that a part of the record is elsewhere. [`Archive`] seals messages
//! ([`Draft`]), reads them back in order ([`Reader`]), gives a partition as if nothing were elsewhere ([`Archive::follow`]),
//! and rewrites segments without what was erased ([`Archive::sweep`]). The last commit of a conversation is never here: the
//! record keeps it, and with it all that a writer needs. Nothing here chooses what is archived, or deletes from the record
//! what it has not read back.

mod adopt;
mod alone;
mod archive;
mod commits;
mod error;
mod history;
mod indexes;
mod merge;
mod object;
mod seal;
pub mod segment;
mod store;
mod sweep;
mod tidy;
mod trim;
mod unknown;

pub use adopt::look_for;
pub use alone::read_store;
pub use archive::{Archive, CataloguedSegment};
pub use commits::Commits;
pub use error::ArchiveError;
pub use history::FollowError;
pub use merge::Reader;
pub use seal::Draft;
pub use store::{Store, StoreError, StoreUrl};
pub use sweep::Swept;
pub use trim::Trimmed;
