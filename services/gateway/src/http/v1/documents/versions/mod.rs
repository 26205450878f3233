//! `/v1/documents/versions`.

pub mod list_versions;
