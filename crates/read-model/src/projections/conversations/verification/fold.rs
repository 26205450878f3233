//! What the rows of a conversation must be, kept small while the record is read.

use domain::{Change, ClientContext, FieldChange, Head, Sequence, Status};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use wire::conversation::client_context_to_proto;

use super::super::batch::PlacedCommit;
use super::super::cell::{Cell, digest_cell};
use super::super::conversation_rows::ConversationRows;
use super::super::event_rows::EventRows;

/// The columns that may be large, and stand in a digest as digests: `title`, `metadata_json`, `client_context`.
pub(super) const LARGE_COLUMNS: std::ops::Range<usize> = 15..18;

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
    pub fn begin(placed: &PlacedCommit) -> Self {
        let mut folded = Self {
            change: Change::of(&placed.opened.commit, placed.position),
            large: [None; 3],
            events: Sha256::new(),
        };
        folded.take(placed);
        folded
    }

    /// The next commit.
    pub fn absorb(&mut self, placed: &PlacedCommit) {
        self.change.absorb(&placed.opened.commit, placed.position);
        self.take(placed);
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
        let rows = ConversationRows::of_history(&self.change);
        let row = rows.only().map(|cells| {
            let sent: Vec<Option<&[u8]>> = cells.iter().map(Cell::sent).collect();
            digest_row(&sent, large)
        });
        let events = if erased { Sha256::new() } else { self.events };
        RowsDigest {
            row,
            events: events.finalize().into(),
        }
    }

    /// Moves large values from the change to their digests, and adds the events' rows to theirs.
    fn take(&mut self, placed: &PlacedCommit) {
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
        let mut rows = EventRows::default();
        rows.add(placed);
        for cells in (0..rows.len()).map_while(|row| rows.cells(row)) {
            for cell in cells {
                digest_cell(&mut self.events, cell.sent());
            }
        }
    }
}

/// The digest of a conversation's own row, of whose large values only the digests are given.
pub(super) fn digest_row(cells: &[Option<&[u8]>], large: [Option<ValueDigest>; 3]) -> ValueDigest {
    let mut digest = Sha256::new();
    for (index, cell) in cells.iter().enumerate() {
        match index.checked_sub(LARGE_COLUMNS.start) {
            Some(place) if LARGE_COLUMNS.contains(&index) => {
                let value = large.get(place).and_then(Option::as_ref);
                digest_cell(&mut digest, value.map(ValueDigest::as_slice));
            }
            _ => digest_cell(&mut digest, *cell),
        }
    }
    digest.finalize().into()
}

pub(super) fn value_digest(value: &[u8]) -> ValueDigest {
    Sha256::digest(value).into()
}
