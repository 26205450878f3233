//! `/v1/documents/delete`.

pub mod delete_document;
