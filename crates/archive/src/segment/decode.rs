//! Decodes a segment completely, or its index and single blocks. Every checksum is verified before the data is used.

use std::ops::Range;

use bytes::Bytes;
use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::index::{BlockEntry, Index};
use super::message::{ArchivedMessage, RawMessage};
use super::{
    BLOCK_BYTES, CorruptSegment, FOOTER_BYTES, FOOTER_MAGIC, HEADER_BYTES, INDEX_BYTES_MAX, MESSAGE_BYTES_MAX, corrupt,
    header,
};

/// The range and the checksum of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footer {
    /// The index's byte range in the object.
    pub(crate) index: Range<u64>,
    sha256: [u8; 32],
}

/// Decodes the last [`FOOTER_BYTES`] of an object with `object_bytes` bytes.
pub(crate) fn decode_footer(bytes: &[u8], object_bytes: u64) -> Result<Footer, CorruptSegment> {
    let malformed = corrupt("footer", "is malformed");
    let bytes: &[u8; FOOTER_BYTES] = bytes.try_into().map_err(|_| malformed)?;
    let (offset, rest) = bytes.split_first_chunk::<8>().ok_or(malformed)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(malformed)?;
    let (sha256, magic) = rest.split_first_chunk::<32>().ok_or(malformed)?;
    if magic != FOOTER_MAGIC {
        return Err(malformed);
    }
    let (offset, length) = (u64::from_be_bytes(*offset), u32::from_be_bytes(*length));
    let end = offset.checked_add(length.into()).ok_or(malformed)?;
    let is_within = end.checked_add(len_of(FOOTER_BYTES)) == Some(object_bytes)
        && offset >= len_of(HEADER_BYTES)
        && u64::from(length) <= len_of(INDEX_BYTES_MAX);
    if !is_within {
        return Err(corrupt("footer", "does not fit the object"));
    }
    Ok(Footer { index: offset..end, sha256: *sha256 })
}

/// Decodes the index and checks it against the object's header.
pub(crate) fn decode_index(footer: &Footer, bytes: &[u8], header_bytes: &[u8]) -> Result<Index, CorruptSegment> {
    if <[u8; 32]>::from(Sha256::digest(bytes)) != footer.sha256 {
        return Err(corrupt("index", "does not match its checksum"));
    }
    let index = Index::from_bytes(bytes)?;
    if header(&index.origin) != header_bytes {
        return Err(corrupt("header", "differs from the index"));
    }
    check_layout(&index, footer.index.start)?;
    Ok(index)
}

/// Checks that blocks and their messages are in order and contiguous from the header to the index.
fn check_layout(index: &Index, end: u64) -> Result<(), CorruptSegment> {
    let out_of_order = corrupt("index", "has blocks that are not contiguous");
    let plain_max = len_of(BLOCK_BYTES.saturating_add(MESSAGE_BYTES_MAX));
    let mut offset = len_of(HEADER_BYTES);
    let mut before = None;
    for block in &index.blocks {
        let follows = before.is_none_or(|last| last < block.first) && block.first <= block.last;
        if block.offset != offset || !follows || block.plain_length > plain_max {
            return Err(out_of_order);
        }
        offset = offset.checked_add(block.length).ok_or(out_of_order)?;
        before = Some(block.last);
    }
    let keys = &index.conversations;
    let is_sorted = keys.is_sorted_by(|one, next| one.key < next.key);
    let commits: u64 = keys.iter().map(|one| one.commits).sum();
    if offset != end || !is_sorted || commits != index.messages() {
        return Err(out_of_order);
    }
    Ok(())
}

/// The messages of a block, in order.
pub(crate) fn decode_block(
    index: &Index,
    block: &BlockEntry,
    bytes: &[u8],
) -> Result<Vec<ArchivedMessage>, CorruptSegment> {
    if <[u8; 32]>::from(Sha256::digest(bytes)) != block.sha256 {
        return Err(corrupt("block", "does not match its checksum"));
    }
    let malformed = corrupt("block", "cannot be decompressed");
    let plain_length = usize::try_from(block.plain_length).map_err(|_| malformed)?;
    let plain = zstd::bulk::decompress(bytes, plain_length).map_err(|_| malformed)?;
    if plain.len() != plain_length {
        return Err(malformed);
    }
    let mut plain = Bytes::from(plain);
    let mut messages = Vec::new();
    while !plain.is_empty() {
        let raw = RawMessage::decode_length_delimited(&mut plain).map_err(|_| malformed)?;
        messages.push(ArchivedMessage::from_raw(raw, index.origin.partition)?);
    }
    let in_order = messages.is_sorted_by(|one, next| one.sequence() < next.sequence());
    let ends = |message: Option<&ArchivedMessage>| message.map(ArchivedMessage::sequence);
    let fits = ends(messages.first()) == Some(block.first)
        && ends(messages.last()) == Some(block.last)
        && u64::try_from(messages.len()) == Ok(block.messages);
    if in_order && fits { Ok(messages) } else { Err(corrupt("block", "differs from the index")) }
}

/// The index and all messages of a segment, in order.
///
/// # Errors
/// [`CorruptSegment`].
pub fn decode(bytes: &[u8]) -> Result<(Index, Vec<ArchivedMessage>), CorruptSegment> {
    let cut = corrupt("footer", "is truncated");
    let (rest, footer) = bytes.split_last_chunk::<FOOTER_BYTES>().ok_or(cut)?;
    let footer = decode_footer(footer, len_of(bytes.len()))?;
    let header = rest.get(..HEADER_BYTES).ok_or(cut)?;
    let index = decode_index(&footer, slice(bytes, &footer.index).ok_or(cut)?, header)?;
    let mut messages = Vec::new();
    for block in &index.blocks {
        let range = block.offset..block.offset.saturating_add(block.length);
        let bytes = slice(bytes, &range).ok_or(cut)?;
        messages.extend(decode_block(&index, block, bytes)?);
    }
    if !messages.is_sorted_by(|one, next| one.sequence() < next.sequence()) {
        return Err(corrupt("block", "does not follow the previous block"));
    }
    Ok((index, messages))
}

fn slice<'b>(bytes: &'b [u8], range: &Range<u64>) -> Option<&'b [u8]> {
    let start = usize::try_from(range.start).ok()?;
    bytes.get(start..usize::try_from(range.end).ok()?)
}

fn len_of(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
