//! The index of a segment: its blocks and its conversations.

use domain::{ChainHash, ConversationId, ConversationKey, Partition, Sequence, TenantId, Version};
use prost::Message as _;
use uuid::Uuid;
use wire::token::RecordId;

use super::{CorruptSegment, FORMAT, Origin, corrupt};

/// The index of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its record, partition and id.
    pub origin: Origin,
    /// Its blocks, contiguous and in order.
    pub blocks: Vec<BlockEntry>,
    /// Its conversations, by tenant and id.
    pub conversations: Vec<ConversationEntry>,
}

/// A block of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockEntry {
    /// The first message's sequence.
    pub first: Sequence,
    /// The last message's sequence.
    pub last: Sequence,
    /// Its offset in the object.
    pub offset: u64,
    /// Its compressed size in bytes.
    pub length: u64,
    /// Its uncompressed size in bytes.
    pub plain_length: u64,
    /// Its number of messages.
    pub messages: u64,
    /// SHA-256 of its compressed bytes.
    pub sha256: [u8; 32],
}

/// A contiguous range of one conversation's commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationEntry {
    /// The conversation.
    pub key: ConversationKey,
    /// The number of commits.
    pub commits: u64,
    /// Their number of events.
    pub events: u64,
    /// The first commit's sequence.
    pub first: Sequence,
    /// The last commit's sequence.
    pub last: Sequence,
    /// The version of the first event.
    pub first_version: Version,
    /// The version of the last event.
    pub last_version: Version,
    /// The conversation's hash chain including the last commit.
    pub chain: ChainHash,
    /// Whether the last commit was the conversation's last one when the segment was sealed, and leaves the record as well.
    pub is_hibernated: bool,
    /// Whether it is the tombstone of an erased conversation, and nothing else.
    pub is_tombstone: bool,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RawIndex {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(uint32, tag = "2")]
    partition: u32,
    #[prost(bytes = "vec", tag = "3")]
    record: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    segment: Vec<u8>,
    #[prost(message, repeated, tag = "5")]
    blocks: Vec<RawBlock>,
    #[prost(message, repeated, tag = "6")]
    conversations: Vec<RawConversation>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RawBlock {
    #[prost(uint64, tag = "1")]
    first: u64,
    #[prost(uint64, tag = "2")]
    last: u64,
    #[prost(uint64, tag = "3")]
    offset: u64,
    #[prost(uint64, tag = "4")]
    length: u64,
    #[prost(uint64, tag = "5")]
    plain_length: u64,
    #[prost(uint64, tag = "6")]
    messages: u64,
    #[prost(bytes = "vec", tag = "7")]
    sha256: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct RawConversation {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    conversation: String,
    #[prost(uint64, tag = "3")]
    commits: u64,
    #[prost(uint64, tag = "4")]
    events: u64,
    #[prost(uint64, tag = "5")]
    first: u64,
    #[prost(uint64, tag = "6")]
    last: u64,
    #[prost(uint64, tag = "7")]
    first_version: u64,
    #[prost(uint64, tag = "8")]
    last_version: u64,
    #[prost(bytes = "vec", tag = "9")]
    chain: Vec<u8>,
    #[prost(bool, tag = "10")]
    is_hibernated: bool,
    #[prost(bool, tag = "11")]
    is_tombstone: bool,
}

impl Index {
    /// The segment's number of messages.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.blocks.iter().map(|block| block.messages).sum()
    }

    /// Their number of events.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.conversations.iter().map(|one| one.events).sum()
    }

    /// The ranges that are not only a tombstone.
    pub fn content(&self) -> impl Iterator<Item = &ConversationEntry> {
        let conversations = self.conversations.iter();
        conversations.filter(|one| !one.is_tombstone)
    }

    /// The ranges whose last commit leaves the record.
    pub fn hibernated(&self) -> impl Iterator<Item = &ConversationEntry> {
        let conversations = self.conversations.iter();
        conversations.filter(|one| one.is_hibernated)
    }

    /// The first message's sequence; `None`: the segment is empty.
    #[must_use]
    pub fn first(&self) -> Option<Sequence> {
        self.blocks.first().map(|block| block.first)
    }

    /// The last message's sequence; `None`: the segment is empty.
    #[must_use]
    pub fn last(&self) -> Option<Sequence> {
        self.blocks.last().map(|block| block.last)
    }

    /// The range of a conversation; `None`: the segment has none of its commits.
    #[must_use]
    pub fn conversation(&self, key: &ConversationKey) -> Option<&ConversationEntry> {
        let conversations = &self.conversations;
        let found = conversations.binary_search_by(|entry| entry.key.cmp(key));
        conversations.get(found.ok()?)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let raw = RawIndex {
            format: FORMAT.into(),
            partition: self.origin.partition.0.into(),
            record: self.origin.record.0.to_vec(),
            segment: self.origin.segment.as_bytes().to_vec(),
            blocks: self.blocks.iter().map(raw_block).collect(),
            conversations: self.conversations.iter().map(raw_conversation).collect(),
        };
        raw.encode_to_vec()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, CorruptSegment> {
        let malformed = corrupt("index", "cannot be decoded");
        let raw = RawIndex::decode(bytes).map_err(|_| malformed)?;
        if raw.format != u32::from(FORMAT) {
            return Err(corrupt("index", "has another format version"));
        }
        let origin = Origin {
            record: RecordId(raw.record.try_into().map_err(|_| malformed)?),
            partition: Partition(u16::try_from(raw.partition).map_err(|_| malformed)?),
            segment: Uuid::from_slice(&raw.segment).map_err(|_| malformed)?,
        };
        let blocks: Option<_> = raw.blocks.into_iter().map(block).collect();
        let conversations: Option<_> = raw.conversations.into_iter().map(conversation).collect();
        Ok(Self { origin, blocks: blocks.ok_or(malformed)?, conversations: conversations.ok_or(malformed)? })
    }
}

