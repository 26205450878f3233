//! The reads of the search: documents that have terms, newest first, with the rows that they were made from.
//!
//! A document is found by its terms, and shown only with a current row of its conversation: owner, agent and status are compared in
//! the statement that finds it, so a document that is late or left over shows nothing.

mod documents;
#[cfg(test)]
mod plans;
mod progress;
mod query;
mod rewinds;
mod statements;
mod walk;

pub use documents::{
    FoundDocument, FoundDocuments, OWNED_CONVERSATIONS_MAX, SEARCH_TIMEOUT_MS, SearchError, documents, term_key,
};
pub use progress::{SearchCheckpoint, SearchProgress, search_progress};
pub use query::{CANDIDATES_MAX, CandidateCount, DocumentCursor, DocumentQuery, DocumentScope};
pub use rewinds::{REWINDS_PER_READ_MAX, rewinds};
