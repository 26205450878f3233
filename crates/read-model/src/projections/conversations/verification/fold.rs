//! Folds commits of the record into the digest of the rows that a conversation must have.

use domain::{Change, ClientContext, FieldChange, Head, Sequence, Status};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use wire::commit::StoredCommit;
use wire::conversation::client_context_to_proto;

use super::super::cell::digest_cell;
use super::super::conversation_rows::ProjectedConversation;
use super::super::event_rows::{ProjectedEvent, event_rows};
use super::documents::DocumentsDigest;
use super::value_digest::{ValueDigest, value_digest};

/// Columns that may be large: a digest of the row contains their digests.
pub(super) const LARGE_COLUMNS: [&str; 3] = ["title", "metadata_json", "client_context"];

/// The digest of all rows of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsDigest {
    /// The row of the conversation; `None`: it has none.
    pub(super) row: Option<ValueDigest>,
    /// The rows of its events, by version.
    pub(super) events: ValueDigest,
    /// The rows of its documents, by name.
    pub(super) documents: ValueDigest,
}

/// The fold of a conversation's commits so far. Takes about 1 KB, independent of the length of the
/// conversation, and some hundred bytes for each document.
#[derive(Debug, Clone)]
pub struct RowsFold {
    /// Without the large values.
    change: Change,
    large: [Option<ValueDigest>; 3],
    events: Sha256,
    documents: DocumentsDigest,
}

impl RowsFold {
    /// Starts with the first commit of a conversation in the record.
    #[must_use]
    pub fn begin(stored: &StoredCommit) -> Self {
        let mut fold = Self {
            change: Change::new(&stored.opened.commit, stored.position),
            large: [None; 3],
            events: Sha256::new(),
            documents: DocumentsDigest::default(),
        };
        fold.add(stored);
        fold
    }

    /// Adds the next commit.
    pub fn absorb(&mut self, stored: &StoredCommit) {
        self.change.absorb(&stored.opened.commit, stored.position);
        self.add(stored);
    }

    /// The head after the last commit.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.change.head
    }

    /// The sequence of the last commit.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.change.position.sequence
    }

    /// The digest that the rows of the conversation must have.
    #[must_use]
    pub fn digest(self) -> RowsDigest {
        let erased = self.change.head.status == Status::Erased;
        let large = if erased { [None; 3] } else { self.large };
        let row = ProjectedConversation::from_history(self.change).map(|row| digest_row(&row, large));
        let (events, documents) =
            if erased { (Sha256::new(), DocumentsDigest::default()) } else { (self.events, self.documents) };
        RowsDigest { row, events: events.finalize().into(), documents: documents.digest() }
    }

    /// Replaces large values with their digests, and adds the rows of events.
    fn add(&mut self, stored: &StoredCommit) {
        let [title, metadata, context] = &mut self.large;
        if let Some(change) = self.change.title.take() {
            *title = change.into_value().map(|text| value_digest(text.as_bytes()));
        }
        if let Some(change) = self.change.metadata.take() {
            let json = FieldChange::into_value(change);
            *metadata = json.map(|json| value_digest(json.as_str().as_bytes()));
        }
        if let Some(beginning) = &mut self.change.creation {
            let client_context = std::mem::take(&mut beginning.client_context);
            if client_context != ClientContext::default() {
                let bytes = client_context_to_proto(&client_context).encode_to_vec();
                *context = Some(value_digest(&bytes));
            }
        }
        self.documents.absorb(stored);
        for event in event_rows(stored) {
            for column in &ProjectedEvent::COLUMNS {
                digest_cell(&mut self.events, (column.cell)(&event).as_bytes());
            }
        }
    }
}

/// The digest of the row of a conversation. `large` contains the digests of the large values.
fn digest_row(row: &ProjectedConversation, large: [Option<ValueDigest>; 3]) -> ValueDigest {
    let mut digest = Sha256::new();
    for column in ProjectedConversation::ROW.iter().copied().flatten() {
        match LARGE_COLUMNS.iter().position(|name| *name == column.name) {
            Some(index) => {
                let value = large.get(index).and_then(Option::as_ref);
                digest_cell(&mut digest, value.map(ValueDigest::as_slice));
            }
            None => digest_cell(&mut digest, (column.cell)(row).as_bytes()),
        }
    }
    digest.finalize().into()
}
