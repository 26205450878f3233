//! A segment: commits of one partition, sealed in one immutable object. Pure: bytes in, bytes out.
//!
//! | part | bytes |
//! |---|---|
//! | header | `HANSARDS`, format (u16), partition (u16), record id (8 bytes), segment id (16 bytes) |
//! | blocks | contiguous, each compressed by itself (zstd); uncompressed: messages, each after its length as a varint |
//! | index | protobuf: the contents of the header, every block and every conversation |
//! | footer | the index's offset (u64), its length (u32), its SHA-256 (32 bytes), `HANSARDE` |
//!
//! Numbers are big-endian. Messages of all conversations are in the order of their sequences, and each equals the record's
//! message byte for byte. The index has the SHA-256 of every block, the footer has that of the index, and there is no byte
//! between the parts. So every flipped bit is detected without other data, and a single block can be read and
//! verified.

mod audit;
mod decode;
mod encode;
mod index;
mod message;

#[cfg(test)]
mod tests;

pub use audit::{InvalidCommit, audit, follows};
pub(crate) use audit::{needs_no_predecessor, without_predecessor};
pub use decode::decode;
pub(crate) use decode::{decode_block, decode_footer, decode_index};
pub use encode::{EncodeError, encode};
pub use index::{BlockEntry, ConversationEntry, Index};
pub use message::ArchivedMessage;

use domain::Partition;
use thiserror::Error;
use uuid::Uuid;
use wire::token::RecordId;

/// The only supported format version.
pub const FORMAT: u16 = 1;
/// Uncompressed size at which a block is closed; one message may exceed it.
pub const BLOCK_BYTES: usize = 256 * 1_024;
/// Uncompressed size at which a segment is full; one message may exceed it. Writing needs three times as much memory.
pub const SEGMENT_BYTES: usize = 64 * 1_024 * 1_024;
/// Maximum messages of a segment.
pub const SEGMENT_MESSAGES_MAX: usize = 100_000;
/// Maximum bytes of an index; about 200 for each conversation and block.
pub const INDEX_BYTES_MAX: usize = 128 * 1_024 * 1_024;
/// Maximum uncompressed bytes of one message: the server's largest message and its metadata.
pub const MESSAGE_BYTES_MAX: usize = 65 * 1_024 * 1_024;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 36;
/// Bytes of a footer.
pub const FOOTER_BYTES: usize = 52;

const HEADER_MAGIC: &[u8; 8] = b"HANSARDS";
const FOOTER_MAGIC: &[u8; 8] = b"HANSARDE";
/// The default level of Zstandard.
const ZSTD_LEVEL: i32 = 3;

/// The identity of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The record.
    pub record: RecordId,
    /// The partition.
    pub partition: Partition,
    /// Its id, which stays the same when an erasure rewrites it.
    pub segment: Uuid,
}

/// A damaged part of a segment. None of the segment's content may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the segment's {part} {problem}")]
pub struct CorruptSegment {
    /// `header`, `block`, `index` or `footer`.
    pub part: &'static str,
    /// The problem.
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
