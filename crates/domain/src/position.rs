//! Versions in a conversation; partitions and sequences in the record.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::id::{ConversationId, TenantId};

/// The dense number of an event in its conversation: 1, 2, 3 … without gaps. 0 is "before the first".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Version(pub u64);

impl Version {
    /// Before the first event.
    pub const ZERO: Self = Self(0);

    /// The version after `count` more events.
    #[must_use]
    pub fn plus(self, count: usize) -> Self {
        Self(self.0.saturating_add(u64::try_from(count).unwrap_or(u64::MAX)))
    }

    /// The version one later.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A sequence of a `JetStream` stream. Sequences ascend, with gaps after an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Sequence(pub u64);

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A shard of conversations: one stream of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(pub u16);

impl Partition {
    /// The partition of a conversation by its hash, of `count` partitions.
    ///
    /// The first eight bytes of SHA-256 over tenant, a zero byte and conversation, big-endian, modulo `count`.
    #[must_use]
    pub fn of(tenant: &TenantId, conversation: &ConversationId, count: u16) -> Self {
        Self::chosen(hash_of(tenant, conversation), count)
    }

    /// The partition that a hash chooses, of `count` partitions: its first eight bytes, big-endian, modulo `count`.
    pub(crate) fn chosen(hash: Sha256, count: u16) -> Self {
        let digest = hash.finalize();
        let number = digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        Self(u16::try_from(number % u64::from(count.max(1))).unwrap_or(0))
    }
}

/// The hash of tenant, a zero byte and conversation, which may be continued.
pub(crate) fn hash_of(tenant: &TenantId, conversation: &ConversationId) -> Sha256 {
    Sha256::new().chain_update(tenant.as_str()).chain_update([0]).chain_update(conversation.as_str())
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The position of a commit in the record. Callers get it as an opaque token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The stream.
    pub partition: Partition,
    /// The message in it.
    pub sequence: Sequence,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_never_move() {
        let tenant = TenantId::parse("acme").unwrap();
        let place = |id: &str| Partition::of(&tenant, &ConversationId::parse(id).unwrap(), 8).0;
        assert_eq!(["a", "b", "c", "d"].map(place), [1, 5, 4, 0]);
    }

    #[test]
    fn partitions_are_even() {
        let tenant = TenantId::parse("acme").unwrap();
        let mut counts = [0_u32; 8];
        for n in 0..8_000 {
            let id = ConversationId::parse(format!("c{n}")).unwrap();
            counts[usize::from(Partition::of(&tenant, &id, 8).0)] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }
}
