//! Copies of the whole record in a folder: each stream as its server archives it, and a manifest that proves them.

mod manifest;
mod read;
mod write;

pub use manifest::{ArchivedStream, MANIFEST_FILE, Manifest};
pub use read::{archive, verified};
pub use write::write;
