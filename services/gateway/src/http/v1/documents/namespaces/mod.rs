//! `/v1/documents/namespaces`.

pub mod list_namespaces;
