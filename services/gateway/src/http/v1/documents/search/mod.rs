//! `/v1/documents/search`.

pub mod search_documents;
