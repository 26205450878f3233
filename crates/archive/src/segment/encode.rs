//! Sealing messages into a segment.

use prost::Message as _;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::audit::{Unsound, audit};
use super::index::{BlockEntry, Index};
use super::message::ArchivedMessage;
use super::{
    BLOCK_BYTES, FOOTER_MAGIC, INDEX_BYTES_MAX, Origin, SEGMENT_MESSAGES_MAX, ZSTD_LEVEL, header,
};

/// Why messages cannot be sealed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A commit is not whole, or does not go on from the one before it.
    #[error(transparent)]
    Unsound(#[from] Unsound),
    /// There is no message, or one does not come after the one before it.
    #[error("messages are not in the order of their sequences, or there is none")]
    Order,
    /// There is more than a segment may hold.
    #[error(
        "more than {SEGMENT_MESSAGES_MAX} messages, or an index of more than {INDEX_BYTES_MAX} bytes"
    )]
    TooLarge,
}

/// A block that is being filled.
#[derive(Default)]
struct Open {
    plain: Vec<u8>,
    messages: u64,
}

/// The bytes of a segment of these messages, in the order of their sequences, and its index. The same messages and origin
/// come to the same bytes.
///
/// # Errors
/// [`EncodeError`].
pub fn encode(
    origin: Origin,
    messages: &[ArchivedMessage],
) -> Result<(Vec<u8>, Index), EncodeError> {
    if messages.len() > SEGMENT_MESSAGES_MAX {
        return Err(EncodeError::TooLarge);
    }
    let in_order = messages.is_sorted_by(|one, next| one.sequence() < next.sequence());
    if messages.is_empty() || !in_order {
        return Err(EncodeError::Order);
    }
    let conversations = audit(messages)?;
    let mut bytes = header(&origin);
    let mut blocks = Vec::new();
    let mut open = Open::default();
    let mut first = None;
    for (place, message) in messages.iter().enumerate() {
        let raw = message.to_raw();
        // Into a vector there is always room.
        raw.encode_length_delimited(&mut open.plain)
            .map_err(|_| EncodeError::TooLarge)?;
        open.messages += 1;
        let begun = *first.get_or_insert(message.sequence());
        if open.plain.len() >= BLOCK_BYTES || place + 1 == messages.len() {
            blocks.push(close(&mut bytes, &open, begun, message.sequence())?);
            (open, first) = (Open::default(), None);
        }
    }
    let index = Index {
        origin,
        blocks,
        conversations,
    };
    seal(&mut bytes, &index)?;
    Ok((bytes, index))
}

fn close(
    bytes: &mut Vec<u8>,
    open: &Open,
    first: domain::Sequence,
    last: domain::Sequence,
) -> Result<BlockEntry, EncodeError> {
    let packed =
        zstd::bulk::compress(&open.plain, ZSTD_LEVEL).map_err(|_| EncodeError::TooLarge)?;
    let block = BlockEntry {
        first,
        last,
        offset: len(bytes),
        length: len(&packed),
        plain_length: len(&open.plain),
        messages: open.messages,
        sha256: Sha256::digest(&packed).into(),
    };
    bytes.extend_from_slice(&packed);
    Ok(block)
}

fn seal(bytes: &mut Vec<u8>, index: &Index) -> Result<(), EncodeError> {
    let packed = index.to_bytes();
    let length = u32::try_from(packed.len()).map_err(|_| EncodeError::TooLarge)?;
    if packed.len() > INDEX_BYTES_MAX {
        return Err(EncodeError::TooLarge);
    }
    let offset = len(bytes);
    bytes.extend_from_slice(&packed);
    bytes.extend_from_slice(&offset.to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(&Sha256::digest(&packed));
    bytes.extend_from_slice(FOOTER_MAGIC);
    Ok(())
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
