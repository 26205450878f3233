//! Documents, for gRPC (`document_rpc`) and HTTP (`http/v1/documents`).
//!
//! A document of an agent or an owner is a conversation of its own: a value is an event, and the version of the document is that of
//! the conversation. Changes go to the writer under the caller's own token. One document is read from rows and record, so that a
//! read contains every earlier write; searches read only rows.

mod filter;
mod find;
mod scope;
mod search;
mod versions;
mod write;

pub use filter::{FILTER_BYTES_MAX, FILTER_CONDITIONS_MAX, parse as parse_filter};
pub use find::{Document, DocumentState, find};
pub use scope::{DocumentLocation, DocumentScope};
pub use search::{
    DOCUMENT_DEPTH, DOCUMENT_NAMESPACES_PAGE, DOCUMENT_OFFSET_MAX, DOCUMENTS_PAGE, DOCUMENTS_PAGE_BYTES_MAX,
    DocumentSearch, DocumentsPage, NamespaceSearch, namespaces, search,
};
pub use versions::{DocumentVersion, VersionsPage, versions};
pub use write::{Change, Deleted, NewValue, Written, delete, put};
