//! A document was deleted.

use crate::document::DocumentName;

/// A document has no value any more. Its earlier values stay in the history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocumentDeleted {
    /// Its name.
    pub name: DocumentName,
}
