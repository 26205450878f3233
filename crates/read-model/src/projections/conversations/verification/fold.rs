//! What the rows of a conversation must be, kept small while the record is read.

use domain::{Change, ClientContext, FieldChange, Head, Sequence, Status};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use wire::commit::StoredCommit;
use wire::conversation::client_context_to_proto;

use super::super::cell::digest_cell;
use super::super::conversation_rows::ProjectedConversation;
use super::super::event_rows::{ProjectedEvent, event_rows};

/// The columns that may be large, and stand in a digest as digests.
pub(super) const LARGE_COLUMNS: [&str; 3] = ["title", "metadata_json", "client_context"];

/// The digest of a value.
pub(super) type ValueDigest = [u8; 32];

/// All rows of a conversation, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsDigest {
    /// Of its own row; `None`: it has none.
    pub(super) row: Option<ValueDigest>,
    /// Of its events' rows, by version.
    pub(super) events: ValueDigest,
}

/// What a conversation's commits come to so far. About a kilobyte, whatever the conversation's length.
#[derive(Debug, Clone)]
pub struct Folded {
    /// Without the large values.
    change: Change,
    large: [Option<ValueDigest>; 3],
    events: Sha256,
}

impl Folded {
    /// The first commit that the record holds of a conversation.
    #[must_use]
    pub fn begin(stored: &StoredCommit) -> Self {
        let mut folded = Self {
            change: Change::of(&stored.opened.commit, stored.position),
            large: [None; 3],
            events: Sha256::new(),
        };
        folded.take(stored);
        folded
    }

    /// The next commit.
    pub fn absorb(&mut self, stored: &StoredCommit) {
        self.change.absorb(&stored.opened.commit, stored.position);
        self.take(stored);
    }

    /// The head that the last commit carries.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.change.head
    }

    /// Where the last commit stands.
    #[must_use]
    pub fn sequence(&self) -> Sequence {
        self.change.position.sequence
    }

    /// The digest that the conversation's rows must have.
    #[must_use]
    pub fn digest(self) -> RowsDigest {
        let erased = self.change.head.status == Status::Erased;
        let large = if erased { [None; 3] } else { self.large };
        let row = ProjectedConversation::of_history(self.change);
        let row = row.map(|row| digest_row(&row, large));
        let events = if erased { Sha256::new() } else { self.events };
        RowsDigest {
            row,
            events: events.finalize().into(),
        }
    }

    /// Moves large values from the change to their digests, and adds the events' rows to theirs.
    fn take(&mut self, stored: &StoredCommit) {
        let [title, metadata, context] = &mut self.large;
        if let Some(change) = self.change.title.take() {
            *title = change
                .into_value()
                .map(|text| value_digest(text.as_bytes()));
        }
        if let Some(change) = self.change.metadata.take() {
            let json = FieldChange::into_value(change);
            *metadata = json.map(|json| value_digest(json.as_str().as_bytes()));
        }
        if let Some(beginning) = &mut self.change.beginning {
            let told = std::mem::take(&mut beginning.client_context);
            if told != ClientContext::default() {
                let bytes = client_context_to_proto(&told).encode_to_vec();
                *context = Some(value_digest(&bytes));
            }
        }
        for event in event_rows(stored) {
            for column in &ProjectedEvent::COLUMNS {
                digest_cell(&mut self.events, (column.cell)(&event).sent());
            }
        }
    }
}

/// The digest of a conversation's own row, of whose large values only the digests are given.
fn digest_row(row: &ProjectedConversation, large: [Option<ValueDigest>; 3]) -> ValueDigest {
    let mut digest = Sha256::new();
    for column in ProjectedConversation::ROW.iter().copied().flatten() {
        match LARGE_COLUMNS.iter().position(|name| *name == column.name) {
            Some(place) => {
                let value = large.get(place).and_then(Option::as_ref);
                digest_cell(&mut digest, value.map(ValueDigest::as_slice));
            }
            None => digest_cell(&mut digest, (column.cell)(row).sent()),
        }
    }
    digest.finalize().into()
}

pub(super) fn value_digest(value: &[u8]) -> ValueDigest {
    Sha256::digest(value).into()
}
