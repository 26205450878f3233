//! Reads one segment object: its index, a block, or everything.

use std::sync::Arc;

use bytes::Bytes;
use event_log::ArchivedSegment;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::indexes::Indexes;
use crate::segment::{
    ArchivedMessage, BlockEntry, CorruptSegment, FOOTER_BYTES, HEADER_BYTES, Index, decode, decode_block,
    decode_footer, decode_index,
};
use crate::{ArchiveError, Store, StoreError};

/// A segment object in its store.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) store: Store,
    pub(crate) segment: Uuid,
    pub(crate) sealed: ArchivedSegment,
    pub(crate) indexes: Indexes,
}

impl Object {
    /// An object whose index is not known.
    pub(crate) fn unknown(store: Store, segment: Uuid, object: String) -> Self {
        Self {
            store,
            segment,
            sealed: ArchivedSegment { object, ..ArchivedSegment::default() },
            indexes: Indexes::default(),
        }
    }

    /// The index, checked against the catalogue.
    pub(crate) async fn index(&self) -> Result<Arc<Index>, ArchiveError> {
        if let Some(index) = self.indexes.get(&self.sealed.object) {
            return Ok(index);
        }
        let index = Arc::new(self.unshared_index().await?);
        self.indexes.keep(&self.sealed.object, &index);
        Ok(index)
    }

    /// The index, checked against the catalogue, and not kept for others.
    pub(crate) async fn unshared_index(&self) -> Result<Index, ArchiveError> {
        let (index, size) = self.unchecked_index().await?;
        if size != self.sealed.size_bytes {
            return Err(self.foreign());
        }
        self.check(&index)?;
        Ok(index)
    }

    /// The index without a check against the catalogue, and the size of the object in bytes.
    pub(crate) async fn unchecked_index(&self) -> Result<(Index, u64), ArchiveError> {
        let name = &self.sealed.object;
        let size = self.reachable(self.store.size(name).await)?;
        let footer_bytes = u64::try_from(FOOTER_BYTES).unwrap_or(u64::MAX);
        let range = size.saturating_sub(footer_bytes)..size;
        let footer = self.intact(decode_footer(&self.reachable(self.store.read(name, range).await)?, size))?;
        let index = self.reachable(self.store.read(name, footer.index.clone()).await)?;
        let header_bytes = u64::try_from(HEADER_BYTES).unwrap_or(u64::MAX);
        let header = self.reachable(self.store.read(name, 0..header_bytes).await)?;
        let index = self.intact(decode_index(&footer, &index, &header))?;
        Ok((index, size))
    }

    pub(crate) async fn block(&self, index: &Index, block: &BlockEntry) -> Result<Vec<ArchivedMessage>, ArchiveError> {
        let range = block.offset..block.offset.saturating_add(block.length);
        let bytes = self.reachable(self.store.read(&self.sealed.object, range).await)?;
        self.intact(decode_block(index, block, &bytes))
    }

    /// The index and all messages, checked against the catalogue.
    pub(crate) async fn all(&self) -> Result<(Index, Vec<ArchivedMessage>), ArchiveError> {
        let bytes: Bytes = self.reachable(self.store.read_all(&self.sealed.object).await)?;
        let (index, messages) = self.intact(decode(&bytes))?;
        self.check(&index)?;
        if hex::encode(Sha256::digest(&bytes)) != self.sealed.sha256 {
            return Err(self.foreign());
        }
        Ok((index, messages))
    }

    fn check(&self, index: &Index) -> Result<(), ArchiveError> {
        let sealed = &self.sealed;
        let conversations = u64::try_from(index.conversations.len()).unwrap_or(u64::MAX);
        let is_equal = index.origin.segment == self.segment
            && index.first().map(|first| first.0) == Some(sealed.first_sequence)
            && index.last().map(|last| last.0) == Some(sealed.last_sequence)
            && index.messages() == sealed.commits
            && index.events() == sealed.events
            && conversations == sealed.conversations
            && u64::try_from(index.hibernated().count()) == Ok(sealed.hibernated);
        is_equal.then_some(()).ok_or_else(|| self.foreign())
    }

    fn foreign(&self) -> ArchiveError {
        ArchiveError::Foreign { segment: self.segment, object: self.sealed.object.clone() }
    }

    fn reachable<T>(&self, outcome: Result<T, StoreError>) -> Result<T, ArchiveError> {
        outcome.map_err(ArchiveError::unreachable(self.segment))
    }

    fn intact<T>(&self, outcome: Result<T, CorruptSegment>) -> Result<T, ArchiveError> {
        outcome.map_err(|source| ArchiveError::Corrupt {
            segment: self.segment,
            object: self.sealed.object.clone(),
            source,
        })
    }
}
