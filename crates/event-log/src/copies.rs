//! Copies of a record: snapshots of its streams, their restoration, and the catalogue of archived segments.

pub(crate) mod archive;
pub(crate) mod restore;
pub(crate) mod snapshot;
