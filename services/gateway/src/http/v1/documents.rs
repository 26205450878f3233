//! `/v1/documents`: documents of agents, owners and conversations, for back ends. Names are in bodies, because labels and keys are
//! any texts, and URLs are logged by others.

pub mod delete_document;
pub mod document_body;
pub mod get_document;
pub mod list_namespaces;
pub mod list_versions;
pub mod put_document;
pub mod scope_body;
pub mod search_documents;
