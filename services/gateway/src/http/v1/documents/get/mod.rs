//! `/v1/documents/get`.

pub mod get_document;
