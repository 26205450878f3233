//! A segment: commits of one partition, sealed in one immutable object. Pure: bytes in, bytes out.
//!
//! | part | bytes |
//! |---|---|
//! | header | `HANSARDS`, format (u16), partition (u16), record id (8 bytes), segment id (16 bytes) |
//! | blocks | one behind the other, each compressed by itself (zstd); plain, it holds messages, each after its length as a varint |
//! | index | protobuf: what the header says, every block and every conversation |
//! | footer | the index's offset (u64), its length (u32), its SHA-256 (32 bytes), `HANSARDE` |
//!
//! Numbers are big-endian. Messages are in the order of their sequences over the whole segment, those of several conversations
//! among each other, and each is the record's own, byte for byte. The index has the SHA-256 of every block, the footer that of
//! the index, and there is no byte between the parts: one bit that flips anywhere is found, with no word from elsewhere. So a
//! block can be read and trusted alone.

mod audit;
mod decode;
mod encode;
mod index;
mod message;

#[cfg(test)]
mod tests;

pub use audit::{Unsound, audit, begins, follows, without_beginning};
pub use decode::{decode, decode_block, decode_footer, decode_index};
pub use encode::{EncodeError, encode};
pub use index::{BlockEntry, ConversationEntry, Index};
pub use message::ArchivedMessage;

use domain::Partition;
use thiserror::Error;
use uuid::Uuid;
use wire::token::RecordId;

/// The format that is written; no other is read.
pub const FORMAT: u16 = 1;
/// Plain bytes that make a block full; one message may exceed it.
pub const BLOCK_BYTES: usize = 256 * 1_024;
/// Plain bytes of messages that make a segment full; one message may exceed it. Three times as much is held to write one.
pub const SEGMENT_BYTES: usize = 64 * 1_024 * 1_024;
/// Most messages of a segment.
pub const SEGMENT_MESSAGES_MAX: usize = 100_000;
/// Most bytes of an index; about 200 for each conversation and block.
pub const INDEX_BYTES_MAX: usize = 128 * 1_024 * 1_024;
/// Most plain bytes of one message: what a server can be set to take, and what is beside it.
pub const MESSAGE_BYTES_MAX: usize = 65 * 1_024 * 1_024;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 36;
/// Bytes of a footer.
pub const FOOTER_BYTES: usize = 52;

const HEADER_MAGIC: &[u8; 8] = b"HANSARDS";
const FOOTER_MAGIC: &[u8; 8] = b"HANSARDE";
/// Zstandard's level: its default. Segments are written once, and read whole or by the block.
const ZSTD_LEVEL: i32 = 3;

/// Whose a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The record.
    pub record: RecordId,
    /// The partition.
    pub partition: Partition,
    /// Its own name; when it is written anew without what was erased, it keeps it.
    pub segment: Uuid,
}

/// A segment is not whole: which part, and what is wrong with it. Nothing of it may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the segment's {part} {problem}")]
pub struct CorruptSegment {
    /// `header`, `block`, `index` or `footer`.
    pub part: &'static str,
    /// In words.
    pub problem: &'static str,
}

const fn corrupt(part: &'static str, problem: &'static str) -> CorruptSegment {
    CorruptSegment { part, problem }
}

fn header(origin: &Origin) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(HEADER_MAGIC);
    header.extend_from_slice(&FORMAT.to_be_bytes());
    header.extend_from_slice(&origin.partition.0.to_be_bytes());
    header.extend_from_slice(&origin.record.0);
    header.extend_from_slice(origin.segment.as_bytes());
    header
}
