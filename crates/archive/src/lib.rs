//! The archive: old commits of the record, sealed in segments outside NATS. The only importer of `object_store`.
//!
//! A segment ([`segment`]) is one immutable object of a [`Store`]. The catalogue of segments is a stream of the record itself
//! (`event-log`), so the record always shows which parts are archived. [`Archive`] seals messages ([`Draft`]), reads them in
//! order ([`Reader`]), follows a partition across archive and record ([`Archive::follow`]), and rewrites segments
//! without erased content ([`Archive::sweep`]). The last commit of a conversation stays in the record, with
//! everything that a writer needs, unless the conversation is hibernated: then [`Archive::last_commit`] reads it. This crate
//! does not choose what is archived, and it never deletes from the record what it has not read back.

mod adopt;
mod archive;
mod commits;
mod error;
mod follow;
mod hibernated;
mod indexes;
mod known_segments;
mod merge;
mod object;
mod seal;
pub mod segment;
mod store;
mod store_reader;
mod sweep;
mod tidy;
mod trim;
mod unknown_objects;

pub use adopt::check_objects;
pub use archive::{Archive, CataloguedSegment};
pub use commits::Commits;
pub use error::ArchiveError;
pub use follow::FollowError;
pub use hibernated::{CACHED_HEAD_AGE_MAX, CATALOGUE_AGE_MAX, HIBERNATION_DELAY_MIN, LastCommit};
pub use merge::Reader;
pub use seal::Draft;
pub use store::{PART_BYTES, Retries, S3Settings, Store, StoreError, StoreUrl};
pub use store_reader::read_store;
pub use sweep::SweepResult;
pub use trim::{LastCommits, TrimResult};