fn raw_block(block: &BlockEntry) -> RawBlock {
    RawBlock {
        first: block.first.0,
        last: block.last.0,
        offset: block.offset,
        length: block.length,
        plain_length: block.plain_length,
        messages: block.messages,
        sha256: block.sha256.to_vec(),
    }
}

fn block(raw: RawBlock) -> Option<BlockEntry> {
    Some(BlockEntry {
        first: Sequence(raw.first),
        last: Sequence(raw.last),
        offset: raw.offset,
        length: raw.length,
        plain_length: raw.plain_length,
        messages: raw.messages,
        sha256: raw.sha256.try_into().ok()?,
    })
}

fn raw_conversation(entry: &ConversationEntry) -> RawConversation {
    RawConversation {
        tenant: entry.key.tenant.as_str().to_owned(),
        conversation: entry.key.conversation.as_str().to_owned(),
        commits: entry.commits,
        events: entry.events,
        first: entry.first.0,
        last: entry.last.0,
        first_version: entry.first_version.0,
        last_version: entry.last_version.0,
        chain: entry.chain.0.to_vec(),
        is_hibernated: entry.is_hibernated,
        is_tombstone: entry.is_tombstone,
    }
}

fn conversation(raw: RawConversation) -> Option<ConversationEntry> {
    Some(ConversationEntry {
        key: ConversationKey {
            tenant: TenantId::parse(raw.tenant).ok()?,
            conversation: ConversationId::parse(raw.conversation).ok()?,
        },
        commits: raw.commits,
        events: raw.events,
        first: Sequence(raw.first),
        last: Sequence(raw.last),
        first_version: Version(raw.first_version),
        last_version: Version(raw.last_version),
        chain: ChainHash(raw.chain.try_into().ok()?),
        is_hibernated: raw.is_hibernated,
        is_tombstone: raw.is_tombstone,
    })
}
