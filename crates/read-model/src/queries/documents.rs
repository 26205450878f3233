//! The present values of documents. Those of agents and owners are found by owner, others by their conversation.

mod expired;
mod find;
mod namespaces;
mod scope;
mod search;

pub use expired::{
    EXPIRED_DOCUMENTS_PER_READ_MAX, ExpiredDocuments, ExpiredDocumentsPage, ExpiryCursor, expired_documents,
};
pub use find::{DocumentValue, ProjectedState, find_document};
pub use namespaces::{DOCUMENT_NAMESPACES_PER_READ_MAX, NamespaceQuery, list_document_namespaces};
pub use scope::DocumentScope;
pub use search::{
    DOCUMENTS_PER_READ_MAX, DocumentCondition, DocumentOperator, DocumentQuery, FoundDocument, search_documents,
};
