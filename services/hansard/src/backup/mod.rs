//! Copies of the whole record in a folder: a server snapshot of each stream, and a manifest with their digests.

mod manifest;
mod read;
mod write;

pub(crate) use manifest::Manifest;
pub(crate) use read::{archive, verified};
pub(crate) use write::write;
