//! Encodes messages as a segment.

use std::collections::BTreeSet;

use domain::ConversationKey;
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::audit::{InvalidCommit, audit};
use super::index::{BlockEntry, Index};
use super::message::ArchivedMessage;
use super::{BLOCK_BYTES, FOOTER_MAGIC, INDEX_BYTES_MAX, Origin, SEGMENT_MESSAGES_MAX, ZSTD_LEVEL, header};

/// Errors of encoding.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// A commit is invalid or does not follow its predecessor.
    #[error(transparent)]
    InvalidCommit(#[from] InvalidCommit),
    /// There is no message, or the messages are not in order.
    #[error("there is no message, or the messages are not in the order of their sequences")]
    Order,
    /// The messages exceed the limits of a segment.
    #[error(
        "the segment would have more than {SEGMENT_MESSAGES_MAX} messages, or an index over {INDEX_BYTES_MAX} bytes"
    )]
    TooLarge,
}

/// An incomplete block.
#[derive(Default)]
struct OpenBlock {
    plain: Vec<u8>,
    messages: u64,
}

/// The bytes and the index of a segment of these messages, which are in the order of their sequences. Deterministic.
/// `hibernated`: the conversations whose last commit is among the messages, and leaves the record.
///
/// # Errors
/// [`EncodeError`].
pub fn encode(
    origin: Origin,
    messages: &[ArchivedMessage],
    hibernated: &BTreeSet<ConversationKey>,
) -> Result<(Vec<u8>, Index), EncodeError> {
    if messages.len() > SEGMENT_MESSAGES_MAX {
        return Err(EncodeError::TooLarge);
    }
    let in_order = messages.is_sorted_by(|one, next| one.sequence() < next.sequence());
    if messages.is_empty() || !in_order {
        return Err(EncodeError::Order);
    }
    let mut conversations = audit(messages)?;
    for one in &mut conversations {
        one.is_hibernated = hibernated.contains(&one.key);
    }
    let mut bytes = header(&origin);
    let mut blocks = Vec::new();
    let mut open = OpenBlock::default();
    let mut first = None;
    for (position, message) in messages.iter().enumerate() {
        let raw = message.to_raw();
        // A vector never runs out of space.
        raw.encode_length_delimited(&mut open.plain).map_err(|_| EncodeError::TooLarge)?;
        open.messages += 1;
        let block_first = *first.get_or_insert(message.sequence());
        if open.plain.len() >= BLOCK_BYTES || position + 1 == messages.len() {
            blocks.push(close(&mut bytes, &open, block_first, message.sequence())?);
            (open, first) = (OpenBlock::default(), None);
        }
    }
    let index = Index { origin, blocks, conversations };
    seal(&mut bytes, &index)?;
    Ok((bytes, index))
}

fn close(
    bytes: &mut Vec<u8>,
    open: &OpenBlock,
    first: domain::Sequence,
    last: domain::Sequence,
) -> Result<BlockEntry, EncodeError> {
    let packed = zstd::bulk::compress(&open.plain, ZSTD_LEVEL).map_err(|_| EncodeError::TooLarge)?;
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
