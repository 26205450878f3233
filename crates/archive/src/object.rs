//! One segment in its store: its index, its blocks, or all of it.

use std::sync::Arc;

use bytes::Bytes;
use event_log::ArchivedSegment;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::error::ArchiveError;
use crate::indexes::Indexes;
use crate::segment::{
    ArchivedMessage, BlockEntry, CorruptSegment, FOOTER_BYTES, HEADER_BYTES, Index, decode,
    decode_block, decode_footer, decode_index,
};
use crate::store::{Store, StoreError};

/// A segment in its store.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) store: Store,
    pub(crate) segment: Uuid,
    pub(crate) sealed: ArchivedSegment,
    pub(crate) indexes: Indexes,
}

impl Object {
    /// The index, which must be what the catalogue says.
    pub(crate) async fn index(&self) -> Result<Arc<Index>, ArchiveError> {
        if let Some(index) = self.indexes.get(&self.sealed.object) {
            return Ok(index);
        }
        let (index, size) = self.index_alone().await?;
        if size != self.sealed.size_bytes {
            return Err(self.foreign());
        }
        self.check(&index)?;
        let index = Arc::new(index);
        self.indexes.keep(&self.sealed.object, &index);
        Ok(index)
    }

    /// The index, by the object's own word, and how many bytes the object has.
    pub(crate) async fn index_alone(&self) -> Result<(Index, u64), ArchiveError> {
        let name = &self.sealed.object;
        let size = self.told(self.store.size(name).await)?;
        let footer_bytes = u64::try_from(FOOTER_BYTES).unwrap_or(u64::MAX);
        let place = size.saturating_sub(footer_bytes)..size;
        let footer = self.told(self.store.read(name, place).await)?;
        let footer = self.whole(decode_footer(&footer, size))?;
        let index = self.told(self.store.read(name, footer.index.clone()).await)?;
        let header_bytes = u64::try_from(HEADER_BYTES).unwrap_or(u64::MAX);
        let header = self.told(self.store.read(name, 0..header_bytes).await)?;
        let index = self.whole(decode_index(&footer, &index, &header))?;
        Ok((index, size))
    }

    /// The messages of a block.
    pub(crate) async fn block(
        &self,
        index: &Index,
        block: &BlockEntry,
    ) -> Result<Vec<ArchivedMessage>, ArchiveError> {
        let place = block.offset..block.offset.saturating_add(block.length);
        let bytes = self.told(self.store.read(&self.sealed.object, place).await)?;
        self.whole(decode_block(index, block, &bytes))
    }

    /// All of it.
    pub(crate) async fn all(&self) -> Result<(Index, Vec<ArchivedMessage>), ArchiveError> {
        let bytes: Bytes = self.told(self.store.read_all(&self.sealed.object).await)?;
        let (index, messages) = self.whole(decode(&bytes))?;
        self.check(&index)?;
        if hex::encode(Sha256::digest(&bytes)) != self.sealed.sha256 {
            return Err(self.foreign());
        }
        Ok((index, messages))
    }

    fn check(&self, index: &Index) -> Result<(), ArchiveError> {
        let sealed = &self.sealed;
        let conversations = u64::try_from(index.conversations.len()).unwrap_or(u64::MAX);
        let is_it = index.origin.segment == self.segment
            && index.first().map(|first| first.0) == Some(sealed.first_sequence)
            && index.last().map(|last| last.0) == Some(sealed.last_sequence)
            && index.messages() == sealed.commits
            && index.events() == sealed.events
            && conversations == sealed.conversations;
        if is_it { Ok(()) } else { Err(self.foreign()) }
    }

    fn foreign(&self) -> ArchiveError {
        ArchiveError::Foreign {
            segment: self.segment,
            object: self.sealed.object.clone(),
        }
    }

    fn told<T>(&self, outcome: Result<T, StoreError>) -> Result<T, ArchiveError> {
        outcome.map_err(|source| ArchiveError::Unreachable {
            segment: self.segment,
            source,
        })
    }

    fn whole<T>(&self, outcome: Result<T, CorruptSegment>) -> Result<T, ArchiveError> {
        outcome.map_err(|source| ArchiveError::Corrupt {
            segment: self.segment,
            object: self.sealed.object.clone(),
            source,
        })
    }
}
